//! The vision part of `glm5_next` (transformers 5.23): that of `glm_ocr`, whose merger is as wide
//! as the file says.

use crate::models::tower_prelude::*;

/// `glm5_next_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["glm5_next_vision"],
    whole: &["glm5_next"],
    keys: &[
        stated(Heads, "vision_config.num_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Out, "vision_config.out_hidden_size", 1536),
        stated(Layers, "vision_config.depth", 24),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        flag(Biased, "vision_config.attention_bias", true),
        stated(Further, "vision_config.projection_intermediate_size", 10_240),
    ],
    follow,
    modules: &TowerModules {
        model_type: "glm5_next_vision",
        ..*super::glm_ocr_vision::TOWER.modules
    },
    ties: &[("glm5_next", Ties::OfWhole(false))],
    ..super::glm_ocr_vision::TOWER
};

fn follow(sizes: &mut TowerSizes) {
    super::glm_ocr_vision::follow(sizes);
    product(sizes, Wide, Further, 1);
}
