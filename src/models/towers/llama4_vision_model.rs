//! The vision part of `llama4` (transformers 5.23): a class token, learned positions, norms before
//! and behind the blocks, and shuffled patches through two matrices.

use crate::models::tower_prelude::*;

/// `llama4_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["llama4_vision_model"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 5632),
        stated(Layers, "vision_config.num_hidden_layers", 34),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 448),
        stated(Side, "vision_config.patch_size", 14),
        stated(Wide, "vision_config.projector_input_dim", 4096),
        stated(Further, "vision_config.projector_output_dim", 4096),
        stated(Out, "vision_config.vision_output_dim", 7680),
    ],
    // Patches are put together by it, whose width is that of the adapter's input.
    not_looked_at: &["pixel_shuffle_ratio"],
    follow,
    modules: &TowerModules {
        model_type: "llama4_vision_model",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("class token", Hidden),
                    Table("position embedding", Positions, Hidden),
                    Matrix("patch embedding", Patch, Hidden),
                    LayerNorm(Hidden),
                    LayerNorm(Hidden),
                ],
            },
            BLOCKS,
            TowerPart {
                times: One,
                layers: &[
                    Matrix("adapter", Inner, Wide),
                    Matrix("adapter output", Further, Further),
                ],
            },
        ],
        buffers: &[TowerBuffer::Factors(Positions, Turned)],
    },
    ..TowerSpec::PLAIN
};

/// A position for every patch, and one for the class token.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 2);
    sizes.set(Positions, sizes.get(Patches).saturating_add(1));
}
