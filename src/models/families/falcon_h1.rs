//! `falcon_h1` (transformers 5.23, `models/falcon_h1`): every layer has attention beside a state.
//! Factors stand before and behind both.

use crate::models::prelude::*;

/// `falcon_h1`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["falcon_h1"],
    class: "FalconH1",
    labels: &[("falcon_h1", "Falcon-H1")],
    modules: &Modules {
        model_type: "falcon_h1",
        choice: FamilyChoice { rank: 609, word: "falcon-h1", label: "Falcon-H1" },
        embedding_scale: EmbeddingScale::Number,
        scales_branches: true,
        scales_logits: true,
        returns_probabilities: false,
        peft_spares_states: true,
        shape: Some(ShapeRule {
            states: &[MixerKind::FalconH1],
            layers_of_states: LayersOfStates::BesideAttention,
            ..ShapeRule::PLAIN
        }),
        ..*super::bamba::FAMILY.modules
    },
    rotary_percent: 100.0,
    sizes: Sizes::of([4096, 14_336], 32, 32, 128_000, 8192).kv(8),
    states: Some(States {
        prefix: "mamba_",
        ..States::of(MixerKind::FalconH1, Attends::Beside, [128, 0, 1, 256, 4])
    }),
    ..super::bamba::FAMILY
};
