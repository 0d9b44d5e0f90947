//! `davit`, as Florence-2's files on the hub write it (code of their own,
//! `microsoft/Florence-2-base`): the same tower under other keys.

use crate::models::tower_prelude::*;

/// `davit`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["davit"],
    groups: &[TowerGroup { path: "vision_config.image_pos_embed", prefix: VISION, kinds: &[] }],
    only: &[
        TowerOnly { key: "vision_config.depths", is: Known::Numbers(&[1, 1, 9, 1]) },
        TowerOnly { key: "vision_config.patch_size", is: Known::Numbers(&[7, 3, 3, 3]) },
        TowerOnly { key: "vision_config.patch_prenorm", is: Known::Numbers(&[0, 1, 1, 1]) },
    ],
    keys: &[
        TowerKey {
            size: Own1,
            key: "vision_config.dim_embed",
            default: TowerDefault::Doubling(256),
        },
        stated(Channels, "vision_config.in_channels", 3),
        stated(Out, "vision_config.projection_dim", 1024),
        stated(Positions, "vision_config.max_pos_embeddings", 50),
    ],
    not_looked_at: &[
        "num_groups",
        "num_heads",
        "patch_padding",
        "patch_stride",
        "window_size",
        "drop_path_rate",
        "image_pos_embed",
        "visual_temporal_embedding",
        "image_feature_source",
        "type",
    ],
    ..super::florence_vision::TOWER
};
