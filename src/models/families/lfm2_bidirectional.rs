//! LFM2 as an encoder (code of its own on the hub, `LiquidAI/LFM2.5-Encoder-230M`): convolutions
//! and attention look both ways. Its parameters are counted alone.

use crate::models::prelude::*;

/// Short convolutions between two projections, and attention in the layers that are listed.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let biased = said("", "conv_bias").unwrap_or(0);
    let mixing = 4 * h * h + h * said("", "conv_L_cache").unwrap_or(3) + biased * 5 * h;
    let mixes = said("layer_types", "conv").unwrap_or(0);
    mixes * mixing + model.num_hidden_layers.saturating_sub(mixes) * attention(model)
}

/// `lfm2` with a class of its own.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["lfm2_bidirectional"],
    class: "Lfm2Bidirectional",
    encoder: Some(Encoder { is_decoder: false, ..Encoder::DECODER }),
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: super::lfm2::FAMILY.sizes,
    tied: true,
    qk_norm: Flag::Is(true),
    only: &[Only::else_refused(
        "block_auto_adjust_ff_dim",
        &["false"],
        "an inner width that its modules adjust",
    )],
    not_looked_at: &[
        "block_mlp_init_scale",
        "block_out_init_scale",
        "block_ffn_dim_multiplier",
        "block_multiple_of",
    ],
    further_widths_repeat_hidden: true,
    ..super::counted::FAMILY
};
