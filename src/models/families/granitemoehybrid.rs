//! `granitemoehybrid` (transformers 5.23, `models/granitemoehybrid`), Granite 4: Bamba's layers with experts and a shared one.
//! It is served here, not trained.

use crate::models::prelude::*;

/// `granitemoehybrid`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["granitemoehybrid"],
    class: "GraniteMoeHybrid",
    labels: &[("granitemoehybrid", "Granite 4")],
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048).kv(32),
    mlp_bias: Flag::Is(false),
    experts: Some(Experts { shared_width: 1024, ..Experts::of(8, 2) }),
    ..super::bamba::FAMILY
};
