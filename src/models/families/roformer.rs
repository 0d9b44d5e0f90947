//! `roformer` (transformers 5.23, `models/roformer`): BERT with heads that a fixed table rotates.

use crate::models::prelude::*;

/// `roformer`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["roformer"],
    class: "RoFormer",
    labels: &[("roformer", "RoFormer")],
    modules: &Modules {
        model_type: "roformer",
        choice: FamilyChoice { rank: 87, word: "roformer", label: "RoFormer" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            head_width: HeadWidth::OfEmbedding,
            further: &[Further::of_model("table of rotations", [Extent::Positions, Extent::Head])],
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_000, 1536),
    positions: Positions::Are(PositionEmbedding::Rotary),
    embedding_size: Some(("embedding_size", 0)),
    keeps: Some(keeps_heads),
    ..super::bert::FAMILY
};
