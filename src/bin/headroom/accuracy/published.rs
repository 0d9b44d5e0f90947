//! Published parameter counts and cache sizes.

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, Job, LayerSet, Mla, MlpKind, ModelConfig, Moe, Normalization, ParallelLayout, PositionEmbedding, Run,
    ServingRun,
};
use headroom::estimator::estimate;
use headroom::units::DType;

use super::row::{Comparison, Fields, Quantity, Row, rounded};
use super::truth::NO_OVERHEAD;

/// A model with its published parameter count.
pub fn model(index: usize, row: Fields<'_>) -> Row {
    let verified = row.flag("/verified").unwrap_or(false);
    let encoder = row.flag("/encoder_only").unwrap_or(false);
    let groups = vec![
        ("kind", if verified { "verified" } else { "shape only" }.to_owned()),
        ("family", if encoder { "encoder" } else { "decoder" }.to_owned()),
    ];
    let id = row.text("/name").map_or_else(|_| super::id(index, row), str::to_owned);
    Row { id, groups, outcome: model_outcome(row) }
}

fn model_outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let config = model_config(row)?;
    // Where no exact count was published, the closed form of the table is the count to meet.
    let pointer = if row.is_absent("/published_total") { "/formula_total" } else { "/published_total" };
    let serving = estimate(&serving_job(&config, 1, DType::Bf16)?);
    let ours = serving.parameters.total + correction_biases(row, &config);
    let mut found = vec![Comparison { quantity: Quantity::Parameters, ours, measured: row.count(pointer)? }];
    let cache = serving.kv_cache_per_token.ok_or("no cache")?;
    let measured = row.count("/kv_bytes_per_token_bf16")?;
    found.push(Comparison { quantity: Quantity::KvBytesPerToken, ours: cache.0, measured });
    Ok(found)
}

/// The architecture of a row of the table of models.
fn model_config(row: Fields<'_>) -> Result<ModelConfig, String> {
    // The table leaves out what a model does not have; its parameter count tells whether that is true.
    let flag = |pointer: &str| if row.is_absent(pointer) { Ok(false) } else { row.flag(pointer) };
    let learned = !row.is_absent("/pos_emb_learned");
    let max_position_embeddings = row.count("/max_ctx")?;
    // A table of segment types has rows of the same width as the positions.
    let types = if row.is_absent("/type_vocab") { 0 } else { row.count("/type_vocab")? };
    Ok(ModelConfig {
        hidden_size: row.count("/hidden")?,
        num_hidden_layers: row.count("/layers")?,
        num_attention_heads: row.count("/heads")?,
        num_key_value_heads: row.count("/kv_heads")?,
        head_dim: row.count("/head_dim")?,
        intermediate_size: row.count("/ffn")?,
        vocab_size: row.count("/vocab")?,
        max_position_embeddings,
        position_rows: if learned { row.count("/pos_emb_learned")? + types } else { max_position_embeddings },
        normalization: match row.text("/norm")? {
            "layernorm" => Normalization::LayerNorm,
            "rmsnorm" => Normalization::RmsNorm,
            other => return Err(format!("the norm {other} is not modelled")),
        },
        mlp: if row.flag("/gated")? { MlpKind::Gated } else { MlpKind::Plain },
        position_embedding: if learned { PositionEmbedding::Learned } else { PositionEmbedding::Rotary },
        attention_bias: flag("/qkv_bias")?,
        attention_output_bias: flag("/o_bias")?,
        mlp_bias: flag("/mlp_bias")?,
        tie_word_embeddings: !row.flag("/untied")?,
        qk_norm: !row.is_absent("/qk_norm") && row.text("/qk_norm")? == "head",
        embedding_norm: flag("/emb_norm")?,
        final_norm: row.is_absent("/final_norm") || row.flag("/final_norm")?,
        pooler: !row.is_absent("/pooler"),
        attention_sinks: flag("/sinks")?,
        moe: experts(row)?,
        mla: latent(row)?,
        ..ModelConfig::plain()
    })
}

/// The experts of a row, if it has any.
fn experts(row: Fields<'_>) -> Result<Option<Moe>, String> {
    if row.is_absent("/moe") {
        return Ok(None);
    }
    let width = row.count("/moe/ffn")?;
    let first = row.count("/moe/dense_first")?;
    Ok(Some(Moe {
        num_experts: row.count("/moe/experts")?,
        num_experts_per_tok: row.count("/moe/topk")?,
        moe_intermediate_size: width,
        shared_expert_intermediate_size: width * row.count("/moe/shared")?,
        shared_expert_gate: false,
        layers: if first == 0 { LayerSet::All } else { LayerSet::From(first) },
        n_group: 1,
        topk_group: 1,
        norm_topk_prob: true,
        bias: !row.is_absent("/moe/bias") && row.flag("/moe/bias")?,
    }))
}

/// The latent attention of a row, if it has it.
fn latent(row: Fields<'_>) -> Result<Option<Mla>, String> {
    if row.is_absent("/mla") {
        return Ok(None);
    }
    Ok(Some(Mla {
        q_lora_rank: Some(row.count("/mla/q_lora")?),
        kv_lora_rank: row.count("/mla/kv_lora")?,
        qk_rope_head_dim: row.count("/mla/qk_rope")?,
        qk_nope_head_dim: row.count("/mla/qk_nope")?,
        v_head_dim: row.count("/mla/v")?,
    }))
}

