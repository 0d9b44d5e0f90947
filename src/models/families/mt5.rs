//! `mt5` (transformers 5.23, `models/mt5`): T5 with a gated feed-forward layer and many words.

use crate::models::prelude::*;

/// `mt5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mt5"],
    class: "MT5",
    labels: &[("mt5", "mT5")],
    modules: &Modules {
        model_type: "mt5",
        choice: FamilyChoice { rank: 161, word: "mt5", label: "mT5" },
        scales_output: false,
        ..*super::t5::FAMILY.modules
    },
    sizes: Sizes::of([512, 1024], 8, 6, 250_112, 512).head(64),
    source: Some(SourceKeys {
        deep: true,
        always_tied: true,
        feed_forward: "gated-gelu",
        ..SourceKeys::of(("num_layers", 8))
    }),
    ..super::t5::FAMILY
};
