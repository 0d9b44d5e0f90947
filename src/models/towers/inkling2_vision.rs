//! The vision part of `inkling2` (transformers 5.23): a class token with a position of its own,
//! rotated patches, blocks whose halves are scaled by learned vectors, and merged patches through
//! two matrices.

use crate::models::tower_prelude::*;

const GRID: TowerSize = Own1;

/// `inkling2_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["inkling2_vision"],
    whole: &["inkling2"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Layers, "vision_config.num_hidden_layers", 23),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 20),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(GRID, "vision_config.posemb_grid_size", 32),
        stated(Wide, "vision_config.projection_hidden_dim", 4096),
        stated(Out, "vision_config.text_hidden_size", 4608),
        flag(Biased, "vision_config.projector_bias", false),
    ],
    // The inner width counts.
    not_looked_at: &["mlp_ratio", "layer_scale_init_value"],
    follow,
    modules: &TowerModules {
        model_type: "inkling2_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("class token", Hidden),
                    Vector("position of the class token", Hidden),
                    Matrix("patch embedding", Patch, Hidden),
                    Table("position embedding", Positions, Hidden),
                    LayerNorm(Hidden),
                ],
            },
            BLOCKS,
            SCALES,
            TowerPart {
                times: One,
                layers: &[Matrix("merger", Merged, Wide), Matrix("merger output", Wide, Out)],
            },
            TowerPart {
                times: Biased,
                layers: &[Vector("merger bias", Wide), Vector("merger output bias", Out)],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// Vectors that scale what attention and feed-forward layers add.
pub const SCALES: TowerPart = TowerPart {
    times: Layers,
    layers: &[Vector("scale of attention", Hidden), Vector("scale of feed-forward", Hidden)],
};

fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    product(sizes, Positions, GRID, sizes.get(GRID));
}
