//! `blt` (transformers 5.23, `models/blt`), Byte Latent Transformer: a small encoder of bytes with
//! embeddings of groups of bytes, a large transformer over patches, a small decoder that both
//! attend to, and a model that says where patches begin. The sizes of the decoder count as the
//! model's, and the others' are stated in groups; parameters are counted alone.

use crate::models::prelude::*;

/// Width, inner width, depth, heads and key/value heads of a transformer in a group, with the
/// library's defaults.
const fn transformer([hidden, inner, layers, heads]: [u64; 4]) -> [(&'static str, u64); 5] {
    [
        ("hidden_size", hidden),
        ("intermediate_size", inner),
        ("num_hidden_layers", layers),
        ("num_attention_heads", heads),
        ("num_key_value_heads", UNSTATED),
    ]
}

const LAYERS: [(&str, u64); 5] = transformer([1024, UNSTATED, 1, 16]);
const ENCODER: [(&str, u64); 8] = [
    LAYERS[0],
    LAYERS[1],
    LAYERS[2],
    LAYERS[3],
    LAYERS[4],
    ("vocab_size", 260),
    ("cross_attn_k", 2),
    ("cross_attn_all_layers", 0),
];
const OF_PATCHER: [(&str, u64); 5] = transformer([768, 2048, 14, 12]);
const PATCHER: [(&str, u64); 6] = [
    OF_PATCHER[0],
    OF_PATCHER[1],
    OF_PATCHER[2],
    OF_PATCHER[3],
    OF_PATCHER[4],
    ("vocab_size", 260),
];

/// Layers of a transformer of that width, inner width, depth, heads and key/value heads.
fn layers([h, inner, layers, heads, key_heads]: [u64; 5]) -> u64 {
    let keys = h / heads.max(1) * or(key_heads, heads);
    layers * (2 * h * h + 2 * h * keys + 3 * h * or(inner, 8 * h / 3) + 2 * h)
}

/// Attention to another part, with norms of queries and keys.
fn across([h, heads, key_heads]: [u64; 3]) -> u64 {
    2 * h * h + 2 * h * (h / heads.max(1) * or(key_heads, heads)) + 2 * h
}

/// All but the decoder's feed-forward layers, norms and head, and an embedding of its width.
fn rest(model: &Counted, own: &Own, _: Said<'_>) -> u64 {
    let [global_width, all, patched, rows, functions, has_patcher, books] =
        [own[0], own[1], own[2], own[3], own[4], own[5], own[6]];
    let [encoder, global, patcher] =
        [7, 15, 20].map(|at| [own[at], own[at + 1], own[at + 2], own[at + 3], own[at + 4]]);
    let [words, joined, joins_all] = [own[12], own[13], own[14]];
    let (h, depth) = (model.hidden_size, model.num_hidden_layers);
    let times = |all: u64, layers: u64| if all > 0 { layers } else { 1 };
    // The library takes no other width of a head than the hidden size shared out.
    let keys = h / model.num_attention_heads.max(1) * model.num_key_value_heads;
    let decoder = depth * 2 * h * (h + keys)
        + times(all, depth) * across([h, model.num_attention_heads, model.num_key_value_heads])
        + global_width * h * patched;
    let bytes = layers(encoder)
        + times(joins_all, encoder[2]) * across([encoder[0], encoder[3], encoder[4]])
        + encoder[0] * encoder[0] * joined
        + (words + functions * books * rows) * encoder[0];
    // Patches are brought to the large transformer's width where they have another.
    let brought = encoder[0] * patched;
    let large = layers(global) + if brought == global[0] { 0 } else { brought * global[0] };
    let entropy = layers(patcher) + (2 * own[25] + 1) * patcher[0];
    (decoder + bytes + large + has_patcher * entropy).saturating_sub(model.vocab_size * h)
}

/// `blt`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["blt"],
    class: "Blt",
    labels: &[("blt", "BLT")],
    modules: &Modules {
        model_type: "blt",
        choice: FamilyChoice { rank: 653, word: "blt", label: "BLT" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    within: "decoder_config",
    own_rule: OwnSizes::Rest(rest),
    own_sizes: &[
        ("hidden_size_global", 2048),
        ("cross_attn_all_layers", 1),
        ("cross_attn_k", 2),
        ("encoder_hash_byte_group_vocab", 500_002),
        ("encoder_hash_byte_group_nb_functions", 1),
        ("patch_in_forward", 1),
    ],
    own_groups: &[
        ("encoder_hash_byte_group_size", &[("", 6)]),
        ("encoder_config", &ENCODER),
        ("global_config", &transformer([2048, 5632, 25, 16])),
        ("patcher_config", &PATCHER),
    ],
    // A tied head takes the place of the encoder's embedding, even where that is of another width.
    only: &[Only::else_refused(
        "tie_word_embeddings",
        &["false"],
        "a head that is the embedding of its encoder",
    )],
    not_looked_at: &[
        "local_attention_window_len",
        "patch_size",
        "patching_batch_size",
        "sliding_window",
    ],
    sizes: Sizes::of([1024, 2816], 9, 16, 260, 24_576),
    ..FamilySpec::PLAIN
};
