//! `siglip` (transformers 5.23): how sharply texts and images are compared, and from where on they
//! match.

use crate::models::tower_prelude::*;

/// `siglip`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["siglip"],
    tower: "siglip_vision_model",
    text_class: "SiglipTextModel",
    modules: &TowerModules {
        model_type: "siglip",
        parts: &[TowerPart { times: One, layers: &[Vector("scale", One), Vector("shift", One)] }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
