//! The accelerators, engines and formats of the rows, by the names that their sources print.

use headroom::config::{CacheFormat, WeightFormat};
use headroom::units::DType;

/// Parts of printed names with the catalog's ids; the first that is found counts.
const ACCELERATORS: [(&str, &str); 41] = [
    ("GB200", "gb200"),
    ("B200", "b200"),
    ("B300", "b300"),
    ("H200", "h200"),
    ("H100 PCIe", "h100-pcie"),
    ("H100", "h100-80"),
    ("H20 96GB", "h20"),
    ("H20", "h20"),
    ("A100 PCIe", "a100-pcie"),
    ("A100-PCIE", "a100-pcie"),
    ("A100", "a100-80"),
    ("A10G", "a10g"),
    ("A40", "a40"),
    ("L40S", "l40s"),
    ("MI300", "mi300x"),
    ("MI350X", "mi350x"),
    ("GB10", "gb10"),
    ("RTX 6000 Pro", "rtx-pro-6000"),
    ("RTX 6000 Ada", "rtx6000-ada"),
    ("RTX 5000 Ada", "rtx5000-ada"),
    ("RTX 4000 Ada", "rtx4000-ada"),
    ("RTX A6000", "rtx-a6000"),
    ("RTX 4090", "rtx4090"),
    ("RTX 4080", "rtx4080"),
    ("RTX 4070 Ti", "rtx4070-ti"),
    ("RTX 3090 Ti", "rtx3090-ti"),
    ("RTX 3090", "rtx3090"),
    ("RTX 3080 Ti", "rtx3080-ti"),
    ("RTX 3080", "rtx3080"),
    ("RTX 3070", "rtx3070"),
    ("M1 7", "m1-8"),
    ("M1 Max", "m1-max-64"),
    ("M2 Ultra", "m2-ultra-192"),
    ("M3 Max", "m3-max-64"),
    ("Gaudi 2", "gaudi2"),
    ("Gaudi 3", "gaudi3"),
    ("Inferentia2", "inferentia2"),
    ("Trainium1", "trainium1"),
    ("L4 ", "l4"),
    ("V100", "v100-32"),
    ("GH200", "gh200-96"),
];

/// The catalog's id of a printed accelerator.
pub fn accelerator(printed: &str) -> Option<&'static str> {
    ACCELERATORS.iter().find(|(part, _)| printed.contains(part)).map(|(_, id)| *id)
}

/// The key of the engine that served a row, or why it has none.
pub fn engine(printed: &str) -> Result<&'static str, String> {
    match printed {
        "vllm" => Ok("vllm"),
        "sglang" => Ok("sglang"),
        "llamacpp" => Ok("llama-cpp"),
        "trtllm" | "trtllm (NIM)" => Ok("tensorrt-llm"),
        // Nothing is known of their steps but the kernels.
        "fastertransformer" | "autoawq" | "accelerate" | "habana" => Ok("none"),
        "transformers-neuronx" => {
            Err("transformers-neuronx: a rank is a NeuronCore, of which a catalog's chip has two"
                .to_owned())
        }
        other => Err(format!("the engine {other} is not modelled")),
    }
}

/// The format of a row's weights and of its activations.
pub fn weights(printed: &str, model: &str, engine: &str) -> Result<WeightFormat, String> {
    use WeightFormat as Format;
    Ok(match printed {
        "FP8" => Format::Fp8Tensor,
        "FP8 (block)" => Format::Fp8Block,
        "NVFP4" => Format::Nvfp4,
        "FP16" => Format::Fp16,
        "F16" => Format::Gguf16,
        "BF16" => Format::Bf16,
        "GGUF Q4_K_M" => Format::Q4KM,
        "AWQ-INT4" | "AWQ INT4 (GEMM)" | "AWQ INT4 (GEMV)" => Format::Awq,
        "GPTQ-INT4" => Format::Gptq,
        "INT4" => Format::Int4,
        "INT8" | "GPTQ-INT8" | "INT8 (LLM.int8)" => Format::Int8Channel,
        // ggml's file of gpt-oss holds all but experts in Q8_0: with 16 bits there, 120b would be
        // 62 GiB and not the 59.02 that rows print.
        printed if printed.starts_with("MXFP4") && engine == "llamacpp" => Format::Mxfp4Moe,
        printed if printed.starts_with("MXFP4") => Format::Mxfp4,
        printed if printed.starts_with("GGUF Q8_0") => Format::Q8_0,
        printed if printed.starts_with("4-bit") && engine == "llamacpp" => Format::Q4KM,
        "as the checkpoint (no quantization flag)" => published(model),
        other => return Err(format!("weights in {other}: not modelled")),
    })
}

/// The format in which a model's weights are published.
fn published(model: &str) -> WeightFormat {
    if model.contains("FP8") {
        return WeightFormat::Fp8Block;
    }
    let row = headroom::catalog::model(model);
    row.and_then(|row| row.weights).unwrap_or(WeightFormat::Bf16)
}

/// The format of a row's cache: 16 bits where the row says default, and where it says nothing.
pub fn cache(printed: &str) -> CacheFormat {
    if printed.starts_with("FP8") { CacheFormat::Fp8 } else { CacheFormat::Bf16 }
}

/// The format of a row's activations.
pub fn activations(weights: &str) -> DType {
    if weights == "FP16" || weights == "F16" { DType::Fp16 } else { DType::Bf16 }
}
