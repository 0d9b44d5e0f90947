//! `deepseek` (code of its own on the hub, `deepseek-ai/deepseek-moe-16b-base`), DeepSeekMoE:
//! llama's attention, and behind the first dense layers experts that a softmax chooses, beside
//! shared ones.

use crate::models::prelude::*;

/// `deepseek`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek"],
    class: "Deepseek",
    labels: &[("deepseek", "DeepSeekMoE")],
    sizes: Sizes::of([4096, 11_008], 30, 32, 102_400, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 1407,
        may_share: true,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", false),
        ..Experts::of(64, 0)
    }),
    ..FamilySpec::PLAIN
};
