//! The vision part of `muse_glimmer` (transformers 5.23): rotated patches of several frames with
//! learned positions, and norms before and behind the blocks.

use crate::models::tower_prelude::*;

const HEIGHT: TowerSize = Own1;
const WIDTH: TowerSize = Own2;

/// `muse_glimmer_vision` and `muse_spark_vision`. Images have three channels.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["muse_glimmer_vision", "muse_spark_vision"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1536),
        stated(Inner, "vision_config.intermediate_size", 8960),
        stated(Layers, "vision_config.num_hidden_layers", 50),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.patch_temporal", 2),
        stated(HEIGHT, "vision_config.pos_emb_height", 32),
        stated(WIDTH, "vision_config.pos_emb_width", 32),
    ],
    not_looked_at: &["layer_types", "merge_size", "max_position_embeddings", "patch_temporal"],
    follow,
    modules: &TowerModules {
        model_type: "muse_glimmer_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("patch embedding", Patch, Hidden),
                    Table("position embedding", Positions, Hidden),
                    LayerNorm(Hidden),
                ],
            },
            BLOCKS,
            super::siglip_vision_model::BEHIND,
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(Channels, 3);
    patches(sizes);
    turned(sizes, 4);
    product(sizes, Positions, HEIGHT, sizes.get(WIDTH));
}
