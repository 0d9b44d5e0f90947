//! Names that people read: a model's own, or that of its kind.

use crate::models;
use crate::units::is_of_a_word;

/// Kinds without a family here whose usual spelling does not follow from their `model_type`.
const SPELLINGS: [(&str, &str); 7] = [
    ("internvl_chat", "InternVL"),
    ("kimi_k25", "Kimi K2.5"),
    ("lfm2_vl", "LFM2-VL"),
    ("llava", "LLaVA"),
    ("llava_next", "LLaVA-NeXT"),
    ("minicpmv4_6", "MiniCPM-V"),
    ("paligemma", "PaliGemma"),
];

/// Returns the usual name of a kind of model, such as "Gemma 3" of `gemma3_text`: as its family
/// spells it, or by rule.
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
    let spelling = || SPELLINGS.iter().find(|(name, _)| *name == kind).map(|(_, label)| *label);
    models::label(kind).or_else(spelling).map_or_else(|| by_rule(kind), str::to_owned)
}

/// Words with a capital, `_` as a space, a point between two numbers, and a space before the number
/// of families that write one.
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
        if let Some(number) = label
            .strip_prefix(family)
            .filter(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
        {
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
    signs.next().map_or_else(String::new, |first| {
        [first.to_ascii_uppercase()].into_iter().chain(signs).collect()
    })
}

/// The longest name that is taken over.
const LONGEST: usize = 60;

/// The last part of a name that a file gives itself, unless it is a folder of the machine it was
/// saved on.
pub(super) fn sensible_name(stated: &str) -> Option<String> {
    let stated = stated.trim().trim_end_matches('/');
    let is_path = stated.starts_with(['/', '.', '~', '\\'])
        || stated.contains(":\\")
        || stated.matches('/').count() > 1;
    let last = stated.rsplit('/').next().unwrap_or(stated).trim();
    let lower = last.to_ascii_lowercase();
    let folder = [
        "checkpoint",
        "ckpt",
        "output",
        "tmp",
        "model",
        "weights",
        "step",
        "epoch",
        "final",
        "hf",
        "snapshot",
    ];
    let is_folder = folder.iter().any(|word| {
        let rest = lower.strip_prefix(word);
        rest.is_some_and(|rest| {
            rest.trim_start_matches('s')
                .trim_matches(|sign: char| !is_of_a_word(sign) || sign.is_ascii_digit())
                .is_empty()
        })
    });
    let of_a_name = |sign: char| is_of_a_word(sign) || "-_.+ ()".contains(sign);
    let reads_as_a_name = last.chars().any(|sign| is_of_a_word(sign) && !sign.is_ascii_digit())
        && last.chars().all(of_a_name);
    (!is_path && !is_folder && reads_as_a_name && last.chars().count() <= LONGEST)
        .then(|| last.to_owned())
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
            ("mamba2", "Mamba2"),
            ("", ""),
        ] {
            assert_eq!(kind_label(kind), label);
        }
    }
}
