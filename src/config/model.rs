//! The transformer's architecture.

use serde::{Deserialize, Serialize};

/// The normalisation layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalization {
    /// Mean and variance, with scale and bias: `2 · hidden_size` parameters.
    LayerNorm,
    /// Root mean square, scale only: `hidden_size` parameters.
    #[default]
    RmsNorm,
}

/// The shape of the feed-forward layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MlpKind {
    /// Up, activation, down: two matrices.
    Plain,
    /// Gate and up, activation, product, down: three matrices (SwiGLU, GeGLU).
    #[default]
    Gated,
}

/// How positions enter the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionEmbedding {
    /// A learned table of `position_rows · hidden_size` parameters.
    Learned,
    /// Rotary: queries and keys are rotated, no parameters.
    #[default]
    Rotary,
    /// Linear biases on the scores (BLOOM), no parameters.
    Alibi,
}

/// A decoder-only transformer, with the keys of a Hugging Face `config.json`. All sizes are at least 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelConfig {
    /// Width of the residual stream (h).
    pub hidden_size: u64,
    /// Number of transformer blocks (L).
    pub num_hidden_layers: u64,
    /// Query heads (a).
    pub num_attention_heads: u64,
    /// Key/value heads: equal to the query heads in multi-head, 1 in multi-query attention.
    pub num_key_value_heads: u64,
    /// Width of one head (d).
    pub head_dim: u64,
    /// Inner width of the feed-forward layer.
    pub intermediate_size: u64,
    /// Rows of the token embedding (v).
    pub vocab_size: u64,
    /// Longest sequence the model was made for, tokens.
    pub max_position_embeddings: u64,
    /// Rows of a learned position table: `max_position_embeddings`, plus 2 in OPT. Unused otherwise.
    pub position_rows: u64,
    /// Normalisation kind.
    pub normalization: Normalization,
    /// Feed-forward kind.
    pub mlp: MlpKind,
    /// Position kind.
    pub position_embedding: PositionEmbedding,
    /// Bias on the query, key and value projections.
    pub attention_bias: bool,
    /// Bias on the attention's output projection.
    pub attention_output_bias: bool,
    /// Bias on the feed-forward matrices.
    pub mlp_bias: bool,
    /// Whether the output head reuses the token embedding.
    pub tie_word_embeddings: bool,
    /// Norms over each query and key head (`2 · head_dim` parameters a block; Qwen3).
    pub qk_norm: bool,
    /// A norm right after the token embedding (BLOOM).
    pub embedding_norm: bool,
    /// Norm layers in a block: 2, or 1 where attention and feed-forward share one, or 0 for none.
    pub norms_per_block: u64,
    /// Whether a norm stands before the output head.
    pub final_norm: bool,
}
