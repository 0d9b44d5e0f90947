//! Parameters of encoders beside decoders, computed from the config's fields without the engine.

use headroom::config::{MlpKind, ModelConfig, PositionEmbedding, SourceEncoder};

/// A linear layer.
fn linear(from: u64, to: u64, bias: bool) -> u64 {
    from * to + if bias { to } else { 0 }
}

/// Parameters of encoder and decoder with embeddings and head; `norm` gives those of a norm of the
/// model's width.
pub fn parameters(config: &ModelConfig, norm: u64) -> u64 {
    let Some(source) = config.source else { return 0 };
    let (h, v, kind) = (config.hidden_size, config.vocab_size, config.family.model_type());
    let sound = kind == "whisper";
    let attention = |heads: u64, keys: u64, d: u64, seen: u64| {
        let (wide, narrow, bias) = (heads * d, keys * d, config.attention_bias);
        linear(h, wide, bias)
            + linear(seen, narrow, bias && !sound)
            + linear(seen, narrow, bias)
            + linear(wide, h, config.attention_output_bias)
    };
    let own = attention(config.num_attention_heads, config.num_key_value_heads, config.head_dim, h);
    let across = attention(
        config.num_attention_heads,
        config.num_key_value_heads,
        config.head_dim,
        source.hidden_size,
    );
    let decoder = own + across + feed(config, config.intermediate_size) + 3 * norm;
    // A decoder that was saved alone has the embedding and final norm of one side only.
    let sides = if source.layers > 0 { 2 } else { 1 };
    let of_source =
        attention(source.num_attention_heads, source.num_key_value_heads, source.head_dim, h);
    let encoder = of_source + feed(config, source.intermediate_size) + 2 * norm;
    let mut total = source.layers * encoder + (config.num_hidden_layers - source.layers) * decoder;
    total += h * (v + source.vocab_size + source.idle_vocab_size);
    total += if config.tie_word_embeddings { 0 } else { v * h };
    if config.position_embedding == PositionEmbedding::Learned {
        total += h * (config.position_rows + source.position_rows);
    }
    total += sides * norm * (u64::from(config.embedding_norm) + u64::from(config.final_norm));
    total + own_parameters(config, source, kind, norm)
}

/// Parameters of a feed-forward layer of that width.
fn feed(config: &ModelConfig, inner: u64) -> u64 {
    let h = config.hidden_size;
    let up = linear(h, inner, config.mlp_bias);
    up + if config.mlp == MlpKind::Gated { up } else { 0 } + linear(inner, h, config.mlp_bias)
}

/// Parameters that only one kind of model has, such as tables of relative positions.
fn own_parameters(config: &ModelConfig, source: SourceEncoder, kind: &str, norm: u64) -> u64 {
    let h = config.hidden_size;
    match kind {
        "t5" | "mt5" | "longt5" => {
            source.own[0] * (config.num_attention_heads + source.num_attention_heads)
        }
        "pop2piano" => {
            source.own[0] * (config.num_attention_heads + source.num_attention_heads)
                + source.own[1] * h
        }
        "umt5" => {
            let decoder = (config.num_hidden_layers - source.layers) * config.num_attention_heads;
            source.own[0] * (decoder + source.layers * source.num_attention_heads)
        }
        "switch_transformers" => {
            let tables = source.own[0] * (config.num_attention_heads + source.num_attention_heads);
            tables
                + source.own[4] * source.own[1] * h
                + source.own[5] * 2 * config.intermediate_size * h
        }
        "nllb-moe" => {
            let experts = |blocks: u64, further: u64, inner: u64| {
                blocks * source.own[0] * h + further * feed(config, inner)
            };
            experts(source.own[3], source.own[4], source.intermediate_size)
                + experts(source.own[5], source.own[6], config.intermediate_size)
        }
        "udop" => {
            let places = 2 * source.own[1] * h
                + 2 * linear(source.own[2] * source.own[2] * source.own[3], h, true);
            places
                + (source.own[0] + 2 * 32)
                    * (config.num_attention_heads + source.num_attention_heads)
        }
        "pix2struct" => {
            source.own[0] * config.num_attention_heads
                + linear(source.own[1], h, true)
                + 2 * source.own[2] * h
        }
        "t5gemma" => {
            (config.num_hidden_layers - source.layers) * norm + config.num_hidden_layers * 2 * norm
        }
        "led" => source.layers * 3 * linear(h, h, true),
        "pegasus_x" => source.own[0] * h + source.layers * norm,
        "prophetnet" => {
            source.own[0] * h
                + (config.num_hidden_layers - source.layers) * linear(h, source.own[2], true)
        }
        "whisper" if source.layers > 0 => {
            linear(3 * source.own[0], h, true) + linear(3 * h, h, true)
        }
        _ => 0,
    }
}
