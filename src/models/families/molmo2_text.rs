//! `molmo2_text`, the text part of Molmo 2 (transformers 5.23): Qwen3's block with an embedding
//! that has rows behind the vocabulary, which belong to its projector.

use crate::models::prelude::*;

/// `molmo2_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["molmo2_text"],
    class: "Molmo2Text",
    labels: &[("molmo2", "Molmo 2")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([4096, 12_288], 36, 32, 151_936, 36_864).kv(8).head(128),
    ties: Ties::Never,
    only: &[
        Only::else_refused("qk_norm_type", &["qwen3"], "norms of queries and keys of another kind"),
        Only::else_refused("norm_after", &["false"], "norms behind attention and feed-forward"),
    ],
    not_looked_at: &["rope_scaling_layers", "additional_vocab_size"],
    ..super::qwen3::FAMILY
};
