//! `kosmos-2.5` (transformers 5.23): that of `kosmos-2` with more queries.

use crate::models::tower_prelude::*;

/// `kosmos-2.5`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["kosmos-2.5"],
    tower: "kosmos_2_5_vision_model",
    keys: &[stated(Queries, "latent_query_num", 2048)],
    follow: |sizes| sizes.set(Own2, sizes.get(TextPositions).saturating_add(2)),
    modules: &TowerModules {
        model_type: "kosmos-2.5",
        parts: super::kosmos_2::PROJECTOR.modules.parts,
        buffers: &[TowerBuffer::Table(Own2, Text)],
    },
    ..TowerSpec::PLAIN
};
