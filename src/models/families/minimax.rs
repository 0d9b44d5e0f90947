//! `minimax` (transformers 5.23, `models/minimax`), also MiniMax-Text-01 and MiniMax-M1: every
//! second layer has lightning attention, and each half of a block is added to the norm that it
//! reads.

use crate::models::prelude::*;

/// `minimax`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minimax", "minimax_text_01", "minimax_m1"],
    class: "MiniMax",
    labels: &[("minimax", "MiniMax"), ("minimax_m1", "MiniMax-M1")],
    modules: &Modules {
        model_type: "minimax",
        choice: FamilyChoice { rank: 613, word: "minimax", label: "MiniMax" },
        experts: ExpertModules {
            weights_in: ExpertWeights::Fp32,
            router_first: true,
            ..ExpertModules::PLAIN
        },
        adds_to_norms: true,
        tensor_plan: None,
        takes_prefix: false,
        splits_tokens: false,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Always,
            states: &[MixerKind::Minimax],
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
    experts: Some(Experts::of(8, 2)),
    states: Some(States::of(MixerKind::Minimax, Attends::Alternate, [0; 5])),
    ..FamilySpec::PLAIN
};
