//! Formats of weights in the names of repositories and files.

use crate::catalog::{self, ModelRow};
use crate::scenario::{FieldId, parse};
use crate::units::WeightFormat;

/// A format by the input's word, and a sentence about how it was found.
pub type NamedFormat = (&'static str, &'static str);

/// Parts of names that state a format: the repository's owner (empty for any), the part, and the
/// format; the first match counts. Publishers store scales differently: `quantization_config` of
/// the files of Qwen, DeepSeek, Moonshot, `MiniMax` and Xiaomi says `weight_block_size: [128,
/// 128]`, those of Red Hat's FP8-dynamic `strategy: channel`, NVIDIA's and AMD's FP8 one scale per
/// tensor.
const PARTS: &[(&str, &str, NamedFormat)] = &[
    ("", "nvfp4", ("nvfp4", "The name says NVFP4.")),
    ("", "mxfp4", ("mxfp4", "The name says MXFP4.")),
    ("nvidia/", "fp4", ("nvfp4", "The name says FP4, which is NVFP4 in NVIDIA's repositories.")),
    ("", "awq", ("awq", "The name says AWQ.")),
    ("", "gptq", ("gptq", "The name says GPTQ, whose files nearly all have 4 bits.")),
    ("", "w4a16", ("gptq", "The name says w4a16: 4 bits with a scale per group, as GPTQ's.")),
    ("", "w8a8", ("w8a8", "The name says w8a8.")),
    (
        "",
        "bnb-4bit",
        ("nf4-dq", "The name says bnb-4bit: NF4 with scales of 8 bits, as Unsloth's files are."),
    ),
    ("", "fp8-dynamic", ("fp8-column", "The name says FP8-dynamic: a scale per column.")),
    (
        "nvidia/",
        "fp8",
        ("fp8-tensor", "The name says FP8, with a scale per matrix in NVIDIA's repositories."),
    ),
    (
        "amd/",
        "fp8",
        ("fp8-tensor", "The name says FP8, with a scale per matrix in AMD's repositories."),
    ),
    (
        "neuralmagic/",
        "fp8",
        (
            "fp8-tensor",
            "The name says FP8, with a scale per matrix in Neural Magic's repositories.",
        ),
    ),
    (
        "redhatai/",
        "fp8",
        ("fp8-tensor", "The name says FP8, with a scale per matrix in Red Hat's repositories."),
    ),
    (
        "qwen/",
        "fp8",
        ("fp8-block", "The name says FP8, with a scale per 128 × 128 in Qwen's repositories."),
    ),
    (
        "zai-org/",
        "fp8",
        ("fp8-column", "The name says FP8, with a scale per column in Z.ai's repositories."),
    ),
    ("", "fp8", ("fp8-block", "The name says FP8; a scale per 128 × 128 is assumed.")),
];

/// Parts of names that state a format which is not modelled, even where another part states one
/// that is.
const NEVER_MODELLED: [&str; 5] = ["gptq-int8", "gptq-8bit", "gptq-3bit", "awq-8bit", "w8a16"];

/// Parts of names that state a format which is not modelled, unless another part states one that
/// is.
const NOT_MODELLED: [&str; 6] = ["int8", "int4", "8bit", "4bit", "3bit", "autoround"];

/// The format that a repository's name states; an error where that format is not modelled.
pub fn of_name(name: &str) -> Option<Result<NamedFormat, &'static str>> {
    let name = name.trim().to_ascii_lowercase();
    let last = name.rsplit('/').next().unwrap_or(&name);
    if let Some(part) = NEVER_MODELLED.iter().find(|part| last.contains(**part)) {
        return Some(Err(part));
    }
    let found =
        PARTS.iter().find(|(owner, part, _)| name.starts_with(owner) && last.contains(part));
    if let Some((_, _, told)) = found {
        return Some(Ok(*told));
    }
    let other = NOT_MODELLED.iter().find(|part| last.contains(**part))?;
    Some(Err(other))
}

/// The format that the model is published in, where the catalog has the published file as a
/// separate row, which a repository's name does not find.
pub fn as_published(row: &ModelRow) -> Option<WeightFormat> {
    row.weights.or_else(|| {
        let beside = ["-fp8", "-mxfp4"]
            .iter()
            .find_map(|ending| catalog::model(&format!("{}{ending}", row.id)))?;
        beside.weights.filter(|_| !beside.aliases().iter().any(|name| name.contains('/')))
    })
}