/// The router's correction biases, one per expert and layer: published counts hold them, and so do checkpoints; transformers keeps
/// them as buffers, which are no parameters.
fn correction_biases(row: Fields<'_>, config: &ModelConfig) -> u64 {
    let published = row.flag("/moe/router_bias").unwrap_or(false) && row.is_absent("/moe/bias");
    let layers = (0..config.num_hidden_layers).filter_map(|layer| config.moe_at(layer));
    if published { layers.map(|moe| moe.num_experts).sum() } else { 0 }
}

/// Serving that model with one sequence of that many tokens.
fn serving_job(model: &ModelConfig, tokens: u64, cache: DType) -> Result<Job, String> {
    let run = ServingRun {
        context_length: tokens,
        concurrent_sequences: 1,
        prefill_chunk_size: 1,
        weight_dtype: DType::Bf16,
        kv_cache_dtype: cache,
        activation_dtype: DType::Bf16,
        attention: AttentionKernel::Flash,
        overhead_percent: 0.0,
    };
    Job::new(model.clone(), Run::Serving(run), ParallelLayout::SINGLE, NO_OVERHEAD).map_err(|error| error.to_string())
}

/// A row of published serving memory.
pub fn inference(index: usize, row: Fields<'_>) -> Row {
    let groups = row.text("/kind").map(|kind| ("kind", kind.to_owned())).into_iter().collect();
    let outcome = row.text("/kind").and_then(|kind| match kind {
        "kv_bytes_per_token" | "kv_total" => cache(row),
        "vllm_startup" => vllm(row),
        other => Err(not_a_cache(other)),
    });
    Row { id: super::id(index, row), groups, outcome }
}

/// Why a row of that kind holds nothing to compare with.
fn not_a_cache(kind: &str) -> String {
    let why = match kind {
        "quantized_size" | "bits_per_weight" => "file formats of other programs (GGUF quantisations) are not modelled",
        "generate_peak" => "the prompt's length is not in the row",
        "edge_memory" => "the resident memory of a whole process is not modelled",
        "checkpoint_size" => "the size of files is not modelled",
        _ => "this kind of row is not modelled",
    };
    format!("{kind}: {why}")
}

/// Bytes of keys and values per token, stated or following from a total.
fn cache(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let name = row.text("/model")?;
    let config = known(name).ok_or_else(|| format!("the shape of {name} is not in the catalog"))?;
    let dtype = match row.text("/dtype")? {
        "f32" => DType::Fp32,
        _ => DType::Bf16,
    };
    let measured = if row.is_absent("/bytes_per_token") { per_token(row)? } else { row.count("/bytes_per_token")? };
    compared(&config, dtype, 1, measured)
}

fn compared(config: &ModelConfig, dtype: DType, per_gpu_of: u64, measured: u64) -> Result<Vec<Comparison>, String> {
    let cache = estimate(&serving_job(config, 1, dtype)?).kv_cache_per_token.ok_or("no cache")?;
    let ours = cache.0 / NonZeroU64::new(per_gpu_of).ok_or("no GPUs")?;
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

/// What vLLM prints at its start: bytes per block of tokens on each GPU.
fn vllm(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let name = row.text("/model")?;
    let measured = if row.is_absent("/kv_bytes_per_token_per_gpu") {
        let block = row.count("/block_size").map_err(|_| "the row has no size of blocks".to_owned())?;
        let bytes = row.count("/kv_bytes_per_block_per_gpu").map_err(|_| "the row has no size of blocks".to_owned())?;
        bytes.checked_div(block).ok_or("blocks of no tokens")?
    } else {
        row.count("/kv_bytes_per_token_per_gpu")?
    };
    let config = known(name).ok_or_else(|| format!("the shape of {name} is not in the catalog"))?;
    compared(&config, DType::Fp16, row.count("/tp")?, measured)
}

/// The catalog's architecture for a name as tables print it.
fn known(name: &str) -> Option<ModelConfig> {
    const NAMES: [(&str, &str); 11] = [
        ("Qwen2.5-72B (GQA)", "qwen2.5-72b"),
        ("Llama-3.1-8B", "llama3-8b"),
        ("Llama-3.1-70B", "llama3-70b"),
        ("LongAlpaca-7B (Llama-2-7B)", "llama2-7b"),
        ("LongAlpaca-13B (Llama-2-13B)", "llama2-13b"),
        ("Meta-Llama-3-8B-Instruct", "llama3-8b"),
        ("Meta-Llama-3-70B-Instruct", "llama3-70b"),
        ("LLaMA-1 13B", "llama1-13b"),
        ("LLaMA-1 30B", "llama1-30b"),
        ("Llama-2-7B", "llama2-7b"),
        ("Llama-2-70B", "llama2-70b"),
    ];
    let id = NAMES.iter().find(|(printed, _)| *printed == name).map_or(name, |(_, id)| id);
    headroom::catalog::model(id).map(|row| row.config.clone())
}
