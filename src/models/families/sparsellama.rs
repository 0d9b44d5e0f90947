//! `sparsellama` (code of its own on the hub, `SparseLLM/prosparse-llama-2-7b`): llama with another
//! activation.

use crate::models::prelude::*;

/// `sparsellama`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["sparsellama"],
    class: "SparseLlama",
    labels: &[("sparsellama", "SparseLlama")],
    ..super::llama::FAMILY
};
