//! `ernie` (transformers 5.23, `models/ernie`): BERT's modules with defaults of its own.

use crate::models::prelude::*;

/// `ernie`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ernie"],
    class: "Ernie",
    labels: &[("ernie", "ERNIE")],
    // With `use_task_id` a table of tasks stands beside that of token types.
    only: &[Only {
        key: "use_task_id",
        values: &["false"],
        otherwise: Otherwise::NotCounted,
        unless: None,
    }],
    not_looked_at: &["task_type_vocab_size"],
    ..super::bert::FAMILY
};
