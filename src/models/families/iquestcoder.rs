//! `iquestcoder` (transformers 5.23, `models/iquestcoder`): llama's modules with defaults of its
//! own.

use crate::models::prelude::*;

/// `iquestcoder`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["iquestcoder"],
    class: "IQuestCoder",
    saved_with: &["Llama"],
    labels: &[("iquestcoder", "IQuest-Coder")],
    sizes: Sizes::of([5120, 27_648], 80, 40, 76_800, 131_072).kv(8).head(128),
    ..super::llama::FAMILY
};
