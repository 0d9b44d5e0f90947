//! `mpt` (transformers 5.23, `models/mpt`): ALiBi, rotary or learned positions by three switches,
//! no biases.

use crate::models::prelude::*;

/// `mpt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mpt"],
    class: "Mpt",
    labels: &[("mpt", "MPT")],
    // The modules take four times the width, whatever `expansion_ratio` says.
    not_looked_at: &["expansion_ratio", "norm_type", "fc_type", "ffn_type", "attn_type"],
    inner: InnerWidth::FourTimes,
    key_value_heads: KeyValueHeads::StatedOrNamed,
    older_names: true,
    sizes: Sizes::of([2048, 0], 24, 16, 50_368, 2048),
    normalization: Normalization::RmsNorm,
    positions: Positions::BySwitches,
    tied: true,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    mlp_bias: Flag::Is(false),
    ..FamilySpec::CLASSIC
};