/// The model and the format that a GGUF file's name states.
pub struct GgufName {
    /// The model's name.
    pub model: String,
    /// The input's word for the format.
    pub format: Option<String>,
    /// The name's own word for the mix of types, where `format` is only the nearest mix.
    pub other: Option<String>,
}

/// Mixes of types that the inputs do not have, each with the nearest one that they have
/// (`llama-quantize`'s names and Unsloth's dynamic ones).
const OTHER_MIXES: [(&str, &str); 14] = [
    ("q8_k_xl", "q8-0"),
    ("q6_k_xl", "q6-k"),
    ("q6_k_l", "q6-k"),
    ("q5_k_xl", "q5-k-m"),
    ("q5_k_l", "q5-k-m"),
    ("q4_k_xl", "q4-k-m"),
    ("q4_k_l", "q4-k-m"),
    ("q3_k_xl", "q3-k-l"),
    ("q2_k_xl", "q2-k"),
    ("q2_k_l", "q2-k"),
    ("iq4_ks", "iq4-xs"),
    ("iq2_xxs", "iq2-xxs"),
    ("iq1_s", "iq1-s"),
    ("iq1_m", "iq1-m"),
];

/// Words of `llama-quantize` that the inputs spell differently: a type without a size is its medium
/// one.
const SPELLED: [(&str, &str); 8] = [
    ("f16", "gguf-16"),
    ("fp16", "gguf-16"),
    ("bf16", "gguf-16"),
    ("mxfp4", "mxfp4-moe"),
    ("q5_k", "q5-k-m"),
    ("q4_k", "q4-k-m"),
    ("q3_k", "q3-k-m"),
    ("q8", "q8-0"),
];

impl GgufName {
    /// Reads a file's or repository's name: `Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf`,
    /// `ggml-org/gemma-3-4b-it-GGUF:Q8_0`.
    pub fn of(name: &str) -> Self {
        let name = name.trim().rsplit('\\').next().unwrap_or(name);
        let (name, tag) = name
            .rsplit_once(':')
            .filter(|(_, tag)| !tag.contains('/'))
            .map_or((name, None), |(a, b)| (a, Some(b)));
        let stem = without_part(without_ending(name, ".gguf"));
        let stem = without_ending(stem, "-gguf");
        let (model, ending) =
            stem.rfind(['-', '.']).map_or((stem, ""), |at| (&stem[..at], &stem[at + 1..]));
        let told = Self::word(ending).map(|told| (without_ending(model, "-UD"), told));
        let (model, told) = told.map_or((stem, None), |(model, told)| (model, Some(told)));
        let told = tag.map_or(told, |tag| {
            Self::word(tag.trim_start_matches("UD-")).or(Some((None, Some(tag.to_owned()))))
        });
        let (format, other) = told.unwrap_or((None, None));
        Self { model: model.to_owned(), format, other }
    }

    /// The input's word for one of llama.cpp's, and llama.cpp's word where the input's is another
    /// mix.
    fn word(theirs: &str) -> Option<(Option<String>, Option<String>)> {
        let lower = theirs.to_ascii_lowercase();
        let spelled =
            SPELLED.iter().find(|(word, _)| *word == lower).map(|(_, ours)| (*ours).to_owned());
        let own = lower.replace('_', "-");
        let is_gguf = own.starts_with(['q', 'i']) || own == "mxfp4-moe";
        let known = spelled
            .or_else(|| (is_gguf && parse(FieldId::WeightDType, &own).is_ok()).then_some(own));
        if let Some(known) = known {
            return Some((Some(known), None));
        }
        let (_, nearest) = OTHER_MIXES.iter().find(|(word, _)| *word == lower)?;
        Some((Some((*nearest).to_owned()), Some(theirs.to_owned())))
    }
}

/// A name without an ending, which may be in upper or lower case.
fn without_ending<'a>(name: &'a str, ending: &str) -> &'a str {
    let at = name.len().checked_sub(ending.len());
    let cut = at.and_then(|at| Some((name.get(..at)?, name.get(at..)?)));
    cut.filter(|(_, own)| own.eq_ignore_ascii_case(ending)).map_or(name, |(rest, _)| rest)
}

/// A name without `-00001-of-00003`.
fn without_part(name: &str) -> &str {
    let digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let cut = name
        .rsplit_once("-of-")
        .filter(|(_, last)| digits(last))
        .and_then(|(rest, _)| rest.rsplit_once('-'));
    cut.filter(|(_, part)| digits(part)).map_or(name, |(rest, _)| rest)
}
