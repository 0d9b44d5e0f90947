//! The vision part of `cosmos3_edge` (transformers 5.23): `SigLIP` 2 without a head.

use super::siglip_vision_model::BEHIND;
use crate::models::tower_prelude::*;

/// `cosmos3_edge_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["cosmos3_edge_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Layers, "vision_config.num_hidden_layers", 27),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        stated(Positions, "vision_config.num_patches", 256),
        stated(Merge, "vision_config.spatial_merge_size", 2),
    ],
    not_looked_at: &["num_attention_heads"],
    follow: patches,
    modules: &TowerModules {
        model_type: "cosmos3_edge_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("patch embedding", Patch, Hidden),
                    Table("position embedding", Positions, Hidden),
                ],
            },
            BLOCKS,
            BEHIND,
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
