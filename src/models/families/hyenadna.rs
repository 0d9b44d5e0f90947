//! `hyenadna` (code of its own on the hub, `LongSafari/hyenadna-small-32k-seqlen-hf`): long
//! convolutions, whose filters a small network makes of positions, in place of attention. Its
//! parameters are counted alone.

use crate::models::prelude::*;

/// Projections, short convolutions, filters with the positions that they read, and the rows that
/// fill the vocabulary up.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let of = |key: &str, otherwise: u64| said("", key).unwrap_or(otherwise);
    let order = of("hyena_order", 2);
    let wide = h * (order + 1);
    let projections = wide * (h + 1) + h * (h + 1) + wide * (of("short_filter_order", 3) + 1);
    let (bands, width) = (of("emb_dim", 3), of("filter_order", 64));
    let network = bands * width + width + of("num_inner_mlps", 2) * width * (width + 1) + width * h;
    let filter = h * order.saturating_sub(1)
        + of("max_seq_len", 1024) * bands
        + network
        + of("train_freq", 1) * width;
    let rows = model.vocab_size.next_multiple_of(of("pad_vocab_size_multiple", 8).max(1))
        - model.vocab_size;
    model.num_hidden_layers * (projections + filter)
        + rows * h * (2 - u64::from(model.tie_word_embeddings))
}

/// `hyenadna`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hyenadna"],
    class: "HyenaDNA",
    labels: &[("hyenadna", "HyenaDNA")],
    own_names: &[
        ("hidden_size", &["hidden_size", "d_model"]),
        ("num_hidden_layers", &["num_hidden_layers", "n_layer"]),
    ],
    own_rule: OwnSizes::RestOfFile(rest),
    inner: InnerWidth::Stated(&["intermediate_size", "d_inner"]),
    sizes: Sizes::of([256, 0], 12, 1, 12, 1024),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::Gelu,
    positions: Positions::Are(PositionEmbedding::None),
    mlp_bias: Flag::Is(true),
    not_looked_at: &["activation_freq", "pad_vocab_size_multiple"],
    ..super::counted::FAMILY
};
