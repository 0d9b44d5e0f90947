//! The vision part of `minimax_m3_vl` (transformers 5.23): rotated patches of several frames, a
//! norm and blocks.

use crate::models::tower_prelude::*;

/// `minimax_m3_vl_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["minimax_m3_vl_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1280),
        stated(Inner, "vision_config.intermediate_size", 5120),
        stated(Layers, "vision_config.num_hidden_layers", 32),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
    ],
    not_looked_at: &["image_size"],
    follow,
    modules: &TowerModules {
        model_type: "minimax_m3_vl_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[Matrix("patch embedding", Patch, Hidden), LayerNorm(Hidden)],
            },
            BLOCKS,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// A head is turned along height, width and time.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 6);
}
