//! `ernie4_5_moe` (transformers 5.23, `models/ernie4_5_moe`): llama's block rotated in fp32; behind
//! the first dense layers experts chosen by a router in fp32, with a correction that never learns,
//! and shared ones.

use crate::models::prelude::*;

/// `ernie4_5_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ernie4_5_moe"],
    class: "Ernie4_5_Moe",
    labels: &[("ernie4_5_moe", "ERNIE 4.5 MoE")],
    modules: &Modules {
        model_type: "ernie4_5_moe",
        choice: FamilyChoice { rank: 29, word: "ernie-moe", label: "ERNIE 4.5 MoE" },
        rotation: RotationStyle::RepeatedTablesInFp32,
        rotary_tables: RotaryTables::InFp32,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSoftmax,
            router_weights: RouterWeights::Fp32,
            router_first: true,
            shared_turn: SharedTurn::First,
            routes_without_groups: true,
            ..ExpertModules::PLAIN
        },
        shape: Some(ShapeRule {
            experts: ExpertsRule::Optional,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        peft_finds_experts: true,
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2560, 12_288], 28, 20, 103_424, 131_072).kv(4),
    rounds_heads_down: true,
    head_bias: Flag::Key("use_bias", false),
    experts: Some(Experts {
        width: 1536,
        shared: 2,
        first_dense: 1,
        chosen_by: &["moe_layer_interval", "moe_layer_start_index", "moe_layer_end_index"],
        ..Experts::of(64, 6)
    }),
    ..super::ernie4_5::FAMILY
};
