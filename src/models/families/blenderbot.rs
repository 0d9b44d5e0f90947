//! `blenderbot` (transformers 5.23, `models/blenderbot`): norms before each part and behind each
//! stack, none behind the embedding.

use crate::models::prelude::*;

/// `blenderbot`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["blenderbot"],
    class: "Blenderbot",
    labels: &[("blenderbot", "Blenderbot")],
    modules: &Modules {
        model_type: "blenderbot",
        choice: FamilyChoice { rank: 144, word: "blenderbot", label: "Blenderbot" },
        source: Some(&Modules { position_ids: PositionIds::Counted, ..super::bart::SOURCE }),
        ..*super::bart::FAMILY.modules
    },
    positions: LEARNED,
    embedding_norm: false,
    final_norm: true,
    sizes: Sizes::of([2560, 10240], 24, 32, 8_008, 128),
    source: Some(SourceKeys::encoder(2, 32, 10_240).or_absent()),
    ..super::bart::FAMILY
};
