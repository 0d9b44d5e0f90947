//! `tapas` (transformers 5.23, `models/tapas`): BERT with seven tables of token types, for places
//! in a table.

use crate::models::prelude::*;

/// `tapas`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["tapas"],
    class: "Tapas",
    labels: &[("tapas", "TAPAS")],
    modules: &Modules {
        model_type: "tapas",
        choice: FamilyChoice { rank: 84, word: "tapas", label: "TAPAS" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[Further::of_model(
                "token type embeddings",
                [Extent::Own(0), Extent::Hidden],
            )],
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    own_rule: OwnSizes::TableTypes,
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 1024),
    encoder: Some(Encoder::UNTYPED),
    not_looked_at: &[
        "num_aggregation_labels",
        "max_num_rows",
        "max_num_columns",
        "average_logits_per_cell",
        "aggregation_labels",
    ],
    ..super::bert::FAMILY
};
