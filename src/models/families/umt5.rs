//! `umt5` (transformers 5.23, `models/umt5`): mT5 with a table of distances in every block.

use crate::models::prelude::*;

/// T5's choices, with a table in every block.
const BLOCKS: Modules = Modules {
    encoder: EncoderModules {
        trains: false,
        embedding: EmbeddedParts::Tokens,
        further: &[Further::in_blocks("embedding of distances", [Extent::Own(0), Extent::Heads])],
        ..super::t5::FAMILY.modules.encoder
    },
    source: None,
    ..*super::t5::FAMILY.modules
};

/// `umt5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["umt5"],
    class: "UMT5",
    labels: &[("umt5", "UMT5")],
    modules: &Modules {
        model_type: "umt5",
        choice: FamilyChoice { rank: 162, word: "umt5", label: "UMT5" },
        source: Some(&BLOCKS),
        encoder: BLOCKS.encoder,
        ..*super::t5::FAMILY.modules
    },
    sizes: Sizes::of([512, 1024], 8, 6, 250_112, 512).head(64),
    source: Some(SourceKeys {
        deep: true,
        always_tied: true,
        feed_forward: "gated-gelu",
        ..SourceKeys::of(("num_layers", 8))
    }),
    ..super::t5::FAMILY
};
