//! `glm5_next_text` (transformers 5.23, `models/glm5_next`): several residual streams; three of
//! four layers keep a state with a decay for every channel, the others have latent attention with
//! an indexer over pooled keys. Its parameters are counted alone.

use crate::models::prelude::*;

/// Layers without a state. Where nothing is listed, every fourth.
fn attending(model: &Counted, said: Said<'_>) -> u64 {
    let listed = ["indexed_attention", "full_attention"].map(|word| said("layer_types", word));
    listed[0].map_or(model.num_hidden_layers / 4, |indexed| indexed + listed[1].unwrap_or(0))
}

/// Layers that choose tokens themselves.
fn choosing(model: &Counted, said: Said<'_>) -> u64 {
    let both = ["indexed_attention&full", "full_attention&full"]
        .map(|words| said("layer_types&indexer_types", words));
    both[0].map_or_else(|| attending(model, said), |indexed| indexed + both[1].unwrap_or(0))
}

/// Attention of both kinds, indexers, and what mixes the streams before each half.
fn rest(model: &Counted, own: &Own, said: Said<'_>) -> u64 {
    let [
        streams,
        kernel,
        heads,
        width,
        index_heads,
        index_width,
        pooled,
        narrow,
        rank,
        rope,
        value,
        ..,
    ] = *own;
    let (layers, h, a) = (model.num_hidden_layers, model.hidden_size, model.num_attention_heads);
    let (nope, bias) = (model.head_dim, u64::from(model.attention_bias));
    let columns = heads * width;
    let state = 4 * h * columns
        + 3 * columns * kernel
        + columns
        + heads
        + 2 * (h * width + width * columns)
        + h * heads
        + width;
    let queries = h * narrow + bias * narrow + narrow + narrow * a * (nope + rope);
    let keys = (h + bias) * (rank + rope) + rank + rank * a * (nope + value);
    let latent = queries + keys + (a * value + bias) * h;
    let indexer = (pooled + h) * index_width
        + narrow * index_heads * index_width
        + h * index_width
        + 2 * index_width
        + h * index_heads;
    let mixed = (2 + streams) * streams;
    let mixing = mixed * streams * h + mixed + 3;
    let attending = attending(model, said);
    (layers - attending) * state
        + attending * latent
        + choosing(model, said) * indexer
        + layers * 2 * mixing
}

/// Latent vectors; keys of indexers with their gates and whether they count; the last tokens that
/// convolutions see again, and states.
fn keeps(model: &Counted, own: &Own, said: Said<'_>) -> Vec<CachePart> {
    let [_, kernel, heads, width, _, index_width, _, _, rank, rope, ..] = *own;
    let attending = attending(model, said);
    let with_states = model.num_hidden_layers - attending;
    vec![
        CachePart::of(CachePartKind::Latents, attending, rank),
        CachePart::of(CachePartKind::RotatedKeys, attending, rope),
        index_keys(choosing(model, said), 2 * index_width + 1),
        CachePart::of(CachePartKind::LastTokens, with_states, 3 * heads * width * kernel).once(),
        CachePart::of(CachePartKind::State, with_states, heads * width * width).once().wide(),
    ]
}

/// `glm5_next_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["glm5_next_text"],
    class: "Glm5Next",
    labels: &[("glm5_next", "GLM-5-Next")],
    modules: &Modules {
        model_type: "glm5_next_text",
        choice: FamilyChoice { rank: 648, word: "glm5-next", label: "GLM-5-Next" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(rest),
    keeps: Some(keeps),
    // Its files call the rotated width of a head, which is none, `head_dim`.
    own_names: &[("head_dim", &["qk_nope_head_dim"])],
    own_sizes: &[
        ("hc_mult", 4),
        ("linear_conv_kernel_dim", 4),
        ("linear_num_heads", 64),
        ("linear_head_dim", 128),
        ("index_n_heads", 32),
        ("index_head_dim", 128),
        ("index_kpool", 16),
        ("q_lora_rank", 1536),
        ("kv_lora_rank", 512),
        ("qk_rope_head_dim", 0),
        ("v_head_dim", 256),
    ],
    not_looked_at: &[
        "layer_types",
        "indexer_types",
        "index_topk",
        "head_dim",
        "qk_head_dim",
        "n_group",
        "topk_group",
    ],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([4096, 12_288], 45, 64, 154_880, 1_048_576).head(256),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 2048,
        shared: 1,
        first_dense: 3,
        chosen_by: &["mlp_layer_types"],
        ..Experts::of(288, 8)
    }),
    ..FamilySpec::PLAIN
};
