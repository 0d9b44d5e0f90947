//! `jamba` (transformers 5.23, `models/jamba`): Mamba's layers with attention and experts in every
//! so many-th.

use crate::models::prelude::*;

/// `jamba`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["jamba"],
    class: "Jamba",
    modules: &Modules {
        model_type: "jamba",
        choice: FamilyChoice { rank: 612, word: "jamba", label: "Jamba" },
        experts: ExpertModules {
            weights_in: ExpertWeights::AsInput,
            router_first: true,
            ..ExpertModules::PLAIN
        },
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Any,
            states: &[MixerKind::Jamba],
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    positions: Positions::Are(PositionEmbedding::None),
    sizes: Sizes::of([4096, 14_336], 32, 32, 65_536, 262_144).kv(8),
    experts: Some(Experts { dense_if_one: true, norm_topk: Flag::Is(false), ..Experts::of(16, 2) }),
    states: Some(States {
        prefix: "mamba_",
        ..States::of(MixerKind::Jamba, Attends::Period, [0, 0, 0, 16, 4])
    }),
    ..FamilySpec::PLAIN
};
