//! `lfm3` (transformers 5.23, `models/lfm3`): LFM2 with norms behind each half, a gate for every
//! head of attention, and a window in every second layer with attention.

use crate::models::prelude::*;

/// `lfm3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["lfm3"],
    class: "Lfm3",
    labels: &[("lfm3", "LFM3")],
    modules: &Modules {
        model_type: "lfm3",
        choice: FamilyChoice { rank: 614, word: "lfm3", label: "LFM3" },
        gate: AttentionGate::SigmoidOfHeads,
        rotary_tables: RotaryTables::InFp32,
        tables_for_each_kind: true,
        hands_rotary_to_states: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::Lfm2],
            norms_per_block: [2, 4],
            ..ShapeRule::PLAIN
        }),
        ..*super::lfm2::FAMILY.modules
    },
    inner: InnerWidth::Stated(&["intermediate_size"]),
    sizes: Sizes::of([2048, 7680], 24, 16, 128_000, 128_000).kv(4).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    norms: Norms::FourUnless("use_sandwich_norm"),
    window: Window::Where { slides: |layer, _| layer > 0 && layer % 4 == 0, window: 256 },
    states: Some(States::of(
        MixerKind::Lfm2,
        Attends::Where(|layer| layer > 0 && layer % 2 == 0),
        [0, 0, 0, 0, 7],
    )),
    only: &[Only::else_refused("use_attention_gate", &["true"], "attention without a gate")],
    ..super::lfm2::FAMILY
};
