//! `longformer` (transformers 5.23, `models/longformer`): RoBERTa with attention in a window, and
//! projections of their own for tokens that see all.

use crate::models::prelude::*;

/// `longformer`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["longformer"],
    class: "Longformer",
    labels: &[("longformer", "Longformer")],
    modules: &Modules {
        model_type: "longformer",
        choice: FamilyChoice { rank: 81, word: "longformer", label: "Longformer" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[
                Further::in_blocks(
                    "query weight of global tokens",
                    [Extent::Hidden, Extent::Hidden],
                ),
                Further::vector_in_blocks("query bias of global tokens", Extent::Hidden),
                Further::in_blocks("key weight of global tokens", [Extent::Hidden, Extent::Hidden]),
                Further::vector_in_blocks("key bias of global tokens", Extent::Hidden),
                Further::in_blocks(
                    "value weight of global tokens",
                    [Extent::Hidden, Extent::Hidden],
                ),
                Further::vector_in_blocks("value bias of global tokens", Extent::Hidden),
            ],
            ..EncoderModules::PLAIN
        },
        ..*super::roberta::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    not_looked_at: &["attention_window"],
    ..super::roberta::FAMILY
};
