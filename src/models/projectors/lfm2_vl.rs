//! `lfm2_vl` (transformers 5.23): shuffled patches, normed unless the file says otherwise, through
//! two matrices.

use super::internvl::merged;
use crate::models::tower_prelude::*;

/// `lfm2_vl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["lfm2_vl"],
    tower: "siglip2_vision_model",
    keys: &[
        stated(Merge, "downsample_factor", 2),
        stated(Wide, "projector_hidden_size", 2560),
        flag(Biased, "projector_bias", true),
        flag(Normed, "projector_use_layernorm", true),
    ],
    follow: merged,
    modules: &TowerModules {
        model_type: "lfm2_vl",
        parts: &[
            TowerPart { times: Normed, layers: &[LayerNorm(Merged)] },
            TowerPart {
                times: One,
                layers: &[
                    Matrix("projection", Merged, Wide),
                    Matrix("second projection", Wide, Text),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[Vector("projection bias", Wide), Vector("second projection bias", Text)],
            },
        ],
        buffers: &[],
    },
    ties: &[("lfm2_vl", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};
