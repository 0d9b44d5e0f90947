//! `cohere2_moe` (transformers 5.23, `models/cohere2_moe`): Cohere 2's block with experts in place
//! of the feed-forward layer.

use crate::models::prelude::*;

/// `cohere2_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cohere2_moe"],
    class: "Cohere2Moe",
    labels: &[("cohere2_moe", "Cohere 2 MoE")],
    modules: &Modules {
        model_type: "cohere2_moe",
        choice: FamilyChoice { rank: 74, word: "cohere2-moe", label: "Cohere 2 MoE" },
        rotated: RotatedLayers::Sliding,
        experts: ExpertModules {
            scores: RouterScores::SoftmaxInFp32OfPicked,
            weights_in: ExpertWeights::AsInput,
            router_first: true,
            scales_total: true,
            ..ExpertModules::PLAIN
        },
        tensor_plan: None,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            norms_per_block: [1, 1],
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..*super::cohere::FAMILY.modules
    },
    sizes: Sizes::of([8192, 22_528], 40, 64, 256_000, 8192).head(128),
    qk_norm: Flag::Is(false),
    window: Window::AllButEvery { period: 4, window: 4096 },
    experts: Some(Experts {
        may_share: true,
        chosen_by: &["mlp_layer_types", "first_k_dense_replace"],
        ..Experts::of(8, 2)
    }),
    dense_inner: Some(("prefix_dense_intermediate_size", 0)),
    only: &[
        Only {
            key: "expert_selection_fn",
            values: &["softmax"],
            otherwise: Otherwise::NotCounted,
            unless: None,
        },
        Only {
            key: "rms_norm_eps",
            values: &["null"],
            otherwise: Otherwise::UpperBound(
                "Norms by the mean square are counted as those of mean and variance, which keep more.",
            ),
            unless: None,
        },
        Only {
            key: "first_k_dense_replace",
            values: &["0"],
            otherwise: Otherwise::Refused(
                "dense layers whose windows the file leaves to a rule of their own",
            ),
            unless: Some("layer_types"),
        },
    ],
    // These keys say how windows and shared experts' outputs are put together.
    not_looked_at: &["prefix_dense_sliding_window_pattern", "shared_expert_combination_strategy"],
    ..super::cohere::FAMILY
};
