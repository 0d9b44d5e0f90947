//! GPT-2 and its relatives: layer norms and a plain feed-forward layer.

use super::reader::{MAX_LAYERS, MAX_POSITIONS, MAX_SIZE, Reader, head_dim_of};
use super::value::Value;
use super::{How, ImportError};
use crate::config::{MlpKind, ModelConfig, Normalization, PositionEmbedding};

/// The sizes that all of this family state, under the names of one kind (the last name is the file's own).
struct Sizes {
    hidden_size: u64,
    layers: u64,
    heads: u64,
    vocab_size: u64,
}

impl Sizes {
    /// Reads them; each list has this program's name first.
    fn read(
        file: &mut Reader<'_>,
        hidden: &[&'static str],
        layers: &[&'static str],
        heads: &[&'static str],
    ) -> Result<Self, ImportError> {
        Ok(Self {
            hidden_size: file.size(hidden, MAX_SIZE)?,
            layers: file.size(layers, MAX_LAYERS)?,
            heads: file.size(heads, MAX_SIZE)?,
            vocab_size: file.size(&["vocab_size"], MAX_SIZE)?,
        })
    }

    /// GPT-2's shape of these sizes: biases everywhere, learned positions, tied head.
    fn shape(&self, intermediate_size: u64, positions: u64) -> Result<ModelConfig, ImportError> {
        Ok(ModelConfig {
            hidden_size: self.hidden_size,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads,
            num_key_value_heads: self.heads,
            head_dim: head_dim_of(self.hidden_size, self.heads)?,
            intermediate_size,
            vocab_size: self.vocab_size,
            max_position_embeddings: positions,
            position_rows: positions,
            normalization: Normalization::LayerNorm,
            mlp: MlpKind::Plain,
            position_embedding: PositionEmbedding::Learned,
            attention_bias: true,
            attention_output_bias: true,
            mlp_bias: true,
            tie_word_embeddings: true,
            qk_norm: false,
            embedding_norm: false,
            norms_per_block: 2,
            final_norm: true,
            ..ModelConfig::plain()
        })
    }
}

/// Tells what follows from the kind.
fn tell_implied(file: &mut Reader<'_>, config: &ModelConfig) {
    file.implied("num_key_value_heads", &config.num_key_value_heads, "As many as query heads: multi-head attention.");
    file.implied("head_dim", &config.head_dim, "hidden_size / num_attention_heads.");
}

/// GPT-2.
pub(super) fn gpt2(file: &mut Reader<'_>) -> Result<ModelConfig, ImportError> {
    let sizes =
        Sizes::read(file, &["hidden_size", "n_embd"], &["num_hidden_layers", "n_layer"], &["num_attention_heads", "n_head"])?;
    let inner = file.size_or_derived(&["intermediate_size", "n_inner"], sizes.hidden_size.saturating_mul(4), "4 × n_embd.")?;
    let positions = file.size_or(&["max_position_embeddings", "n_positions", "n_ctx"], MAX_POSITIONS, 1024)?;
    let mut config = sizes.shape(inner, positions)?;
    config.tie_word_embeddings = file.tied(true)?;
    tell_implied(file, &config);
    file.implied("bias", &true, "Biases on all matrices.");
    Ok(config)
}

/// OPT: two rows more in the position table than positions.
pub(super) fn opt(file: &mut Reader<'_>) -> Result<ModelConfig, ImportError> {
    let sizes = Sizes::read(file, &["hidden_size"], &["num_hidden_layers"], &["num_attention_heads"])?;
    let inner = file.size(&["intermediate_size", "ffn_dim"], MAX_SIZE)?;
    let positions = file.size_or(&["max_position_embeddings"], MAX_POSITIONS, 2048)?;
    let embedding = file.size_or_derived(&["word_embed_proj_dim"], sizes.hidden_size, "As hidden_size.")?;
    if embedding != sizes.hidden_size {
        return Err(ImportError::not_modelled("token embeddings of another width than the blocks (word_embed_proj_dim)"));
    }
    if !file.rare_flag("layer_norm_elementwise_affine", true)? {
        return Err(ImportError::not_modelled("norms without parameters (layer_norm_elementwise_affine)"));
    }
    let norm_first = file.rare_flag("do_layer_norm_before", true)?;
    let no_final_norm = file.rare_flag("_remove_final_layer_norm", false)?;
    let bias = file.flag_as("enable_bias", "bias", true)?;
    let mut config = sizes.shape(inner, positions)?;
    config.position_rows = positions.saturating_add(2);
    config.attention_bias = bias;
    config.attention_output_bias = bias;
    config.mlp_bias = bias;
    config.final_norm = norm_first && !no_final_norm;
    config.tie_word_embeddings = file.tied(true)?;
    tell_implied(file, &config);
    file.implied("position_rows", &config.position_rows, "OPT's position table has two rows more than positions.");
    Ok(config)
}

/// GPT-NeoX and Pythia: rotary positions, and a head of its own.
pub(super) fn gpt_neox(file: &mut Reader<'_>) -> Result<ModelConfig, ImportError> {
    let sizes = Sizes::read(file, &["hidden_size"], &["num_hidden_layers"], &["num_attention_heads"])?;
    let inner = file.size(&["intermediate_size"], MAX_SIZE)?;
    let positions = file.size_or(&["max_position_embeddings"], MAX_POSITIONS, 2048)?;
    let bias = file.flag("attention_bias", true)?;
    let mut config = sizes.shape(inner, positions)?;
    config.position_embedding = PositionEmbedding::Rotary;
    config.attention_bias = bias;
    config.attention_output_bias = bias;
    config.tie_word_embeddings = file.tied(false)?;
    tell_implied(file, &config);
    Ok(config)
}

/// BLOOM: `ALiBi` instead of position parameters, and a norm after the embedding.
pub(super) fn bloom(file: &mut Reader<'_>) -> Result<ModelConfig, ImportError> {
    let sizes =
        Sizes::read(file, &["hidden_size", "n_embed"], &["num_hidden_layers", "n_layer"], &["num_attention_heads", "n_head"])?;
    let positions = file.size_or(&["max_position_embeddings", "seq_length"], MAX_POSITIONS, 2048)?;
    let inner = sizes.hidden_size.saturating_mul(4);
    let mut config = sizes.shape(inner, positions)?;
    config.position_embedding = PositionEmbedding::Alibi;
    config.embedding_norm = true;
    config.tie_word_embeddings = file.tied(true)?;
    file.implied("intermediate_size", &inner, "4 × hidden_size.");
    file.implied("embedding_norm", &true, "BLOOM norms the embedding.");
    tell_implied(file, &config);
    Ok(config)
}

/// MPT, in which biases are an exception.
pub(super) fn mpt(file: &mut Reader<'_>) -> Result<ModelConfig, ImportError> {
    let sizes =
        Sizes::read(file, &["hidden_size", "d_model"], &["num_hidden_layers", "n_layers"], &["num_attention_heads", "n_heads"])?;
    let ratio = file.size_or(&["expansion_ratio"], 1000, 4)?;
    let positions = file.size_or(&["max_position_embeddings", "max_seq_len"], MAX_POSITIONS, 2048)?;
    let inner = sizes.hidden_size.saturating_mul(ratio);
    let mut config = sizes.shape(inner, positions)?;
    if file.flag("no_bias", true)? {
        config.attention_bias = false;
        config.attention_output_bias = false;
        config.mlp_bias = false;
        config.normalization = Normalization::RmsNorm;
        file.implied("normalization", &"scale only", "Layer norms without a bias are counted as RMS norms: one scale each.");
    }
    config.tie_word_embeddings = file.tied(true)?;
    file.implied("intermediate_size", &inner, "expansion_ratio × d_model.");
    mpt_attention(file, &mut config)?;
    Ok(config)
}

/// What MPT keeps under `attn_config`.
fn mpt_attention(file: &mut Reader<'_>, config: &mut ModelConfig) -> Result<(), ImportError> {
    let attention = match file.peek("attn_config") {
        Some(Value::Object(keys)) => keys.clone(),
        _ => super::Object::new(),
    };
    file.done_with(&["attn_config"]);
    let flag = |key: &str| matches!(attention.get(key), Some(Value::Bool(true)));
    if flag("qk_ln") || flag("qk_gn") {
        return Err(ImportError::not_modelled("norms over all query and key heads at once (attn_config.qk_ln)"));
    }
    let alibi = !matches!(attention.get("alibi"), Some(Value::Bool(false)));
    let learned = !matches!(file.peek("learned_pos_emb"), Some(Value::Bool(false)));
    file.done_with(&["learned_pos_emb"]);
    config.position_embedding = match (alibi, flag("rope"), learned) {
        (_, true, _) => PositionEmbedding::Rotary,
        (true, false, _) => PositionEmbedding::Alibi,
        (false, false, true) => PositionEmbedding::Learned,
        (false, false, false) => return Err(ImportError::not_modelled("no position embedding at all (learned_pos_emb)")),
    };
    let positions = format!("{:?}", config.position_embedding).to_ascii_lowercase();
    file.tell("position_embedding", &positions, How::Derived, "From attn_config and learned_pos_emb.");
    config.num_key_value_heads = match attention.get("attn_type") {
        Some(Value::Text(kind)) if kind == "multiquery_attention" => 1,
        Some(Value::Text(kind)) if kind == "grouped_query_attention" => match attention.get("kv_n_heads") {
            Some(heads) => super::reader::whole("attn_config.kv_n_heads", heads, MAX_SIZE)?,
            None => return Err(ImportError::Missing { key: "attn_config.kv_n_heads" }),
        },
        _ => config.num_attention_heads,
    };
    file.tell("num_key_value_heads", &config.num_key_value_heads, How::Derived, "From attn_config.attn_type.");
    file.implied("head_dim", &config.head_dim, "d_model / n_heads.");
    Ok(())
}
