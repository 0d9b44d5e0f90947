//! `layoutlm` (transformers 5.23, `models/layoutlm`): BERT that reads where every token stands in
//! its page.

use crate::models::prelude::*;

/// `layoutlm`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["layoutlm"],
    class: "LayoutLM",
    labels: &[("layoutlm", "LayoutLM")],
    modules: &Modules {
        model_type: "layoutlm",
        choice: FamilyChoice { rank: 75, word: "layoutlm", label: "LayoutLM" },
        softmax_in_fp32: true,
        encoder: EncoderModules {
            embedding: EmbeddedParts::InPage,
            buffers: PositionBuffers::OfPositions,
            makes_types: true,
            mask: TokenMask::Added,
            pools: true,
            ..EncoderModules::PLAIN
        },
        ..*super::bert::FAMILY.modules
    },
    own_sizes: &[("max_2d_position_embeddings", 1024)],
    ..super::bert::FAMILY
};
