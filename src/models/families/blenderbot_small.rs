//! `blenderbot-small` (transformers 5.23, `models/blenderbot_small`): BART without spare rows of
//! positions.

use crate::models::prelude::*;

/// `blenderbot-small`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["blenderbot-small", "blenderbot_small"],
    class: "BlenderbotSmall",
    labels: &[("blenderbot-small", "BlenderbotSmall")],
    modules: &Modules {
        model_type: "blenderbot-small",
        choice: FamilyChoice { rank: 143, word: "blenderbotsmall", label: "BlenderbotSmall" },
        source: Some(&Modules { position_ids: PositionIds::Counted, ..super::bart::SOURCE }),
        ..*super::bart::FAMILY.modules
    },
    sizes: Sizes::of([512, 2048], 8, 16, 50_265, 512),
    positions: LEARNED,
    source: Some(SourceKeys::encoder(8, 16, 2048).or_absent()),
    ..super::bart::FAMILY
};
