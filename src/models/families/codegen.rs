//! `codegen` (transformers 5.23, `models/codegen`): GPT-J with one projection for queries, keys and
//! values.

use crate::models::prelude::*;

/// `codegen`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["codegen"],
    class: "CodeGen",
    labels: &[("codegen", "CodeGen")],
    ..super::gptj::FAMILY
};
