//! `granite` (transformers 5.23, `models/granite`): llama's block with factors on embedding, residuals and logits.

use crate::models::prelude::*;

/// `granite`.
pub const FAMILY: FamilySpec =
    FamilySpec { names: &["granite"], class: "Granite", family: Family::Granite, ..super::llama::FAMILY };
