//! `luke` (transformers 5.23, `models/luke`): RoBERTa that reads entities beside words.

use crate::models::prelude::*;

/// `luke`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["luke"],
    class: "Luke",
    labels: &[("luke", "LUKE")],
    modules: &Modules {
        model_type: "luke",
        choice: FamilyChoice { rank: 83, word: "luke", label: "LUKE" },
        registers_head_bias_twice: false,
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            pools: true,
            never_ties: true,
            further: &[
                Further::of_model("entity embedding", [Extent::Own(0), Extent::Own(1)]),
                Further::of_model("dense weight of entities", [Extent::Hidden, Extent::Own(1)]),
                Further::of_model(
                    "position embedding of entities",
                    [Extent::Positions, Extent::Hidden],
                ),
                Further::of_model(
                    "token type embedding of entities",
                    [Extent::Types, Extent::Hidden],
                ),
                Further::of_model("norm of entities", [Extent::Of(2), Extent::Hidden]),
                Further::in_blocks(
                    "query weight from words to entities",
                    [Extent::Hidden, Extent::Hidden],
                ),
                Further::vector_in_blocks("query bias from words to entities", Extent::Hidden),
                Further::in_blocks(
                    "query weight from entities to words",
                    [Extent::Hidden, Extent::Hidden],
                ),
                Further::vector_in_blocks("query bias from entities to words", Extent::Hidden),
                Further::in_blocks(
                    "query weight from entities to entities",
                    [Extent::Hidden, Extent::Hidden],
                ),
                Further::vector_in_blocks("query bias from entities to entities", Extent::Hidden),
                Further::vector_of_model("head bias of entities", Extent::Own(0)),
                Further::of_model(
                    "dense weight before the head of entities",
                    [Extent::Own(1), Extent::Hidden],
                ),
                Further::vector_of_model("dense bias before the head of entities", Extent::Own(1)),
                Further::of_model(
                    "norm before the head of entities",
                    [Extent::Of(2), Extent::Own(1)],
                ),
            ],
            ..EncoderModules::PLAIN
        },
        ..*super::roberta::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_267, 512),
    own_sizes: &[("entity_vocab_size", 500_000), ("entity_emb_size", 256)],
    only: &[
        Only::else_refused(
            "use_entity_aware_attention",
            &["true"],
            "attention that does not tell entities from words",
        ),
        Only::else_refused("tie_word_embeddings", &["true"], "a head of its own for entities"),
    ],
    ..super::roberta::FAMILY
};
