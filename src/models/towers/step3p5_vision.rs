//! The vision part of `step3p7` (transformers 5.23): rotated patches with learned positions, blocks
//! whose halves are scaled by learned vectors, and two convolutions that halve both sides.

use super::inkling2_vision::SCALES;
use crate::models::tower_prelude::*;

const TWICE: TowerSize = Own1;
const NINE: TowerSize = Own2;
const NINE_TWICE: TowerSize = Own3;

/// `step3p5_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["step3p5_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1536),
        stated(Inner, "vision_config.intermediate_size", 8960),
        stated(Layers, "vision_config.num_hidden_layers", 47),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 728),
        stated(Side, "vision_config.patch_size", 14),
    ],
    // The inner width and the side of an image count.
    not_looked_at: &["mlp_ratio", "layer_scale_init_value", "max_position_embeddings"],
    follow,
    modules: &TowerModules {
        model_type: "step3p5_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("patch embedding", Patch, Hidden),
                    Table("position embedding", Patches, Hidden),
                    LayerNorm(Hidden),
                ],
            },
            BLOCKS,
            SCALES,
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", NINE, TWICE),
                    Linear("second convolution", NINE_TWICE, Out),
                ],
            },
        ],
        buffers: &[TowerBuffer::PositionIds(Patches), TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// Every convolution doubles the width.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    product(sizes, TWICE, Hidden, 2);
    product(sizes, Out, Hidden, 4);
    product(sizes, NINE, Hidden, 9);
    product(sizes, NINE_TWICE, Hidden, 18);
}
