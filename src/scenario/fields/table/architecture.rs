//! The model's architecture, with the keys of a Hugging Face `config.json`. The model's own value
//! is the default.

use super::{LENGTH, SIZE, Value, option};

fields! { $
    /// Width of the stream between blocks; parameters grow with its square, activations in
    /// proportion.
    HiddenSize("h", "hidden_size", "Hidden size").whole(1..=SIZE).step(128)
        .architecture(|model| Value::Integer(model.hidden_size)),
    /// Number of transformer blocks; parameters and activations grow in proportion.
    NumHiddenLayers("l", "num_hidden_layers", "Layers").whole(1..=10_000).step(1)
        .architecture(|model| Value::Integer(model.num_hidden_layers)),
    /// Number of query heads; standard attention saves one square of scores for each.
    NumAttentionHeads("a", "num_attention_heads", "Attention heads")
        .whole(1..=100_000).step(1).architecture(|model| Value::Integer(model.num_attention_heads)),
    /// Number of heads that are cached when serving; fewer make the key/value cache smaller.
    NumKeyValueHeads("kv", "num_key_value_heads", "Key/value heads")
        .whole(1..=100_000).step(1).architecture(|model| Value::Integer(model.num_key_value_heads)),
    /// Width of one attention head; the key/value cache grows in proportion.
    HeadDim("hd", "head_dim", "Head size").whole(1..=100_000).step(8)
        .architecture(|model| Value::Integer(model.head_dim)),
    /// Inner width of the feed-forward layer, which holds most parameters of a block.
    IntermediateSize("ff", "intermediate_size", "Feed-forward size")
        .whole(1..=SIZE).step(128).architecture(|model| Value::Integer(model.intermediate_size)),
    /// Rows of the embedding; it decides the size of embedding, output head and logits.
    VocabSize("v", "vocab_size", "Vocabulary")
        .whole(1..=SIZE).step(64).unit("tokens")
        .architecture(|model| Value::Integer(model.vocab_size)),
    /// Longest sequence the model was made for; it takes no memory by itself. 4k means 4096.
    MaxPositionEmbeddings("mp", "max_position_embeddings", "Longest sequence")
        .tokens(1..=LENGTH).architecture(|model| Value::Integer(model.max_position_embeddings)),
    /// Rows of a learned position table, each as wide as the hidden size; unused with other
    /// positions. 4k means 4096.
    PositionRows("pr", "position_rows", "Position rows").tokens(0..=LENGTH)
        .architecture(|model| Value::Integer(model.position_rows)),
    /// The kind of norm; LayerNorm has a few more parameters and saves a little more.
    Normalization("norm", "normalization", "Normalisation")
        .choice(&[
            option("layernorm", "LayerNorm",
                "A scale and a bias per norm: twice the parameters of RMSNorm."),
            option("rmsnorm", "RMSNorm", "A scale per norm."),
        ]).architecture(|model| Value::choice(model.normalization)),
    /// Two or three matrices in the feed-forward layer.
    Mlp("mlp", "mlp", "Feed-forward kind")
        .choice(&[
            option("plain", "Plain", "Two matrices: up and down."),
            option("gated", "Gated (SwiGLU)", "Three matrices: gate, up and down."),
        ]).architecture(|model| Value::choice(model.mlp)),
    /// How the model knows positions; only a learned table takes parameters.
    PositionEmbedding("pos", "position_embedding", "Positions")
        .choice(&[
            option("learned", "Learned table",
                "A table with one row per position adds parameters."),
            option("rotary", "Rotary", "Queries and keys are rotated; no parameters."),
            option("alibi", "ALiBi", "Scores get a linear bias; no parameters."),
            option("none", "None", "Layers that keep a state know the order; no parameters."),
        ]).architecture(|model| Value::choice(model.position_embedding)),
    /// A bias vector for each of the three projections; very few parameters.
    AttentionBias("qb", "attention_bias", "Bias on queries, keys and values").flag()
        .architecture(|model| Value::Flag(model.attention_bias)),
    /// A bias vector on attention's output projection; very few parameters.
    AttentionOutputBias("ob", "attention_output_bias", "Bias on attention's output")
        .flag().architecture(|model| Value::Flag(model.attention_output_bias)),
    /// A bias vector for each feed-forward matrix; very few parameters.
    MlpBias("fb", "mlp_bias", "Bias on the feed-forward layer").flag()
        .architecture(|model| Value::Flag(model.mlp_bias)),
    /// The output head shares the embedding's weights, which saves vocabulary × hidden size
    /// parameters.
    TieWordEmbeddings("tie", "tie_word_embeddings", "Head reuses the embedding")
        .flag().architecture(|model| Value::Flag(model.tie_word_embeddings)),
    /// A small norm over each query and key head; very few parameters.
    QkNorm("qn", "qk_norm", "Norms on queries and keys").flag()
        .architecture(|model| Value::Flag(model.qk_norm)),
    /// One more norm right after the embedding; very few parameters.
    EmbeddingNorm("en", "embedding_norm", "Norm after the embedding").flag()
        .architecture(|model| Value::Flag(model.embedding_norm)),
    /// Norm layers in one block; each saves its input for the backward pass.
    NormsPerBlock("nb", "norms_per_block", "Norms per block").whole(0..=4).step(1)
        .architecture(|model| Value::Integer(model.norms_per_block)),
    /// A norm before the output head; very few parameters.
    FinalNorm("fn", "final_norm", "Norm before the head").flag()
        .architecture(|model| Value::Flag(model.final_norm)),
}
