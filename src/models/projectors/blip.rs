//! `blip` (transformers 5.23): in every block of the text a layer that attends to the patches.

use crate::models::tower_prelude::*;

/// Width of the patches.
const PATCHES: TowerSize = Own1;

/// `blip`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["blip"],
    tower: "blip_vision_model",
    keys: &[stated(PATCHES, "encoder_hidden_size", 768)],
    modules: &TowerModules {
        model_type: "blip",
        parts: &[TowerPart {
            times: TextLayers,
            layers: &[
                Linear("query", Text, TextQueries),
                Linear("key of patches", PATCHES, TextQueries),
                Linear("value of patches", PATCHES, TextQueries),
                Linear("output", TextQueries, Text),
                LayerNorm(Text),
            ],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
