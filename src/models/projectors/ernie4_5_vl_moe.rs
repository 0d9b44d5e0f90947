//! `ernie4_5_vl_moe` (transformers 5.23): merged patches through layers for images and for frames,
//! and in the text's blocks experts for images, which a text passes by.

use crate::models::tower_prelude::*;

/// Inner width of an expert for images.
const EXPERT: TowerSize = Own1;
/// Gate and up of all experts, and their outputs.
const OPENED: TowerSize = Own2;
const CLOSED: TowerSize = Own3;
/// Merged patches of several frames.
const FRAMED: TowerSize = Own4;

/// `ernie4_5_vl_moe`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["ernie4_5_vl_moe"],
    tower: "ernie4_5_vl_moe_vision",
    groups: &[TowerGroup {
        path: "text_config",
        prefix: FURTHER,
        kinds: &["ernie4_5_vl_moe_text"],
    }],
    keys: &[TowerKey {
        size: EXPERT,
        key: "further_config.moe_intermediate_size",
        default: TowerDefault::Second(512),
    }],
    follow,
    modules: &TowerModules {
        model_type: "ernie4_5_vl_moe",
        parts: &[
            TowerPart {
                times: TextSparse,
                layers: &[
                    Matrix("router for images", Text, TextExperts),
                    Vector("correction for images", TextExperts),
                    Matrix("gate and up for images", Text, OPENED),
                    Matrix("down for images", EXPERT, CLOSED),
                ],
            },
            TowerPart {
                times: One,
                layers: &[
                    Linear("up of patches", Merged, Merged),
                    Linear("down of patches", Merged, Merged),
                    LayerNorm(Merged),
                    Linear("up of frames", FRAMED, Merged),
                    Linear("down of frames", Merged, Merged),
                    LayerNorm(Merged),
                    Linear("projection", Merged, Text),
                    RmsNorm(Text),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("ernie4_5_vl_moe", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    let experts = sizes.get(TextExperts);
    product(sizes, OPENED, EXPERT, experts.saturating_mul(2));
    product(sizes, CLOSED, Text, experts);
    product(sizes, FRAMED, Merged, sizes.get(Further));
}
