//! `afmoe` (transformers 5.23, `models/afmoe`), Trinity: Gemma 2's four norms, a sigmoid gate on
//! attention's output, a window in three of four layers, and behind the first dense layer experts
//! chosen by corrected sigmoids beside shared ones.

use crate::models::prelude::*;

/// `afmoe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["afmoe"],
    class: "Afmoe",
    labels: &[("afmoe", "Trinity (AFMoE)")],
    modules: &Modules {
        model_type: "afmoe",
        choice: FamilyChoice { rank: 72, word: "afmoe", label: "Trinity (AFMoE)" },
        rotated: RotatedLayers::Sliding,
        block: BlockLayout::Sandwich,
        norm: NormStyle::ScaledInFp32,
        query_key_norm: QueryKeyNorm::OnceAllAreMade,
        gate: AttentionGate::OfColumns,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoid,
            weights_in: ExpertWeights::Fp32,
            router_first: true,
            shared_turn: SharedTurn::BehindRouter,
            routes_without_groups: true,
            correction_is_parameter: true,
            router_is_linear: true,
            ..ExpertModules::PLAIN
        },
        tensor_plan: None,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            norms_per_block: [4, 4],
            output_bias_as_others: true,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    // A factor on embedded tokens (`mup_enabled`) is no key here: what it multiplies is let go
    // before the step holds most.
    sizes: Sizes::of([2048, 6144], 32, 16, 200_192, 16_384).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    norms: Norms::Are(4),
    window: Window::AllButEvery { period: 4, window: 1024 },
    experts: Some(Experts {
        width: 1408,
        shared: 2,
        first_dense: 1,
        chosen_by: &["num_dense_layers"],
        ..Experts::of(64, 6)
    }),
    ..FamilySpec::PLAIN
};
