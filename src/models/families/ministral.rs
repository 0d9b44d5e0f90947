//! `ministral` (transformers 5.23, `models/ministral`): Mistral with a window in the layers that
//! its file lists.

use crate::models::prelude::*;

/// `ministral`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ministral"],
    class: "Ministral",
    window: Window::Listed(4096),
    ..super::mistral::FAMILY
};
