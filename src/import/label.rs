//! Names that people read: a model's own, or that of its kind.

use crate::units::is_of_a_word;

/// Kinds whose usual spelling does not follow from their `model_type`.
const SPELLINGS: [(&str, &str); 67] = [
    ("afmoe", "AFMoE"),
    ("bailing_moe", "Bailing MoE"),
    ("baichuan", "Baichuan"),
    ("bloom", "BLOOM"),
    ("chatglm", "ChatGLM"),
    ("codegen", "CodeGen"),
    ("cohere2", "Command R7B"),
    ("cohere", "Command R"),
    ("dbrx", "DBRX"),
    ("deepseek", "DeepSeek"),
    ("deepseek_v2", "DeepSeek-V2"),
    ("deepseek_v3", "DeepSeek-V3"),
    ("deepseek_v32", "DeepSeek-V3.2"),
    ("deepseek_v4", "DeepSeek-V4"),
    ("ernie4_5", "ERNIE 4.5"),
    ("ernie4_5_moe", "ERNIE 4.5 MoE"),
    ("exaone4", "EXAONE 4"),
    ("falcon_h1", "Falcon-H1"),
    ("falcon_mamba", "Falcon Mamba"),
    ("glm", "GLM"),
    ("glm4", "GLM-4"),
    ("glm4_moe", "GLM-4.5"),
    ("glm4v", "GLM-4.1V"),
    ("glm4v_moe", "GLM-4.5V"),
    ("glm_moe_dsa", "GLM-5"),
    ("gpt2", "GPT-2"),
    ("gpt_bigcode", "GPT-BigCode"),
    ("gpt_neo", "GPT-Neo"),
    ("gpt_neox", "GPT-NeoX"),
    ("gpt_oss", "gpt-oss"),
    ("gptj", "GPT-J"),
    ("granitemoe", "Granite MoE"),
    ("granitemoehybrid", "Granite 4"),
    ("granitemoeshared", "Granite MoE"),
    ("internlm2", "InternLM2"),
    ("internvl_chat", "InternVL"),
    ("kimi_k2", "Kimi K2"),
    ("kimi_k25", "Kimi K2.5"),
    ("lfm2", "LFM2"),
    ("lfm2_moe", "LFM2 MoE"),
    ("lfm2_vl", "LFM2-VL"),
    ("llava", "LLaVA"),
    ("llava_next", "LLaVA-NeXT"),
    ("mimo", "MiMo"),
    ("mimo_v2_flash", "MiMo-V2-Flash"),
    ("minicpmv4_6", "MiniCPM-V"),
    ("minimax", "MiniMax"),
    ("minimax_m1", "MiniMax-M1"),
    ("minimax_m2", "MiniMax-M2"),
    ("mpt", "MPT"),
    ("nemotron_h", "Nemotron-H"),
    ("olmo", "OLMo"),
    ("olmo2", "OLMo 2"),
    ("olmo3", "OLMo 3"),
    ("olmoe", "OLMoE"),
    ("opt", "OPT"),
    ("paligemma", "PaliGemma"),
    ("phi3", "Phi-3"),
    ("phimoe", "Phi-3.5 MoE"),
    ("qwen2_5_vl", "Qwen2.5-VL"),
    ("qwen2_vl", "Qwen2-VL"),
    ("qwen3_next", "Qwen3-Next"),
    ("qwen3_vl", "Qwen3-VL"),
    ("qwen3_vl_moe", "Qwen3-VL MoE"),
    ("seed_oss", "Seed-OSS"),
    ("smollm3", "SmolLM3"),
    ("stablelm", "StableLM"),
];

/// The usual name of a kind of model, such as "Gemma 3" of `gemma3_text`: from a list, or by rule for a kind that is not on it.
///
/// ```
/// use headroom::import::kind_label;
/// assert_eq!(kind_label("gemma3_text"), "Gemma 3");
/// assert_eq!(kind_label("qwen3_5_moe"), "Qwen3.5 MoE");
/// assert_eq!(kind_label("mimo_v2_flash"), "MiMo-V2-Flash");
/// assert_eq!(kind_label("zebra_v2"), "Zebra V2");
/// ```
pub fn kind_label(model_type: &str) -> String {
    let kind = model_type.strip_suffix("_text").unwrap_or(model_type);
    match SPELLINGS.iter().find(|(name, _)| *name == kind) {
        Some((_, label)) => (*label).to_owned(),
        None => by_rule(kind),
    }
}

