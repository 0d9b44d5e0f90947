//! `ovis2` (transformers 5.23): a table of embedded images.

use crate::models::tower_prelude::*;

/// Rows of the table, which the tower's head picks.
const ROWS: TowerSize = Own2;

const WORDS: TowerSize = Own6;

/// `ovis2`. The width of the table stands outside the text part.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["ovis2"],
    tower: "ovis2_vision",
    groups: &[TowerGroup { path: "", prefix: FURTHER, kinds: &[] }],
    keys: &[
        stated(Out, "further_config.hidden_size", 1536),
        stated(WORDS, "further_config.vocab_size", 151_643),
    ],
    head: Some([Out, WORDS]),
    modules: &TowerModules {
        model_type: "ovis2",
        parts: &[TowerPart { times: One, layers: &[Table("embedding of images", ROWS, Out)] }],
        buffers: &[],
    },
    ties: &[("ovis2", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
