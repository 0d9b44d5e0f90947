//! The vision part of `mllama` (transformers 5.23): tables of positions for every form of an image
//! cut into tiles, local blocks, and global ones with gates.

use crate::models::tower_prelude::*;

const TILES: TowerSize = Own1;
const FORMS: TowerSize = Own2;
const TILED: TowerSize = Own3;
const TILE: TowerSize = Own4;

/// `mllama_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["mllama_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1280),
        stated(Inner, "vision_config.intermediate_size", 5120),
        stated(Layers, "vision_config.num_hidden_layers", 32),
        stated(SecondLayers, "vision_config.num_global_layers", 8),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 448),
        stated(Side, "vision_config.patch_size", 14),
        stated(TILES, "vision_config.max_num_tiles", 4),
        stated(Out, "vision_config.vision_output_dim", 7680),
        count(FORMS, "vision_config.supported_aspect_ratios", 8),
    ],
    not_looked_at: &["attention_heads", "intermediate_layers_indices"],
    follow,
    modules: &TowerModules {
        model_type: "mllama_vision_model",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("class token", Hidden),
                    Matrix("patch embedding", Patch, Hidden),
                    Vector("gate of positions", One),
                    Table("position embedding", Positions, Hidden),
                    Table("positions of tiles", FORMS, TILED),
                    Vector("gate of tiles before", One),
                    Table("tiles before", FORMS, TILE),
                    Vector("gate of tiles behind", One),
                    Table("tiles behind", FORMS, TILE),
                    LayerNorm(Hidden),
                    LayerNorm(Hidden),
                ],
            },
            TowerPart { times: Layers, layers: &BLOCK },
            TowerPart { times: SecondLayers, layers: &BLOCK },
            TowerPart {
                times: SecondLayers,
                layers: &[Vector("gate of attention", One), Vector("gate of feed-forward", One)],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

const BLOCK: [TowerLayer; 8] = [
    Matrix("query", Hidden, Hidden),
    Matrix("key", Hidden, Hidden),
    Matrix("value", Hidden, Hidden),
    Matrix("output", Hidden, Hidden),
    Linear("up", Hidden, Inner),
    Linear("down", Inner, Hidden),
    LayerNorm(Hidden),
    LayerNorm(Hidden),
];

/// A row more for no form at all, and a position more for the class token.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    let positions = sizes.get(Patches).saturating_add(1);
    sizes.set(Positions, positions);
    sizes.set(FORMS, sizes.get(FORMS).saturating_add(1));
    product(sizes, TILE, Hidden, sizes.get(TILES));
    product(sizes, TILED, TILE, positions);
}
