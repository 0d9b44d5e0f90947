//! `laguna` (transformers 5.23, `models/laguna`): llama's block with normed queries and keys and a
//! gate for every head of attention; layers that slide may have other query heads, and rotate all
//! of a head; behind the first dense layer experts chosen by corrected sigmoids, and a shared one.

use crate::models::prelude::*;

/// `laguna`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["laguna"],
    class: "Laguna",
    labels: &[("laguna", "Laguna")],
    modules: &Modules {
        model_type: "laguna",
        choice: FamilyChoice { rank: 73, word: "laguna", label: "Laguna" },
        query_key_norm: QueryKeyNorm::OnceAllAreMade,
        gate: AttentionGate::OfHeads,
        rotation: RotationStyle::Joined,
        tables_for_each_kind: true,
        other_heads_rotate_whole: true,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoid,
            weights_in: ExpertWeights::AsInput,
            shared_turn: SharedTurn::First,
            routes_without_groups: true,
            correction_is_parameter: true,
            scales_sum: true,
            ..ExpertModules::PLAIN
        },
        takes_prefix: false,
        tensor_plan: None,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            output_bias_as_others: true,
            other_heads: true,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2048, 8192], 40, 48, 100_352, 131_072).kv(8).head(128),
    rotary_percent: 50.0,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    window: Window::ListedOnly(512),
    experts: Some(Experts {
        width: 512,
        shared_width: 512,
        first_dense: 1,
        chosen_by: &["mlp_layer_types"],
        ..Experts::of(256, 8)
    }),
    heads: Some(Heads::QueriesByLayer),
    only: &[
        Only::else_refused("gating", &["true", "per-head"], "a gate for every column of attention"),
        Only::else_refused(
            "moe_router_logit_softcapping",
            &["0", "0.0"],
            "scores of experts that are capped",
        ),
    ],
    ..FamilySpec::PLAIN
};
