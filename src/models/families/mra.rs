//! `mra` (transformers 5.23, `models/mra`): BERT with attention in several resolutions.

use crate::models::prelude::*;

/// `mra`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mra"],
    class: "Mra",
    labels: &[("mra", "MRA")],
    modules: &Modules {
        model_type: "mra",
        choice: FamilyChoice { rank: 80, word: "mra", label: "MRA" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules { trains: false, ..EncoderModules::PLAIN },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_265, 512),
    positions: Positions::LearnedPlus(2),
    encoder: Some(Encoder { type_vocab_size: 1, ..Encoder::BERT }),
    ..super::bert::FAMILY
};
