//! Published parameter counts.

use headroom::config::{
    CacheFormat, LayerSet, Mla, MlpKind, ModelConfig, Moe, Normalization, PositionEmbedding,
};
use headroom::estimator::estimate;

use super::row::{Comparison, Fields, Quantity, Row};
use super::serving::cache_job;

/// A model with its published parameter count.
pub fn model(index: usize, row: Fields<'_>) -> Row {
    let verified = row.flag("/verified").unwrap_or(false);
    let encoder = row.flag("/encoder_only").unwrap_or(false);
    let groups = vec![
        ("kind", if verified { "verified" } else { "shape only" }.to_owned()),
        ("family", if encoder { "encoder" } else { "decoder" }.to_owned()),
    ];
    let id = row.text("/name").map_or_else(|_| super::id(index, row), str::to_owned);
    Row { id, groups, outcome: model_outcome(row), without: Vec::new() }
}

fn model_outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let config = model_config(row)?;
    // Where no exact count was published, the closed form of the table is the count to meet.
    let pointer =
        if row.is_absent("/published_total") { "/formula_total" } else { "/published_total" };
    let serving = estimate(&cache_job(&config, CacheFormat::Bf16)?);
    let ours = serving.parameters.total + correction_biases(row, &config);
    let mut found =
        vec![Comparison { quantity: Quantity::Parameters, ours, measured: row.count(pointer)? }];
    let cache = serving.kv_cache_per_token.ok_or("no cache")?;
    let measured = row.count("/kv_bytes_per_token_bf16")?;
    found.push(Comparison { quantity: Quantity::KvBytesPerToken, ours: cache.0, measured });
    Ok(found)
}

/// The architecture of a row of the table of models.
fn model_config(row: Fields<'_>) -> Result<ModelConfig, String> {
    // The table leaves out what a model does not have; its parameter count tells whether that is
    // true.
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
        position_rows: if learned {
            row.count("/pos_emb_learned")? + types
        } else {
            max_position_embeddings
        },
        normalization: match row.text("/norm")? {
            "layernorm" => Normalization::LayerNorm,
            "rmsnorm" => Normalization::RmsNorm,
            other => return Err(format!("the norm {other} is not modelled")),
        },
        mlp: if row.flag("/gated")? { MlpKind::Gated } else { MlpKind::Plain },
        position_embedding: if learned {
            PositionEmbedding::Learned
        } else {
            PositionEmbedding::Rotary
        },
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
        latent: 0,
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

/// The router's correction biases, one per expert and layer: published counts hold them, and so do
/// checkpoints; transformers keeps them as buffers, which are no parameters.
fn correction_biases(row: Fields<'_>, config: &ModelConfig) -> u64 {
    let published = row.flag("/moe/router_bias").unwrap_or(false) && row.is_absent("/moe/bias");
    let layers = (0..config.num_hidden_layers).filter_map(|layer| config.moe_at(layer));
    if published { layers.map(|moe| moe.num_experts).sum() } else { 0 }
}
