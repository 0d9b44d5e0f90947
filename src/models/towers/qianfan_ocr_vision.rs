//! The vision part of `qianfan_ocr` (transformers 5.23): that of `internvl`, with biases unless the
//! file says otherwise.

use crate::models::tower_prelude::*;

const PARTS: &[TowerPart] = super::internvl_vision::TOWER.modules.parts;

/// `qianfan_ocr_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["qianfan_ocr_vision"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Layers, "vision_config.num_hidden_layers", 24),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 448),
        stated(Side, "vision_config.patch_size", 14),
        flag(Biased, "vision_config.attention_bias", true),
        flag(Normed, "vision_config.use_qk_norm", false),
        flag(Further, "vision_config.use_mask_token", false),
        flag(Positions, "vision_config.use_absolute_position_embeddings", true),
        TowerKey {
            size: Derived,
            key: "vision_config.norm_type",
            default: TowerDefault::Word("layer_norm"),
        },
        stated(Heads, "vision_config.num_attention_heads", 16),
        flag(super::internvl_vision::POOLED, "vision_config.use_mean_pooling", true),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
    ],
    modules: &TowerModules {
        model_type: "qianfan_ocr_vision",
        // Its blocks are left out at random in training.
        parts: &[
            without_steps(&PARTS[0]),
            without_steps(&PARTS[1]),
            without_steps(&PARTS[2]),
            PARTS[3],
        ],
        buffers: &[],
    },
    ..super::internvl_vision::TOWER
};
