//! `nemotron_h_omni` (transformers 5.23): shuffled patches, normed, through two matrices.

use super::internvl::merged;
use crate::models::tower_prelude::*;

/// `nemotron_h_omni`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["nemotron_h_omni"],
    tower: "radio",
    keys: &[
        TowerKey { size: Merge, key: "downsample_ratio", default: TowerDefault::OneOver(2) },
        stated(Wide, "projector_hidden_size", 4096),
    ],
    follow: merged,
    modules: &TowerModules {
        model_type: "nemotron_h_omni",
        parts: &[TowerPart {
            times: One,
            layers: &[
                RmsNorm(Merged),
                Matrix("projection", Merged, Wide),
                Matrix("second projection", Wide, Text),
            ],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
