//! `git` (transformers 5.23): a decoder of BERT's block behind the patches of an image, with a head
//! of its own.

use crate::models::prelude::*;

/// `git`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["git"],
    class: "Git",
    labels: &[("git", "GIT")],
    key_value_heads: KeyValueHeads::AsQueryHeads,
    sizes: Sizes::of([768, 3072], 6, 12, 30_522, 1024),
    positions: LEARNED,
    embedding_norm: true,
    final_norm: false,
    head_bias: Flag::Is(true),
    // Frames of a video have an embedding each.
    only: &[Only::else_refused("num_image_with_embedding", &[], "embedded frames of a video")],
    ..FamilySpec::CLASSIC
};
