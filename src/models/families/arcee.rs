//! `arcee` (transformers 5.23, `models/arcee`): llama with a plain feed-forward layer of squared
//! ReLU.

use crate::models::prelude::*;

/// `arcee`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["arcee"],
    class: "Arcee",
    modules: &Modules {
        model_type: "arcee",
        choice: FamilyChoice { rank: 47, word: "arcee", label: "Arcee" },
        shape: Some(ShapeRule { mlp: MlpKind::Plain, ..ShapeRule::PLAIN }),
        ..Modules::PLAIN
    },
    sizes: Sizes::of([2560, 18_432], 32, 32, 32_000, 4096),
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    ..super::llama::FAMILY
};
