//! What several tests share: the closed form of the parameter count, written independently of the engine.

use headroom::config::{MlpKind, ModelConfig, Normalization, PositionEmbedding};

/// Parameters of a dense decoder, from its sizes alone.
pub fn parameters(config: &ModelConfig) -> u64 {
    let h = config.hidden_size;
    let norm = match config.normalization {
        Normalization::LayerNorm => 2 * h,
        Normalization::RmsNorm => h,
    };
    let queries = config.num_attention_heads * config.head_dim;
    let keys = config.num_key_value_heads * config.head_dim;
    let mut attention = h * queries + 2 * h * keys + queries * h;
    if config.attention_bias {
        attention += queries + 2 * keys;
    }
    if config.attention_output_bias {
        attention += h;
    }
    if config.qk_norm {
        attention += 2 * config.head_dim;
    }
    let inner = config.intermediate_size;
    let into = match config.mlp {
        MlpKind::Gated => 2,
        MlpKind::Plain => 1,
    };
    let mut mlp = (into + 1) * h * inner;
    if config.mlp_bias {
        mlp += into * inner + h;
    }
    let embedding = config.vocab_size * h;
    let mut total = embedding + config.num_hidden_layers * (attention + mlp + config.norms_per_block * norm);
    if config.position_embedding == PositionEmbedding::Learned {
        total += config.position_rows * h;
    }
    if config.embedding_norm {
        total += norm;
    }
    if config.final_norm {
        total += norm;
    }
    if !config.tie_word_embeddings {
        total += embedding;
    }
    total
}
