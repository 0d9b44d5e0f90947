//! `youtu` (transformers 5.23, `models/youtu`): DeepSeek-V3's latent attention in llama's block.

use crate::models::prelude::*;

/// `youtu`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["youtu"],
    class: "Youtu",
    labels: &[("youtu", "Youtu-LLM")],
    modules: &Modules {
        model_type: "youtu",
        choice: FamilyChoice { rank: 34, word: "youtu", label: "Youtu-LLM" },
        peft_finds_experts: false,
        ..*super::deepseek_v3::FAMILY.modules
    },
    sizes: Sizes::of([2048, 6144], 32, 16, 128_256, 131_072),
    tied: true,
    experts: None,
    ..super::deepseek_v3::FAMILY
};
