//! `olmo_hybrid` (transformers 5.23, `models/olmo_hybrid`): three of four layers keep a state by
//! the gated delta rule, the others are OLMo 2's, without positions where the file's base of
//! rotation is null.

use crate::models::prelude::*;

/// `olmo_hybrid`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["olmo_hybrid"],
    class: "OlmoHybrid",
    labels: &[("olmo_hybrid", "OLMo Hybrid")],
    modules: &Modules {
        model_type: "olmo_hybrid",
        choice: FamilyChoice { rank: 610, word: "olmo-hybrid", label: "OLMo Hybrid" },
        block: BlockLayout::NormsBehindAttention,
        state_projections: StateProjections::OneEach,
        hands_rotary_to_states: false,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        measured: Modules::PLAIN.measured,
        shape: Some(ShapeRule { states: &[MixerKind::Qwen3Next], ..ShapeRule::PLAIN }),
        ..*super::olmo2::FAMILY.modules
    },
    sizes: Sizes::of([3840, 11_008], 32, 30, 100_352, 65_536).kv(30),
    positions: Positions::RotaryUnlessNull,
    not_looked_at: &[
        "linear_a_log_min",
        "linear_a_log_max",
        "linear_dt_min",
        "linear_dt_max",
        "linear_dt_init_floor",
    ],
    states: Some(States {
        prefix: "linear_",
        ..States::of(MixerKind::Qwen3Next, Attends::EveryOrLast(4), [0, 0, 0, 0, 4])
    }),
    ..super::olmo2::FAMILY
};
