//! `falcon_mamba` (transformers 5.23, `models/falcon_mamba`): Mamba with norms on step, input and
//! output of the state.

use crate::models::prelude::*;

/// `falcon_mamba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["falcon_mamba"],
    class: "FalconMamba",
    labels: &[("falcon_mamba", "Falcon Mamba")],
    modules: &Modules {
        model_type: "falcon_mamba",
        choice: FamilyChoice { rank: 611, word: "falcon-mamba", label: "Falcon Mamba" },
        shape: Some(ShapeRule {
            states: &[MixerKind::FalconMamba],
            layers_of_states: LayersOfStates::Alone,
            ..ShapeRule::PLAIN
        }),
        ..*super::mamba::FAMILY.modules
    },
    states: Some(States::of(MixerKind::FalconMamba, Attends::Never, [0, 0, 0, 16, 4])),
    ..super::mamba::FAMILY
};
