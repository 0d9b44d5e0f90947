//! `deepseek_vl_hybrid` (transformers 5.23): a second tower for images of a high resolution, with a
//! neck and convolutions of its own, and two matrices side by side before a third one.

use crate::models::sam;
use crate::models::tower_prelude::*;

const HALF: TowerSize = Further;

/// `deepseek_vl_hybrid`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["deepseek_vl_hybrid"],
    tower: "siglip_vision_model",
    groups: &[TowerGroup {
        path: "high_res_vision_config",
        prefix: FURTHER,
        kinds: &["sam_vision_model"],
    }],
    keys: &sam::keys(sam::FURTHER_KEYS),
    only: &[TowerOnly { key: "further_config.mlp_ratio", is: Known::Numbers(&[4]) }],
    not_looked_at: &["scale", "num_pos_feats"],
    follow,
    modules: &TowerModules {
        model_type: "deepseek_vl_hybrid",
        parts: &[
            TowerPart { times: One, layers: &[Vector("weight of the second tower", One)] },
            sam::PARTS[0],
            sam::PARTS[1],
            sam::PARTS[2],
            sam::PARTS[3],
            sam::PARTS[4],
            sam::PARTS[5],
            sam::NECK,
            sam::NECK,
            TowerPart {
                times: One,
                layers: &[
                    Matrix("convolution", sam::NECK_INPUT, sam::TWICE),
                    Matrix("second convolution", Wide, Out),
                    Linear("projection", Hidden, HALF),
                    Linear("projection of the second tower", Out, HALF),
                    Linear("second projection", Text, Text),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("deepseek_vl_hybrid", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sam::follow(sizes);
    product(sizes, Wide, sam::TWICE, 9);
    product(sizes, Out, SecondOut, 4);
    sizes.set(HALF, sizes.get(Text) / 2);
}
