//! `clip` (transformers 5.23): a matrix for images and one for texts into the space in which both
//! are compared, and how sharply.

use crate::models::tower_prelude::*;

/// `clip`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["clip"],
    tower: "clip_vision_model",
    text_class: "CLIPTextModel",
    keys: &[stated(Out, "projection_dim", 512)],
    modules: &TowerModules {
        model_type: "clip",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("projection of images", Hidden, Out),
                Matrix("projection of texts", Text, Out),
                Vector("scale", One),
            ],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
