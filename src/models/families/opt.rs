//! `opt` (transformers 5.23, `models/opt`): learned positions counted from the mask, a feed-forward layer written into the
//! block.

use crate::models::prelude::*;

/// `opt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["opt"],
    class: "OPT",
    labels: &[("opt", "OPT")],
    moves_norms_and_narrows_embedding: true,
    inner: InnerWidth::Stated(&["intermediate_size", "ffn_dim"]),
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    family: Family::Opt,
    sizes: Sizes::of([768, 3072], 12, 12, 50_272, 2048),
    act: HiddenAct::Relu,
    positions: Positions::LearnedPlus(2),
    tied: true,
    attention_bias: Flag::Key("enable_bias", true),
    output_bias: Flag::Key("enable_bias", true),
    mlp_bias: Flag::Key("enable_bias", true),
    ..FamilySpec::CLASSIC
};
