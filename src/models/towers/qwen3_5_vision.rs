//! The vision part of `qwen3_5` and `qwen3_5_moe` (transformers 5.23): that of `qwen3_vl`, which
//! feeds the text in one place alone.

use crate::models::tower_prelude::*;

/// `qwen3_5_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["qwen3_5_vision", "qwen3_5", "qwen3_5_moe_vision", "qwen3_5_moe"],
    whole: &["qwen3_5", "qwen3_5_moe"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1152),
        stated(Inner, "vision_config.intermediate_size", 4304),
        stated(Out, "vision_config.out_hidden_size", 3584),
        stated(Layers, "vision_config.depth", 27),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(Positions, "vision_config.num_position_embeddings", 2304),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
    ],
    modules: &TowerModules {
        model_type: "qwen3_5_vision",
        ..*super::qwen3_vl_vision::TOWER.modules
    },
    ties: &[("qwen3_5", Ties::OfWhole(false)), ("qwen3_5_moe", Ties::OfWhole(false))],
    ..super::qwen3_vl_vision::TOWER
};
