//! Published figures of serving: cache sizes, stored weights, and the figures that servers print
//! when they start.

use std::num::NonZeroU64;

use headroom::config::{
    CacheFormat, Cluster, Engine, Job, MlpKind, ModelConfig, ParallelLayout, Run, ServingRun,
    WeightFormat,
};
use headroom::estimator::{Estimate, MemoryKind, blocks_in, concurrency, estimate};
use headroom::units::{Bytes, to_f64};

use super::row::{Comparison, Fields, Quantity, Row, rounded};
use super::truth::NO_OVERHEAD;

/// Sequences of a step unless vLLM is told otherwise (`max_num_seqs`, V0).
const SEQUENCES: u64 = 256;

/// Serving that model with one sequence of one token.
pub fn cache_job(model: &ModelConfig, cache: CacheFormat) -> Result<Job, String> {
    job(model, ServingRun { kv_cache_dtype: cache, ..ServingRun::plain() }, 1, NO_OVERHEAD)
}

fn job(model: &ModelConfig, run: ServingRun, t: u64, cluster: Cluster) -> Result<Job, String> {
    let layout = ParallelLayout {
        tensor_model_parallel_size: NonZeroU64::new(t).ok_or("no GPUs")?,
        ..ParallelLayout::SINGLE
    };
    Job::new(model.clone(), Run::Serving(run), layout, cluster).map_err(|error| error.to_string())
}

/// A row of published serving memory.
pub fn serving(index: usize, row: Fields<'_>) -> Row {
    let groups = row.text("/kind").map(|kind| ("kind", kind.to_owned())).into_iter().collect();
    let outcome = row.text("/kind").and_then(|kind| match kind {
        "kv_bytes_per_token" | "kv_total" => cache(row),
        "vllm_startup" => vllm(row),
        "quantized_size" => quantized(row),
        "bits_per_weight" => bits_per_weight(row),
        "edge_memory" => edge(row),
        "checkpoint_size" => checkpoint(row),
        "generate_peak" => Err("generate_peak: the prompt's length is not in the row".to_owned()),
        other => Err(format!("{other}: this kind of row is not modelled")),
    });
    Row { id: super::id(index, row), groups, outcome, without: Vec::new() }
}

/// Bytes of keys and values per token, stated or following from a total.
fn cache(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let config = known(row)?;
    let format = match row.text("/dtype")? {
        "f32" => CacheFormat::Fp32,
        _ => CacheFormat::Bf16,
    };
    let measured = if row.is_absent("/bytes_per_token") {
        per_token(row)?
    } else {
        row.count("/bytes_per_token")?
    };
    per_gpu(&config, format, 1, measured)
}

fn per_gpu(
    config: &ModelConfig,
    format: CacheFormat,
    gpus: u64,
    measured: u64,
) -> Result<Vec<Comparison>, String> {
    let cache = estimate(&cache_job(config, format)?).kv_cache_per_token.ok_or("no cache")?;
    let ours = cache.0 / NonZeroU64::new(gpus).ok_or("no GPUs")?;
    Ok(vec![Comparison { quantity: Quantity::KvBytesPerToken, ours, measured }])
}

/// The total shared out over its tokens, if it says so to the byte.
fn per_token(row: Fields<'_>) -> Result<u64, String> {
    if !row.text("/unit")?.contains("MiB") {
        return Err("the total is rounded: bytes per token do not follow from it".to_owned());
    }
    let bytes = rounded(row.number("/value")? * 1_048_576.0);
    let tokens = row.count("/n_ctx")?;
    if tokens == 0 || !bytes.is_multiple_of(tokens) {
        return Err("the total is rounded: bytes per token do not follow from it".to_owned());
    }
    Ok(bytes / tokens)
}

/// Compares the figures that vLLM prints at its start.
fn vllm(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let config = known(row)?;
    let t = row.count("/tp")?;
    let mut found = Vec::new();
    if !row.is_absent("/kv_bytes_per_token_per_gpu") {
        found.extend(per_gpu(
            &config,
            CacheFormat::Bf16,
            t,
            row.count("/kv_bytes_per_token_per_gpu")?,
        )?);
    } else if !row.is_absent("/kv_bytes_per_block_per_gpu") {
        let block = row.count("/block_size")?;
        let measured = row
            .count("/kv_bytes_per_block_per_gpu")?
            .checked_div(block)
            .ok_or("blocks of no tokens")?;
        found.extend(per_gpu(&config, CacheFormat::Bf16, t, measured)?);
    }
    if !row.is_absent("/gpu_blocks") {
        found.extend(blocks(row, &config, t)?);
    }
    // Without a format in the row its weights cannot be told.
    if !row.is_absent("/weights_gib") && (!row.is_absent("/dtype") || quantized_by_name(row)?) {
        found.extend(start(row, &config, t)?);
    }
    if found.is_empty() { Err("the row has nothing to compare with".to_owned()) } else { Ok(found) }
}

