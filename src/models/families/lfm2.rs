//! `lfm2` (transformers 5.23, `models/lfm2`): short convolutions, and attention in the layers that
//! the file lists.

use crate::models::prelude::*;

/// `lfm2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["lfm2"],
    class: "Lfm2",
    labels: &[("lfm2", "LFM2")],
    modules: &Modules {
        model_type: "lfm2",
        choice: FamilyChoice { rank: 600, word: "lfm2", label: "LFM2" },
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule { states: &[MixerKind::Lfm2], ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    not_looked_at: &["block_mlp_init_scale", "block_out_init_scale"],
    further_widths_repeat_hidden: true,
    inner: InnerWidth::Stated(&["intermediate_size", "block_ff_dim"]),
    sizes: Sizes::of([2560, 12_288], 32, 32, 65_536, 128_000).kv(8),
    tied: true,
    qk_norm: Flag::Is(true),
    states: Some(States::of(MixerKind::Lfm2, Attends::Listed { otherwise: true }, [0, 0, 0, 0, 3])),
    ..FamilySpec::PLAIN
};
