//! `ernie` (transformers 5.23, `models/ernie`): BERT's modules with defaults of its own.

use crate::models::prelude::*;

/// `ernie`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ernie"],
    class: "Ernie",
    labels: &[("ernie", "ERNIE")],
    // Without `use_task_id` there is no table of tasks.
    not_looked_at: &["task_type_vocab_size"],
    ..super::bert::FAMILY
};
