//! The vision part of `got_ocr2` and `pp_chart2table` (transformers 5.23), which is that of Segment
//! Anything.

use crate::models::sam;
use crate::models::tower_prelude::*;

/// `got_ocr2_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["got_ocr2_vision", "pp_chart2table_vision"],
    keys: &sam::keys([
        "vision_config.hidden_size",
        "vision_config.mlp_dim",
        "vision_config.num_hidden_layers",
        "vision_config.num_attention_heads",
        "vision_config.output_channels",
        "vision_config.image_size",
        "vision_config.patch_size",
        "vision_config.window_size",
        "vision_config.global_attn_indexes",
        "vision_config.qkv_bias",
        "vision_config.use_abs_pos",
        "vision_config.use_rel_pos",
        "vision_config.num_channels",
    ]),
    follow: sam::follow,
    modules: &TowerModules { model_type: "got_ocr2_vision", parts: &sam::PARTS, buffers: &[] },
    ..TowerSpec::PLAIN
};
