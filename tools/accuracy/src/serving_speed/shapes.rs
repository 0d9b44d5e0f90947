//! The models of the rows: the catalog's, and those of FasterTransformer's guide by their sizes.

use headroom::catalog;
use headroom::config::ModelConfig;

use crate::speed::gpt;

/// Names that the catalog does not list, with the row that has their shape.
const SAME_SHAPE: [(&str, &str); 15] = [
    ("amd/Llama-3.1-70B-Instruct-FP8-KV", "llama3.1-70b"),
    ("nvidia/Llama-3.1-405B-Instruct-FP4", "llama3.1-405b"),
    ("nvidia/Llama-3.1-405B-Instruct-FP8", "llama3.1-405b"),
    ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama3.1-8b"),
    ("nvidia/Llama-3.3-70B-Instruct-FP4", "llama3.3-70b"),
    ("nvidia/Llama-3.3-70B-Instruct-FP8", "llama3.3-70b"),
    ("nvidia/Qwen3-32B-NVFP4", "qwen3-32b"),
    ("nvidia/DeepSeek-R1-NVFP4", "deepseek-r1"),
    ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1"),
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "qwen3-coder-480b"),
    ("codellama/CodeLlama-34b-Instruct-hf", "codellama-34b"),
    ("codellama/CodeLlama-34b-hf", "codellama-34b"),
    ("lmsys/vicuna-7b-v1.5 (7B, Llama 2 shapes; exact version not stated)", "llama2-7b"),
    ("TinyLlama/TinyLlama-1.1B", "tinyllama-1.1b"),
    ("zhipuai/GLM-5", "glm5"),
];

/// FasterTransformer's models by their names: width, layers, heads. Its guide gives the vocabulary
/// of GPT-3, 51,200 rows.
const GPTS: [(&str, u64, u64, u64); 7] = [
    ("GPT 350M", 1024, 24, 16),
    ("GPT 1.3B", 2048, 24, 32),
    ("GPT 6.7B", 4096, 32, 32),
    ("GPT 20B", 6144, 44, 48),
    ("GPT 89B", 12_288, 48, 96),
    ("GPT-3 175B", 12_288, 96, 96),
    ("530B", 20_480, 105, 128),
];

/// The architecture of a row's model.
pub fn model(name: &str) -> Result<ModelConfig, String> {
    if let Some((_, width, layers, heads)) =
        GPTS.iter().find(|(prefix, ..)| name.starts_with(prefix))
    {
        return Ok(gpt(*width, *layers, *heads, 51_200, 2048));
    }
    let id = SAME_SHAPE.iter().find(|(printed, _)| *printed == name).map_or(name, |(_, id)| id);
    let row =
        catalog::model(id).ok_or_else(|| format!("the shape of {name} is not in the catalog"))?;
    Ok(row.config.clone())
}
