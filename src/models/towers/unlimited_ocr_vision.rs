//! The vision part of `unlimited_ocr` (transformers 5.23): the tower of Segment Anything with two
//! convolutions behind it, which feeds one of CLIP that has no patches of its own.

use crate::models::sam;
use crate::models::tower_prelude::*;

/// `unlimited_ocr_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["unlimited_ocr_vision"],
    groups: &[
        TowerGroup {
            path: "vision_config.sam_config",
            prefix: FURTHER,
            kinds: &["unlimited_ocr_sam_vision_model"],
        },
        TowerGroup {
            path: "vision_config.encoder_config",
            prefix: VISION,
            kinds: &["unlimited_ocr_vision_encoder"],
        },
    ],
    only: &[TowerOnly {
        key: "further_config.downsample_channels",
        is: Known::Numbers(&[512, 1024]),
    }],
    keys: &keys(),
    not_looked_at: &["num_attention_heads", "num_channels"],
    follow,
    modules: &TowerModules {
        model_type: "unlimited_ocr_vision",
        parts: &[
            sam::PARTS[0],
            sam::PARTS[1],
            sam::PARTS[2],
            sam::PARTS[3],
            sam::PARTS[4],
            sam::PARTS[5],
            sam::NECK,
            TowerPart {
                times: One,
                layers: &[
                    Matrix("convolution", sam::NECK_INPUT, Further),
                    Matrix("second convolution", Wide, Out),
                    Vector("class token", Hidden),
                    Table("position embedding", Positions, Hidden),
                    LayerNorm(Hidden),
                ],
            },
            BLOCKS,
        ],
        buffers: &[TowerBuffer::PositionIds(Positions)],
    },
    ..TowerSpec::PLAIN
};

const fn keys() -> [TowerKey; 18] {
    let sam = sam::keys(sam::FURTHER_KEYS);
    let mut all = [stated(Hidden, "vision_config.hidden_size", 1024); 18];
    all[1] = stated(Inner, "vision_config.intermediate_size", 4096);
    all[2] = stated(Layers, "vision_config.num_hidden_layers", 24);
    all[3] = stated(Image, "vision_config.image_size", 224);
    all[4] = stated(Side, "vision_config.patch_size", 14);
    let mut at = 0;
    while at < sam.len() {
        all[5 + at] = sam[at];
        at += 1;
    }
    all
}

/// A position for every patch, and one for the class token.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    sam::follow(sizes);
    sizes.set(Positions, sizes.get(Patches).saturating_add(1));
    sizes.set(Further, 512);
    sizes.set(Out, 1024);
    product(sizes, Wide, Further, 9);
}
