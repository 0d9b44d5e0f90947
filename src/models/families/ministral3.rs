//! `ministral3` (transformers 5.23, `models/ministral3`): Mistral in other sizes, with a window
//! where its file lists layers.

use crate::models::prelude::*;

/// `ministral3`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["ministral3"],
    class: "Ministral3",
    sizes: Sizes::of([4096, 14_336], 34, 32, 131_072, 262_144).kv(8).head(128),
    window: Window::Listed(0),
    ..super::mistral::FAMILY
};
