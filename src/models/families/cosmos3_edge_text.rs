//! `cosmos3_edge_text`, the text part of Cosmos 3 Edge (transformers 5.23): llama's block with a
//! plain feed-forward layer, and rotary tables of each sequence's own.

use crate::models::prelude::*;

/// `cosmos3_edge_text`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cosmos3_edge_text"],
    class: "Cosmos3EdgeText",
    labels: &[("cosmos3_edge", "Cosmos 3 Edge")],
    modules: &Modules {
        model_type: "cosmos3_edge_text",
        choice: FamilyChoice { rank: 2102, word: "cosmos3edge", label: "Cosmos 3 Edge" },
        hands_on_positions: false,
        rotary_tables: RotaryTables::OfGrids,
        shape: Some(ShapeRule { mlp: MlpKind::Plain, ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2048, 9216], 28, 16, 131_072, 131_072).kv(8).head(128),
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    ..super::llama::FAMILY
};