/// Blocks in the memory that is printed, to its last digit, and the sequences that so many blocks
/// hold.
fn blocks(row: Fields<'_>, config: &ModelConfig, t: u64) -> Result<Vec<Comparison>, String> {
    let (blocks, size) = (row.count("/gpu_blocks")?, row.count("/block_size")?);
    let mut found = Vec::new();
    let printed =
        ["/kv_gib", "/kv_gib_implied"].into_iter().find(|pointer| !row.is_absent(pointer));
    if let Some(printed) = printed {
        let token = estimate(&cache_job(config, CacheFormat::Bf16)?)
            .kv_cache_per_token
            .ok_or("no cache")?;
        let block = Bytes(token.0 / t.max(1) * size);
        let of = |gib: f64| blocks_in(Bytes(rounded(gib * to_f64(Bytes::GIB))), block);
        let printed = row.number(printed)?;
        let ours = blocks.clamp(of(printed - 0.005), of(printed + 0.005));
        found.push(Comparison { quantity: Quantity::Blocks, ours, measured: blocks });
    }
    if !row.is_absent("/max_concurrency") {
        let ours = rounded(100.0 * concurrency(blocks, size, row.count("/max_model_len")?));
        let measured = rounded(100.0 * row.number("/max_concurrency")?);
        found.push(Comparison { quantity: Quantity::Concurrency, ours, measured });
    }
    Ok(found)
}

/// Weights, and the memory found for the cache where what lies outside PyTorch is printed.
fn start(row: Fields<'_>, config: &ModelConfig, t: u64) -> Result<Vec<Comparison>, String> {
    let gib =
        |pointer: &str| row.number(pointer).map(|gib| Bytes(rounded(gib * to_f64(Bytes::GIB))));
    let quantization =
        if quantized_by_name(row)? { WeightFormat::Int8Channel } else { WeightFormat::Bf16 };
    let context = row.count("/max_model_len").unwrap_or(1);
    let run = ServingRun {
        context_length: context,
        concurrent_sequences: SEQUENCES,
        prefill_chunk_size: context.max(2048),
        quantization,
        engine: Engine::named("vllm", row.number("/util")?).ok_or("vLLM is not known")?,
        ..ServingRun::plain()
    };
    let mut cluster = NO_OVERHEAD;
    let complete = !row.is_absent("/total_gib") && !row.is_absent("/non_torch_gib");
    if complete {
        cluster.accelerator.memory = gib("/total_gib")?;
        cluster.overheads.framework_context = gib("/non_torch_gib")?;
    }
    let estimate = estimate(&job(config, run, t, cluster)?);
    let mut found = vec![weights(&estimate, gib("/weights_gib")?.0)];
    let cache = ["/kv_gib", "/kv_gib_derived"].into_iter().find(|pointer| !row.is_absent(pointer));
    if let (true, Some(cache)) = (complete, cache) {
        let room = estimate.cache_room.ok_or("no cache")?;
        found.push(Comparison {
            quantity: Quantity::CacheRoom,
            ours: room.bytes.0,
            measured: gib(cache)?.0,
        });
    }
    Ok(found)
}

fn quantized_by_name(row: Fields<'_>) -> Result<bool, String> {
    Ok(row.text("/model")?.contains("w8a8"))
}

fn weights(estimate: &Estimate, measured: u64) -> Comparison {
    Comparison {
        quantity: Quantity::Weights,
        ours: estimate.ledger.of(MemoryKind::Parameter).0,
        measured,
    }
}

fn in_format(model: &ModelConfig, format: WeightFormat) -> Result<Estimate, String> {
    let run = ServingRun { quantization: format, ..ServingRun::plain() };
    Ok(estimate(&job(model, run, 1, NO_OVERHEAD)?))
}

/// The size of a file's tensors.
fn quantized(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    if row.text("/model")? == "Llama-3.1-70B" && row.text("/unit")? == "GB" {
        return Err(
            "the table's own 280.9 GB are not 4 bytes for each of 70.55 billion parameters"
                .to_owned(),
        );
    }
    let estimate = in_format(&known(row)?, format(row)?)?;
    let value = row.number("/value")?;
    let unit = match row.text("/unit")? {
        "bytes" => 1.0,
        "GiB" => to_f64(Bytes::GIB),
        "GB" => to_f64(Bytes::GB),
        other => return Err(format!("the unit {other} is not known")),
    };
    // Bits per weight have more digits than a rounded size.
    if unit > 1.0 && !row.is_absent("/bits_per_weight") {
        return of_bits(row, &estimate);
    }
    Ok(vec![weights(&estimate, rounded(value * unit))])
}

