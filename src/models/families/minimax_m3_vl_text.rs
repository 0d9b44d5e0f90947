//! `minimax_m3_vl_text`, the text part of `minimax_m3_vl` (transformers 5.23,
//! `models/minimax_m3_vl`), MiniMax-M3: llama's block with normed queries and keys; in most layers
//! an indexer chooses the blocks of keys that attention sees, and experts stand beside a shared
//! one.

use crate::models::prelude::*;

/// `minimax_m3_vl_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["minimax_m3_vl_text", "minimax_m3_vl", "minimax_m3"],
    class: "MiniMaxM3VL",
    saved_with: &["MiniMaxM3", "MiniMaxM3Sparse"],
    labels: &[
        ("minimax_m3_vl_text", "MiniMax-M3"),
        ("minimax_m3_vl", "MiniMax-M3"),
        ("minimax_m3", "MiniMax-M3"),
    ],
    modules: &Modules {
        model_type: "minimax_m3_vl_text",
        choice: FamilyChoice { rank: 91, word: "minimax-m3", label: "MiniMax-M3" },
        norm: NormStyle::OnePlusScale,
        rotation: RotationStyle::Joined,
        feed_forward: FeedForwardStyle::JointWithinLimits,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoid,
            weights_in: ExpertWeights::Fp32,
            router_first: true,
            shared_turn: SharedTurn::First,
            routes_without_groups: true,
            scales_sum: true,
            clamps_gates: true,
            ..ExpertModules::PLAIN
        },
        takes_prefix: false,
        tensor_plan: Some(TensorPlan { attention: Division::Gathered, ..TensorPlan::PLAIN }),
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            mlp_bias: Some(false),
            attention_bias: Some(false),
            index_blocks: true,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    // The function of gates is written out, whatever the file says; rotation goes by
    // `partial_rotary_factor`.
    not_looked_at: &[
        "hidden_act",
        "rotary_dim",
        "qk_norm_type",
        "index_local_blocks",
        "n_shared_experts",
    ],
    sizes: Sizes::of([6144, 3072], 60, 64, 200_064, 524_288).kv(4).head(128),
    dense_inner: Some(("dense_intermediate_size", 12_288)),
    qk_norm: Flag::Is(true),
    experts: Some(Experts {
        shared_width: 3072,
        chosen_by: &["mlp_layer_types", "moe_layer_freq"],
        ..Experts::of(128, 4)
    }),
    indexer: Some([4, 128, 16]),
    index_block: Some(128),
    ..FamilySpec::PLAIN
};
