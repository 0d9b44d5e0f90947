//! `radio` (transformers 5.23, `models/radio`): learned positions, several class tokens and
//! registers, and blocks whose halves are scaled by learned vectors; frames of a video have a
//! matrix of their own.

use crate::models::tower_prelude::*;

/// The longest side of an image, pixels.
const LONGEST: TowerSize = Own1;
const CLASSES: TowerSize = Own2;
const REGISTERS: TowerSize = Own3;
const RATIO: TowerSize = Own4;
const VIDEO: TowerSize = Own5;
const VIDEO_PATCH: TowerSize = Own6;
const FILMED: TowerSize = Own7;

/// `radio`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["radio"],
    only: &[TowerOnly { key: "vision_config.use_swiglu_ffn", is: Known::Off }],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1280),
        stated(RATIO, "vision_config.mlp_ratio", 4),
        stated(Layers, "vision_config.num_hidden_layers", 32),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        stated(LONGEST, "vision_config.max_img_size", 2048),
        maybe(CLASSES, "vision_config.num_cls_tokens", 3),
        maybe(REGISTERS, "vision_config.num_registers", 7),
        maybe(VIDEO, "vision_config.video_temporal_patch_size", 0),
        flag(Biased, "vision_config.qkv_bias", true),
        count(Fed, "vision_config.summary_idxs", 2),
    ],
    not_looked_at: &[
        "num_attention_heads",
        "patch_dim",
        "video_patch_dim",
        "layerscale_value",
        "image_size",
        "drop_path_rate",
    ],
    follow,
    modules: &TowerModules {
        model_type: "radio",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Table("position embedding", Positions, Hidden),
                    Table("class tokens and registers", CLASSES, Hidden),
                    Matrix("patch embedding", Patch, Hidden),
                ],
            },
            TowerPart {
                times: FILMED,
                layers: &[Matrix("patch embedding of videos", VIDEO_PATCH, Hidden)],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    LayerNorm(Hidden),
                    Matrix("query", Hidden, Hidden),
                    Matrix("key", Hidden, Hidden),
                    Matrix("value", Hidden, Hidden),
                    Linear("output", Hidden, Hidden),
                    Vector("scale of attention", Hidden),
                    LayerNorm(Hidden),
                    Linear("up", Hidden, Inner),
                    Linear("down", Inner, Hidden),
                    Vector("scale of feed-forward", Hidden),
                ],
            },
            TowerPart {
                times: Biased,
                layers: &[
                    Vector("query bias", Hidden),
                    Vector("key bias", Hidden),
                    Vector("value bias", Hidden),
                ],
            },
        ],
        buffers: &[TowerBuffer::PositionIds(Fed)],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    let of = |size| sizes.get(size);
    let along = of(LONGEST) / of(Side).max(1);
    let derived = [
        (Positions, along.saturating_mul(along)),
        (CLASSES, of(CLASSES).saturating_add(of(REGISTERS))),
        (Inner, of(Hidden).saturating_mul(of(RATIO))),
        (VIDEO_PATCH, of(Patch).saturating_mul(of(VIDEO))),
        (FILMED, of(VIDEO).min(1)),
        (Biased, of(Biased).saturating_mul(of(Layers))),
    ];
    for (size, value) in derived {
        sizes.set(size, value);
    }
}
