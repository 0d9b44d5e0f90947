//! `mamba2` (transformers 5.23, `models/mamba2`): a state for every head.

use crate::models::prelude::*;

/// `mamba2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mamba2"],
    class: "Mamba2",
    modules: &Modules {
        model_type: "mamba2",
        choice: FamilyChoice { rank: 607, word: "mamba2", label: "Mamba 2" },
        position_ids: PositionIds::Nowhere,
        residual_in_fp32: true,
        casts_logits: true,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::Mamba2],
            layers_of_states: LayersOfStates::Alone,
            ..ShapeRule::PLAIN
        }),
        peft_spares_states: true,
        ..Modules::PLAIN
    },
    positions: Positions::Are(PositionEmbedding::None),
    not_looked_at: &["time_step_rank"],
    sizes: Sizes::of([4096, 1], 64, 128, 32_768, 4096).head(64),
    tied: false,
    states: Some(States::of(MixerKind::Mamba2, Attends::Never, [128, 64, 8, 128, 4])),
    ..super::mamba::FAMILY
};