fn bits_per_weight(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    if row.text("/quant")? == "Q2_K" && row.text("/source")?.contains("llama-cpp-sys-2 0.1.7") {
        return Err("this Q2_K was made under an earlier rule of llama.cpp than the one modelled"
            .to_owned());
    }
    of_bits(row, &in_format(&known(row)?, format(row)?)?)
}

fn of_bits(row: Fields<'_>, estimate: &Estimate) -> Result<Vec<Comparison>, String> {
    let parameters = to_f64(estimate.parameters.total);
    Ok(vec![weights(estimate, rounded(row.number("/bits_per_weight")? * parameters / 8.0))])
}

/// Model files of a 16-bit model on a phone.
fn edge(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    if !row.text("/model")?.ends_with("BF16") {
        return Err("edge_memory: ExecuTorch's formats are not modelled".to_owned());
    }
    let mebibytes = row.number("/model_file_mb")?;
    Ok(vec![weights(
        &in_format(&known(row)?, WeightFormat::Bf16)?,
        rounded(mebibytes * 1_048_576.0),
    )])
}

fn checkpoint(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    if row.text("/model")? != "BLOOM-176B bf16 weights" {
        return Err(
            "checkpoint_size: training states in a file are not modelled, or the unit is not clear"
                .to_owned(),
        );
    }
    Ok(vec![weights(
        &in_format(&known(row)?, WeightFormat::Bf16)?,
        rounded(row.number("/value")? * to_f64(Bytes::GIB)),
    )])
}

/// The weight format by its printed name.
fn format(row: Fields<'_>) -> Result<WeightFormat, String> {
    use headroom::scenario::Word as _;
    let name = row.text("/quant")?;
    match name {
        "F16" | "BF16" => return Ok(WeightFormat::Gguf16),
        "F32 original" => return Ok(WeightFormat::Fp32),
        "Q4_K - Medium" => return Ok(WeightFormat::Q4KM),
        _ => {}
    }
    WeightFormat::from_word(&name.to_ascii_lowercase().replace('_', "-"))
        .ok_or_else(|| format!("the format {name} is not known"))
}

/// The architecture of a row's model, by the name that tables print.
fn known(row: Fields<'_>) -> Result<ModelConfig, String> {
    const NAMES: [(&str, &str); 23] = [
        ("Qwen2.5-72B (GQA)", "qwen2.5-72b"),
        ("Llama-3.1-8B", "llama3-8b"),
        ("Llama-3.1-70B", "llama3-70b"),
        ("LongAlpaca-7B (Llama-2-7B)", "llama2-7b"),
        ("LongAlpaca-13B (Llama-2-13B)", "llama2-13b"),
        ("Mixtral-8x7B", "mixtral-8x7b"),
        ("Meta-Llama-3-8B", "llama3-8b"),
        ("Meta-Llama-3-8B-Instruct", "llama3-8b"),
        ("Meta-Llama-3-70B-Instruct", "llama3-70b"),
        ("Meta-Llama-3.1-70B-Instruct-quantized.w8a8", "llama3-70b"),
        ("Llama-3.1-70B-Instruct", "llama3-70b"),
        ("LLaMA-1 13B", "llama1-13b"),
        ("LLaMA-1 30B", "llama1-30b"),
        ("Llama-2-7B", "llama2-7b"),
        ("Llama-2-13B", "llama2-13b"),
        ("Llama-2-70B", "llama2-70b"),
        ("Qwen2.5-14B", "qwen2.5-14b"),
        ("Qwen3-8B", "qwen3-8b"),
        ("Qwen3-14B", "qwen3-14b"),
        ("Qwen3-VL-30B-A3B (LM)", "qwen3-30b-a3b"),
        ("Llama-3.2-1B BF16", "llama3.2-1b"),
        ("BLOOM-176B bf16 weights", "bloom"),
        ("small model, 24L 2 kv heads 64 (Qwen2.5-0.5B implied)", "qwen2.5-0.5b"),
    ];
    let name = row.text("/model")?;
    // https://huggingface.co/deepseek-ai/deepseek-coder-6.7b-instruct/blob/main/config.json
    if name == "deepseek-coder-6.7b-instruct" {
        let heads = 32;
        return Ok(ModelConfig {
            hidden_size: 4096,
            num_hidden_layers: 32,
            num_attention_heads: heads,
            num_key_value_heads: heads,
            head_dim: 128,
            intermediate_size: 11_008,
            vocab_size: 32_256,
            mlp: MlpKind::Gated,
            ..ModelConfig::plain()
        });
    }
    let id = NAMES.iter().find(|(printed, _)| *printed == name).map_or(name, |(_, id)| id);
    let row = headroom::catalog::model(id)
        .ok_or_else(|| format!("the shape of {name} is not in the catalog"))?;
    Ok(row.config.clone())
}
