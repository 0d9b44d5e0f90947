//! The vision part of `minicpmv4_6` and its relatives (transformers 5.23): `SigLIP` without a head,
//! and inside it a layer that merges the patches of a window.

use super::siglip_vision_model::{BEHIND, PATCHES};
use crate::models::tower_prelude::*;

const WINDOW: TowerSize = Own1;
const JOINED: TowerSize = Own2;
const JOINED_INNER: TowerSize = Own3;

/// `minicpmv4_6_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["minicpmv4_6_vision", "minicpmv4_7_vision", "minicpm_ocr_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 16),
        stated(WINDOW, "vision_config.window_kernel_size", 2),
    ],
    not_looked_at: &["num_attention_heads", "insert_layer_id"],
    follow,
    modules: &TowerModules {
        model_type: "minicpmv4_6_vision",
        parts: &[
            PATCHES,
            BLOCKS,
            BEHIND,
            TowerPart {
                times: One,
                layers: &[
                    Linear("key of windows", Hidden, Hidden),
                    Linear("value of windows", Hidden, Hidden),
                    Linear("query of windows", Hidden, Hidden),
                    Linear("output of windows", Hidden, Hidden),
                    LayerNorm(Hidden),
                    LayerNorm(JOINED),
                    Linear("up of windows", JOINED, JOINED_INNER),
                    Linear("down of windows", JOINED_INNER, Hidden),
                ],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    let window = sizes.get(WINDOW).saturating_mul(sizes.get(WINDOW));
    product(sizes, JOINED, Hidden, window);
    product(sizes, JOINED_INNER, Inner, window);
}
