//! `pegasus` (transformers 5.23, `models/pegasus`): Blenderbot's order of norms, with tables of
//! sines for positions.

use crate::models::prelude::*;

/// `pegasus`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["pegasus"],
    class: "Pegasus",
    labels: &[("pegasus", "PEGASUS")],
    modules: &Modules {
        model_type: "pegasus",
        choice: FamilyChoice { rank: 145, word: "pegasus", label: "PEGASUS" },
        freezes_positions: true,
        source: Some(&Modules {
            position_ids: PositionIds::Counted,
            freezes_positions: true,
            ..super::bart::SOURCE
        }),
        ..*super::blenderbot::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 12, 16, 50_265, 1024),
    source: Some(SourceKeys::encoder(12, 16, 4096).or_absent()),
    ..super::blenderbot::FAMILY
};
