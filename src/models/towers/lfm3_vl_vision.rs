//! The vision part of `lfm3_vl` (transformers 5.23): layers of convolution over neighbouring
//! patches and layers of attention, RMS norms, and gated feed-forward layers.

use crate::models::tower_prelude::*;

const KERNEL: TowerSize = Own1;
const PLACES: TowerSize = Own2;
const CONVOLVED: TowerSize = Own3;
const ATTENDING: TowerSize = Own4;
const HEAD: TowerSize = Own5;
const KEYS: TowerSize = Own6;

/// `lfm3_vl_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["lfm3_vl_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(KeyHeads, "vision_config.num_key_value_heads", 8),
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 2560),
        stated(Layers, "vision_config.num_hidden_layers", 14),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(KERNEL, "vision_config.conv_kernel_size", 3),
        TowerKey {
            size: CONVOLVED,
            key: "vision_config.layer_types",
            default: TowerDefault::Times("conv", 8),
        },
    ],
    follow,
    modules: &TowerModules {
        model_type: "lfm3_vl_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[Matrix("patch embedding", Patch, Hidden), RmsNorm(Hidden)],
            },
            TowerPart {
                times: CONVOLVED,
                layers: &[
                    Matrix("input of the convolution", Hidden, Joint),
                    Matrix("convolution", PLACES, Hidden),
                    Matrix("output of the convolution", Hidden, Hidden),
                ],
            },
            TowerPart {
                times: ATTENDING,
                layers: &[
                    Matrix("query", Hidden, Hidden),
                    Matrix("key", Hidden, KEYS),
                    Matrix("value", Hidden, KEYS),
                    Matrix("output", Hidden, Hidden),
                    RmsNorm(HEAD),
                    RmsNorm(HEAD),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                    RmsNorm(Hidden),
                    RmsNorm(Hidden),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    product(sizes, PLACES, KERNEL, sizes.get(KERNEL));
    sizes.set(ATTENDING, sizes.get(Layers).saturating_sub(sizes.get(CONVOLVED)));
    sizes.set(HEAD, sizes.get(Hidden) / sizes.get(Heads).max(1));
    product(sizes, KEYS, HEAD, sizes.get(KeyHeads));
}
