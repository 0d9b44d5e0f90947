//! `bloom` (transformers 5.23, `models/bloom`): linear biases on the scores, a norm behind the embedding.

use crate::models::prelude::*;

/// `bloom`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bloom"],
    class: "Bloom",
    labels: &[("bloom", "BLOOM")],
    inner: InnerWidth::FourTimes,
    key_value_heads: KeyValueHeads::AsQueryHeads,
    older_names: true,
    family: Family::Bloom,
    sizes: Sizes::of([64, 0], 2, 8, 250_880, 2048),
    positions: Positions::Are(PositionEmbedding::Alibi),
    tied: true,
    embedding_norm: true,
    ..FamilySpec::CLASSIC
};
