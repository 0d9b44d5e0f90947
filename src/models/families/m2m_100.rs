//! `m2m_100` (transformers 5.23, `models/m2m_100`): norms before each part and behind each stack;
//! positions are computed.

use crate::models::prelude::*;

/// `m2m_100`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["m2m_100"],
    class: "M2M100",
    labels: &[("m2m_100", "M2M-100")],
    modules: &Modules {
        model_type: "m2m_100",
        choice: FamilyChoice { rank: 147, word: "m2m100", label: "M2M-100" },
        adds_buffer_to_logits: false,
        keeps_sines: true,
        source: Some(&Modules {
            keeps_sines: true,
            position_ids: PositionIds::Untold,
            ..super::bart::SOURCE
        }),
        ..*super::bart::FAMILY.modules
    },
    positions: Positions::Are(PositionEmbedding::None),
    embedding_norm: false,
    final_norm: true,
    act: HiddenAct::Relu,
    sizes: Sizes::of([1024, 4096], 12, 16, 128_112, 1024),
    source: Some(SourceKeys::encoder(12, 16, 4096)),
    ..super::bart::FAMILY
};
