//! The vision part of `exaone4_5` (transformers 5.23): that of `qwen2_5_vl`, with key/value heads
//! that several query heads share.

use crate::models::tower_prelude::*;

/// The parts that it shares with Qwen2.5-VL.
const PARTS: &[TowerPart] = super::qwen2_5_vl_vision::TOWER.modules.parts;

/// `exaone4_5_vision`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["exaone4_5_vision"],
    whole: &["exaone4_5"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 3584),
        stated(Inner, "vision_config.intermediate_size", 3420),
        stated(Out, "vision_config.out_hidden_size", 3584),
        stated(Layers, "vision_config.depth", 32),
        stated(Channels, "vision_config.in_channels", 3),
        stated(Side, "vision_config.patch_size", 14),
        stated(Frames, "vision_config.temporal_patch_size", 2),
        stated(Merge, "vision_config.spatial_merge_size", 2),
        stated(Heads, "vision_config.num_heads", 16),
        stated(KeyHeads, "vision_config.num_key_value_heads", 8),
    ],
    not_looked_at: &["window_size", "fullatt_block_indexes"],
    follow,
    // Its images do not run: queries, keys and values of one matrix are not of one width.
    modules: &TowerModules {
        model_type: "exaone4_5_vision",
        parts: &[PARTS[0], without_steps(&PARTS[1]), PARTS[2], PARTS[3]],
        ..*super::qwen2_5_vl_vision::TOWER.modules
    },
    ties: &[("exaone4_5", Ties::OfWhole(false))],
    ..super::qwen2_5_vl_vision::TOWER
};

/// Queries, and keys and values of fewer heads.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 4);
    let head = sizes.get(Hidden) / sizes.get(Heads).max(1);
    let keys = head.saturating_mul(sizes.get(KeyHeads)).saturating_mul(2);
    sizes.set(Joint, sizes.get(Hidden).saturating_add(keys));
}
