//! `data2vec-text` (transformers 5.23, `models/data2vec_text`): RoBERTa's modules with defaults of
//! its own.

use crate::models::prelude::*;

/// `data2vec-text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["data2vec-text"],
    class: "Data2VecText",
    labels: &[("data2vec-text", "data2vec-text")],
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    ..super::roberta::FAMILY
};
