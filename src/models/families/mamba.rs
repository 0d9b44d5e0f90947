//! `mamba` (transformers 5.23, `models/mamba`): a state for every channel, no attention and no
//! feed-forward layer, so that heads and inner width mean nothing.

use crate::models::prelude::*;

/// `mamba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mamba"],
    class: "Mamba",
    modules: &Modules {
        model_type: "mamba",
        choice: FamilyChoice { rank: 610, word: "mamba", label: "Mamba" },
        position_ids: PositionIds::Nowhere,
        residual_in_fp32: true,
        casts_logits: true,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            states: &[MixerKind::Mamba],
            layers_of_states: LayersOfStates::Alone,
            ..ShapeRule::PLAIN
        }),
        peft_spares_states: true,
        ..Modules::PLAIN
    },
    positions: Positions::Are(PositionEmbedding::None),
    sizes: Sizes::of([768, 1], 32, 1, 50_280, 4096),
    tied: true,
    states: Some(States::of(MixerKind::Mamba, Attends::Never, [0, 0, 0, 16, 4])),
    ..FamilySpec::PLAIN
};
