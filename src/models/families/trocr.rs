//! `trocr` (transformers 5.23, `models/trocr`): BART's decoder without an encoder of its own,
//! beside which a tower of images stands.

use crate::models::prelude::*;

/// `trocr`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["trocr"],
    class: "TrOCR",
    labels: &[("trocr", "TrOCR")],
    modules: &Modules {
        model_type: "trocr",
        choice: FamilyChoice { rank: 176, word: "trocr", label: "TrOCR" },
        position_ids: PositionIds::FromTokens,
        scales_queries: true,
        source: None,
        encoder: EncoderModules { writes_attention: true, ..super::bart::FAMILY.modules.encoder },
        ..*super::bart::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 12, 16, 50_265, 512),
    source: Some(SourceKeys {
        absent: Absent::Always,
        hidden: Some(("cross_attention_hidden_size", 0)),
        ..SourceKeys::of(("encoder_layers", 1))
    }),
    only: &[
        Only::else_refused(
            "use_learned_position_embeddings",
            &["true"],
            "positions that are not learned",
        ),
        Only::else_refused("layernorm_embedding", &["true"], "no norm behind its embedding"),
    ],
    not_looked_at: &["decoder_layerdrop"],
    ..super::bart::FAMILY
};
