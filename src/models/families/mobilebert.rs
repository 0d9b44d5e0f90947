//! `mobilebert` (transformers 5.23, `models/mobilebert`): narrow blocks between wide states, and an
//! embedding of three tokens each. Its parameters are counted alone.

use crate::models::prelude::*;

/// Blocks with several feed-forward layers each, and ends with the wide states' norms and tables.
/// The head's columns are those of the embedding and further ones: as many as the wide states have,
/// together.
fn rest(model: &Counted, [width, narrow, feeds, types, ..]: &Own, _: Said<'_>) -> u64 {
    let (h, inner) = (model.hidden_size, model.intermediate_size);
    let linear = |from: u64, to: u64| from * to + to;
    let norm = |width: u64| 2 * width;
    // Heads share out the narrow width, rounded down.
    let heads = model.num_attention_heads * (narrow / model.num_attention_heads.max(1));
    let attention =
        2 * linear(*narrow, heads) + linear(h, heads) + linear(*narrow, *narrow) + norm(*narrow);
    let feed_forward = linear(*narrow, inner) + linear(inner, *narrow) + norm(*narrow);
    let around = linear(*narrow, h) + norm(h) + 2 * (linear(h, *narrow) + norm(*narrow));
    let first = linear(3 * width, h) + model.max_position_embeddings * h + types * h + norm(h);
    let last = linear(h, h) + norm(h);
    model.num_hidden_layers * (attention + feeds * feed_forward + around) + first + last
}

const BOTTLENECK: &str = "blocks without a narrow part for queries and keys";

/// `mobilebert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mobilebert"],
    class: "MobileBert",
    labels: &[("mobilebert", "MobileBERT")],
    modules: &Modules {
        model_type: "mobilebert",
        choice: FamilyChoice { rank: 99, word: "mobilebert", label: "MobileBERT" },
        encoder: EncoderModules { counts_feed_forward: true, ..EncoderModules::COUNTED },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder { is_decoder: false, ..Encoder::DECODER }),
    own_rule: OwnSizes::Rest(rest),
    norms: Norms::Are(0),
    own_sizes: &[
        ("embedding_size", 128),
        ("intra_bottleneck_size", 128),
        ("num_feedforward_networks", 4),
        ("type_vocab_size", 2),
    ],
    only: &[
        Only::else_refused("use_bottleneck", &["true"], BOTTLENECK),
        Only::else_refused("key_query_shared_bottleneck", &["true"], BOTTLENECK),
        Only::else_refused("use_bottleneck_attention", &["false"], BOTTLENECK),
        Only::else_refused(
            "tie_word_embeddings",
            &["true"],
            "a head that shares no columns with its embedding",
        ),
        Only::else_refused("trigram_input", &["true"], "an embedding of one token each"),
    ],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    not_looked_at: &["normalization_type", "true_hidden_size"],
    sizes: Sizes::of([512, 512], 24, 4, 30_522, 512),
    positions: Positions::Are(PositionEmbedding::None),
    final_norm: false,
    head_bias: Flag::Is(true),
    tied: true,
    ..FamilySpec::CLASSIC
};
