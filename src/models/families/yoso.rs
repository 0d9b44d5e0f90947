//! `yoso` (transformers 5.23, `models/yoso`): BERT with attention by hashes.

use crate::models::prelude::*;

/// `yoso`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["yoso"],
    class: "Yoso",
    labels: &[("yoso", "YOSO")],
    modules: &Modules {
        model_type: "yoso",
        choice: FamilyChoice { rank: 79, word: "yoso", label: "YOSO" },
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[Further::in_blocks("convolution weight", [Extent::Heads, Extent::Own(0)])],
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 50_265, 4096),
    positions: Positions::LearnedPlus(2),
    encoder: Some(Encoder { type_vocab_size: 1, ..Encoder::BERT }),
    own_sizes: &[("conv_window", 0)],
    ..super::bert::FAMILY
};
