//! `fuyu` (transformers 5.23) has no tower: patches go through one matrix into the text.

use crate::models::tower_prelude::*;

/// `fuyu`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["fuyu"],
    groups: &[TowerGroup { path: "", prefix: VISION, kinds: &[] }],
    keys: &[
        stated(Side, "vision_config.patch_size", 30),
        stated(Channels, "vision_config.num_channels", 3),
    ],
    follow: patches,
    modules: &TowerModules {
        model_type: "fuyu",
        parts: &[TowerPart { times: One, layers: &[Linear("patch embedding", Patch, Text)] }],
        buffers: &[],
    },
    ties: &[("fuyu", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};
