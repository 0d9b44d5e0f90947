//! Parameters of encoders, from their fields alone.

use headroom::config::{ModelConfig, PositionEmbedding};

/// A dense layer with a bias.
fn dense(from: u64, to: u64) -> u64 {
    from * to + to
}

/// Both ends and the blocks; `layer` gives the parameters of one block, and `norm` those of a norm of the model's width.
pub fn parameters(config: &ModelConfig, norm: u64, layer: impl Fn(u64) -> u64) -> u64 {
    let Some(encoder) = config.encoder else { return 0 };
    let (h, v, kind) = (config.hidden_size, config.vocab_size, config.family.model_type());
    let e = if encoder.embedding_size > 0 { encoder.embedding_size } else { h };
    let own = encoder.own;
    let head = match kind {
        "rembert" => own[0],
        "electra" | "albert" => e,
        _ => h,
    };
    let norm_of = |width: u64| norm / h * width;
    let blocks = if kind == "albert" { layer(0) } else { (0..config.num_hidden_layers).map(layer).sum() };
    let places = if config.position_embedding == PositionEmbedding::Learned { config.position_rows * e } else { 0 };
    let widens = encoder.embedding_size > 0 || ["albert", "rembert"].contains(&kind);
    let mut total = v * e + places + encoder.type_vocab_size * e + blocks;
    total += if widens { dense(e, h) } else { 0 };
    total += if config.embedding_norm { norm_of(e) } else { 0 };
    total += if config.final_norm { norm } else { 0 };
    total += match (encoder.head_transform, kind) {
        (false, _) => 0,
        (true, "modernbert") => h * h + norm,
        (true, _) => dense(h, head) + norm_of(head),
    };
    total += if config.tie_word_embeddings { 0 } else { v * head };
    total += if config.lm_head_bias { v } else { 0 };
    // The bias that a tied head takes over stands beside an untied one's own.
    let once = ["distilbert", "electra", "rembert", "gte", "eurobert", "modernbert"].contains(&kind);
    total += if once || config.tie_word_embeddings { 0 } else { v };
    total += if config.pooler { dense(h, h) } else { 0 };
    // The first block lacks a norm; gate and up lack biases.
    total -= match kind {
        "modernbert" => norm,
        "gte" => 2 * config.num_hidden_layers * config.intermediate_size,
        _ => 0,
    };
    total
        + match kind {
            "mpnet" => own[0] * config.num_attention_heads,
            "layoutlm" => 4 * own[0] * h,
            "roc_bert" => own[0] * own[1] + own[2] * own[3] + dense(h + own[1] + own[3], h),
            _ => 0,
        }
}