/// Words with a capital, `_` as a space, a point between two numbers, and a space before the number of families that write one.
fn by_rule(kind: &str) -> String {
    let mut label = String::new();
    for word in kind.split(['_', '-', ' ']).filter(|word| !word.is_empty()) {
        let follows_number = label.ends_with(|sign: char| sign.is_ascii_digit());
        let is_number = word.chars().all(|sign| sign.is_ascii_digit());
        if !label.is_empty() {
            label.push(if follows_number && is_number { '.' } else { ' ' });
        }
        label.push_str(&capital(word));
    }
    for family in ["Gemma", "Llama", "Granite", "Ministral"] {
        if let Some(number) = label.strip_prefix(family).filter(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit())) {
            return format!("{family} {number}");
        }
    }
    label
}

/// The word with a capital, or all in capitals where it is an abbreviation.
fn capital(word: &str) -> String {
    match word {
        "moe" => return "MoE".to_owned(),
        "vl" | "oss" => return word.to_ascii_uppercase(),
        _ => {}
    }
    let mut signs = word.chars();
    signs.next().map_or_else(String::new, |first| [first.to_ascii_uppercase()].into_iter().chain(signs).collect())
}

/// The longest name that is taken over.
const LONGEST: usize = 60;

/// The last part of a name that a file gives itself, unless it is a folder of the machine it was saved on.
pub(super) fn sensible_name(stated: &str) -> Option<String> {
    let stated = stated.trim().trim_end_matches('/');
    let is_path = stated.starts_with(['/', '.', '~', '\\']) || stated.contains(":\\") || stated.matches('/').count() > 1;
    let last = stated.rsplit('/').next().unwrap_or(stated).trim();
    let lower = last.to_ascii_lowercase();
    let folder = ["checkpoint", "ckpt", "output", "tmp", "model", "weights", "step", "epoch", "final", "hf", "snapshot"];
    let is_folder = folder.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| {
            rest.trim_start_matches('s').trim_matches(|sign: char| !is_of_a_word(sign) || sign.is_ascii_digit()).is_empty()
        })
    });
    let of_a_name = |sign: char| is_of_a_word(sign) || "-_.+ ()".contains(sign);
    let reads_as_a_name = last.chars().any(|sign| is_of_a_word(sign) && !sign.is_ascii_digit()) && last.chars().all(of_a_name);
    (!is_path && !is_folder && reads_as_a_name && last.chars().count() <= LONGEST).then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{kind_label, sensible_name};

    #[test]
    fn names_of_people_are_taken_and_folders_are_not() {
        assert_eq!(sensible_name("google/gemma-3-27b-it").as_deref(), Some("gemma-3-27b-it"));
        assert_eq!(sensible_name("gpt2").as_deref(), Some("gpt2"));
        assert_eq!(sensible_name("org/model-7B/").as_deref(), Some("model-7B"));
        let folders = [
            "",
            ".",
            "./",
            "/tmp/x",
            "C:\\models\\x",
            "../llama",
            "checkpoint-500",
            "me/checkpoint-500",
            "output",
            "models",
            "~/llama",
            "a/b/c",
            "final",
            "step_1000",
            "12345",
            "hf",
        ];
        for folder in folders {
            assert_eq!(sensible_name(folder), None, "{folder}");
        }
    }

    #[test]
    fn kinds_have_the_names_that_people_use() {
        for (kind, label) in [
            ("gemma3", "Gemma 3"),
            ("gemma4_text", "Gemma 4"),
            ("llama", "Llama"),
            ("qwen3", "Qwen3"),
            ("qwen3_moe", "Qwen3 MoE"),
            ("qwen3_5_moe_text", "Qwen3.5 MoE"),
            ("glm4_moe", "GLM-4.5"),
            ("deepseek_v32", "DeepSeek-V3.2"),
            ("olmo3", "OLMo 3"),
            ("nemotron_h", "Nemotron-H"),
            ("mamba2", "Mamba2"),
            ("", ""),
        ] {
            assert_eq!(kind_label(kind), label);
        }
    }
}
