//! `internvl` and `qianfan_ocr` (transformers 5.23): shuffled patches, normed, through two
//! matrices.

use crate::models::tower_prelude::*;

/// The most tiles of an image (`max_patches` of `GotOcr2ImageProcessor`, which InternVL's files
/// name).
const TILES: u64 = 12;

/// `internvl`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["internvl", "qianfan_ocr"],
    tower: "internvl_vision",
    keys: &[
        TowerKey { size: Merge, key: "downsample_ratio", default: TowerDefault::OneOver(2) },
        TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(1) },
        maybe(Behind, "vision_feature_layer_behind", 0),
        TowerKey {
            size: Cut,
            key: "vision_feature_select_strategy",
            default: TowerDefault::Word("default"),
        },
        function(OutAct, "projector_hidden_act", HiddenAct::Gelu),
    ],
    follow: merged,
    modules: &TowerModules {
        model_type: "internvl",
        parts: &[TowerPart {
            times: One,
            layers: &[
                LayerNorm(Merged),
                Linear("projection", Merged, Text),
                Linear("second projection", Text, Text),
                Runs(&[
                    Step::OfLast,
                    Step::WithoutFirst,
                    Step::Shuffled,
                    Step::Norm(0),
                    Step::Linear(1),
                    Step::Function,
                    Step::Linear(2),
                    Step::Tiled(TileRule::Canvas(TILES)),
                ]),
            ],
        }],
        buffers: &[],
    },
    ties: &[("internvl", Ties::OfWhole(true)), ("qianfan_ocr", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};

/// The width of the patches that are merged.
pub fn merged(sizes: &mut TowerSizes) {
    let merge = sizes.get(Merge);
    sizes.set(Merged, sizes.get(Hidden).saturating_mul(merge).saturating_mul(merge));
}
