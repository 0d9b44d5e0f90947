//! The vision part of `qwen2_vl` (transformers 5.23): patches of two frames, blocks with one
//! projection for queries, keys and values, and a merger of four patches into a token of the text.

use crate::models::tower_prelude::*;

/// `qwen2_vl_vision`. Its `hidden_size` is the width behind it.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["qwen2_vl_vision", "qwen2_vl"],
    whole: &["qwen2_vl"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.embed_dim", 1280),
        stated(Out, "vision_config.hidden_size", 3584),
        stated(Layers, "vision_config.depth", 32),
        stated(Further, "vision_config.mlp_ratio", 4),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        function(Act, "vision_config.hidden_act", HiddenAct::QuickGelu),
    ],
    not_looked_at: &["in_chans", "spatial_patch_size"],
    follow,
    modules: &TowerModules {
        model_type: "qwen2_vl_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("patch embedding", Patch, Hidden),
                    Runs(&[Step::Packed { layer: 0, limits: LIMITS, wanted: true }]),
                ],
            },
            JOINT_BLOCKS,
            TowerPart {
                times: One,
                layers: &[LayerNorm(Hidden), Runs(&[Step::Norm(0), Step::Merged])],
            },
            MERGER,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ties: &[("qwen2_vl", Ties::Either)],
    ..TowerSpec::PLAIN
};

/// The fewest and the most pixels of an image (`preprocessor_config.json` of
/// Qwen/Qwen2-VL-7B-Instruct and of Qwen2.5-VL).
pub const LIMITS: [u64; 2] = [3136, 12_845_056];

/// The inner width is a multiple of the width.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    sizes.set(Inner, sizes.get(Hidden).saturating_mul(sizes.get(Further)));
}

/// Blocks with one projection for queries, keys and values.
pub const JOINT_BLOCKS: TowerPart = TowerPart {
    times: Layers,
    layers: &[
        LayerNorm(Hidden),
        LayerNorm(Hidden),
        Linear("query, key and value", Hidden, Joint),
        Linear("output", Hidden, Hidden),
        Linear("up", Hidden, Inner),
        Linear("down", Inner, Hidden),
        Runs(&[
            Step::Joint { norm: 0, matrices: [2, 3] },
            Step::FeedForward { norm: 1, matrices: [4, 5], scale: None },
        ]),
    ],
};

/// Merged patches become a token of the text.
pub const MERGER: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("merger", Merged, Merged),
        Linear("merger output", Merged, Out),
        Runs(&[Step::Linear(0), Step::Gelu, Step::Linear(1)]),
    ],
};
