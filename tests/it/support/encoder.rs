//! Parameters of encoders, computed from the config's fields without the engine.

use headroom::config::{BeforeClasses, ModelConfig, PositionEmbedding, Task};

/// A dense layer with a bias.
fn dense(from: u64, to: u64) -> u64 {
    from * to + to
}

/// Kinds whose untied head has one bias.
const ONE_BIAS: [&str; 13] = [
    "modernbert-decoder",
    "distilbert",
    "electra",
    "rembert",
    "gte",
    "eurobert",
    "modernbert",
    "luke",
    "xlm",
    "flaubert",
    "esmc",
    "esm",
    "doge",
];

/// Parameters of embedding, blocks and head; `layer` gives those of one block, and `norm` those of
/// a norm of the model's width.
pub fn parameters(config: &ModelConfig, norm: u64, layer: impl Fn(u64) -> u64) -> u64 {
    let Some(encoder) = config.encoder else { return 0 };
    let (h, v, kind) = (config.hidden_size, config.vocab_size, config.family.model_type());
    let e = if encoder.embedding_size > 0 { encoder.embedding_size } else { h };
    let own = encoder.own;
    let head = match kind {
        "rembert" => own[0],
        "electra" | "albert" | "roformer" | "convbert" => e,
        _ => h,
    };
    let norm_of = |width: u64| norm / h * width;
    let blocks =
        if kind == "albert" { layer(0) } else { (0..config.num_hidden_layers).map(layer).sum() };
    let places = if config.position_embedding == PositionEmbedding::Learned {
        config.position_rows * e
    } else {
        0
    };
    let widens = encoder.embedding_size > 0 || ["albert", "rembert"].contains(&kind);
    let mut total = v * e + places + encoder.type_vocab_size * e + blocks;
    total += if widens { dense(e, h) } else { 0 };
    total += if config.embedding_norm { norm_of(e) } else { 0 };
    total += if config.final_norm { norm } else { 0 };
    total += match (encoder.head_transform, kind) {
        (false, _) => 0,
        (true, "modernbert" | "modernbert-decoder") => h * h + norm,
        (true, _) => dense(h, head) + norm_of(head),
    };
    total += if config.tie_word_embeddings { 0 } else { v * head };
    total += if config.lm_head_bias { v } else { 0 };
    // In most kinds an untied head has two biases: its own, and the one that a tied head would use.
    let counted = config.family.modules().encoder.counts_attention || config.compressed.is_some();
    let once = counted || ONE_BIAS.contains(&kind);
    total += if once || config.tie_word_embeddings { 0 } else { v };
    total += if config.pooler { dense(h, h) } else { 0 };
    total += config.task.map_or(0, |task| of_task(config, task, norm));
    // These kinds have fewer parameters: no norm in the first block, or no biases in keys or in
    // gate and up.
    total -= match kind {
        "modernbert" | "modernbert-decoder" => norm,
        "deberta" => config.num_hidden_layers * h,
        "gte" => 2 * config.num_hidden_layers * config.intermediate_size,
        _ => 0,
    };
    total
        + match kind {
            "deberta-v2" | "deberta" => disentangled(config, own),
            "mpnet" => own[0] * config.num_attention_heads,
            "layoutlm" => 4 * own[0] * h,
            "roc_bert" => own[0] * own[1] + own[2] * own[3] + dense(h + own[1] + own[3], h),
            _ => further(config, own),
        }
}

/// The head of a task: the layers before the classes, and the matrix of the classes.
fn of_task(config: &ModelConfig, task: Task, norm: u64) -> u64 {
    let h = config.hidden_size;
    let before = match config.family.modules().encoder.tasks.before(task.kind) {
        BeforeClasses::Nothing | BeforeClasses::Unknown => 0,
        BeforeClasses::Dense(_) => dense(h, h),
        BeforeClasses::Transform => h * h + norm,
    };
    before + task.labels * (h + 1)
}

/// Parameters of embedded distances and of their projections in each block; v1's key projections
/// have no bias.
fn disentangled(config: &ModelConfig, own: [u64; 7]) -> u64 {
    let (h, layers, first) =
        (config.hidden_size, config.num_hidden_layers, config.family.model_type() == "deberta");
    let norm = if own[4] > 0 { 2 * h } else { 0 };
    let keys = if first { h * h } else { dense(h, h) };
    let apart = if own[0] > 0 && own[3] == 0 { own[1] * keys + own[2] * dense(h, h) } else { 0 };
    own[0] * h + norm + layers * apart
}

/// Further parameters of kinds that differ from BERT.
fn further(config: &ModelConfig, own: [u64; 7]) -> u64 {
    let (h, layers, heads) =
        (config.hidden_size, config.num_hidden_layers, config.num_attention_heads);
    let positions = config.max_position_embeddings;
    if let Some(sizes) = &config.compressed {
        return super::compressed::parameters(config, sizes);
    }
    match config.family.model_type() {
        _ if config.family.modules().encoder.counts_attention => own[6],
        "nystromformer" | "yoso" => layers * heads * own[0],
        "longformer" => layers * 3 * dense(h, h),
        "tapas" | "xlm" | "flaubert" => own[0] * h,
        "xmod" => layers * (dense(h, own[0]) + own[0] * h + own[1] * h),
        "roformer" => positions * config.head_dim,
        "esmc" => layers * 2 * h + h,
        // The rates and the projection that make the mask of values, and two factors for each
        // channel of the stream.
        "doge" => {
            let kv = config.num_key_value_heads;
            layers
                * (kv + kv * kv * config.head_dim + u64::from(config.attention_bias) * kv + 2 * h)
        }
        "esm" => layers * heads + 1,
        "luke" => {
            let (entities, width) = (own[0], own[1]);
            let types = config.encoder.map_or(0, |encoder| encoder.type_vocab_size);
            let head = entities + dense(h, width) + 2 * width;
            entities * width
                + width * h
                + (positions + types + 2) * h
                + layers * 3 * dense(h, h)
                + head
        }
        _ => 0,
    }
}
