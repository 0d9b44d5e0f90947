//! `falcon` (transformers 5.23, `models/falcon`), earlier `RefinedWeb`: attention beside the feed-forward layer, one or few key
//! heads in a joint projection.

use crate::models::prelude::*;

/// `falcon`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["falcon", "RefinedWeb", "RefinedWebModel", "RW"],
    class: "Falcon",
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_hidden_size"]),
    key_value_heads: KeyValueHeads::OneOrAllInOldDecoder,
    older_names: true,
    family: Family::Falcon,
    sizes: Sizes::of([4544, 0], 32, 71, 65_024, 2048),
    positions: Positions::AlibiOrRotary,
    tied: true,
    attention_bias: Flag::Key("bias", false),
    output_bias: Flag::Key("bias", false),
    mlp_bias: Flag::Key("bias", false),
    parallel: Flag::Key("parallel_attn", true),
    norms: Norms::ByDecoder,
    ..FamilySpec::CLASSIC
};
