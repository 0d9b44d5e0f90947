//! `mimo_v2_flash` (transformers 5.23, `models/mimo_v2_flash`): sliding layers have more key/value
//! heads than the others, and attention sinks; values are narrower than keys, and scaled; behind
//! the first dense layer DeepSeek-V3's router chooses experts.

use crate::models::prelude::*;

/// `mimo_v2_flash`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mimo_v2_flash"],
    class: "MiMoV2Flash",
    labels: &[("mimo_v2_flash", "MiMo-V2-Flash")],
    modules: &Modules {
        model_type: "mimo_v2_flash",
        choice: FamilyChoice { rank: 27, word: "mimo-v2-flash", label: "MiMo-V2-Flash" },
        rotation: RotationStyle::Joined,
        tables_for_each_kind: true,
        scales_values: true,
        subtracts_largest_score: true,
        experts: ExpertModules {
            scores: RouterScores::CorrectedSigmoid,
            routes_by_groups: true,
            ..ExpertModules::PLAIN
        },
        takes_prefix: false,
        shape: Some(ShapeRule {
            experts: ExpertsRule::Always,
            mlp_bias: Some(false),
            other_heads: true,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    // The window once more.
    not_looked_at: &["attention_chunk_size"],
    sizes: Sizes::of([4096, 16_384], 48, 64, 152_576, 131_072).kv(4).head(192),
    rotary_percent: 33.4,
    attention_bias: ATTENTION_BIAS,
    window: Window::AllButFirstAndEvery { period: 6, window: 129 },
    experts: Some(Experts {
        width: 2048,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 8)
    }),
    heads: Some(Heads::MoreKeysInWindow),
    // The library drops the checkpoint's `model.mtp.*`, of which the file says nothing.
    always_left_out: &["num_nextn_predict_layers"],
    ..FamilySpec::PLAIN
};
