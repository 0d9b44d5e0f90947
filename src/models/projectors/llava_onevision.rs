//! `llava_onevision` (transformers 5.23): that of `llava_next`, over `SigLIP`.

use crate::models::tower_prelude::*;

/// `llava_onevision`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["llava_onevision"],
    tower: "siglip_vision_model",
    modules: &TowerModules { model_type: "llava_onevision", ..*super::llava_next::PROJECTOR.modules },
    ..super::llava::PROJECTOR
};
