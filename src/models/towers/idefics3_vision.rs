//! The vision part of `idefics3`, `smolvlm` and `aria` (transformers 5.23): `SigLIP` without a
//! head.

use super::siglip_vision_model::{BEHIND, PATCHES};
use crate::models::tower_prelude::*;

/// `idefics3_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["idefics3_vision", "smolvlm_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 32),
        stated(Heads, "vision_config.num_attention_heads", 16),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
    ],
    not_looked_at: &["size", "max_image_size", "tie_word_embeddings", "image_token_id"],
    follow: patches,
    modules: &TowerModules {
        model_type: "idefics3_vision",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    PATCHES.layers[0],
                    PATCHES.layers[1],
                    Runs(&[Step::Is(Fact::PixelsPicked), Step::Patches(0), Step::Placed(1)]),
                ],
            },
            BLOCKS,
            BEHIND,
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
