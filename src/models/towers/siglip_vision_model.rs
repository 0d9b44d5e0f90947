//! `siglip_vision_model` (transformers 5.23, `models/siglip`): patches with learned positions,
//! blocks, a norm, and a head that pools.

use crate::models::tower_prelude::*;

/// `siglip_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["siglip_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 16),
        flag(Pooled, "vision_config.vision_use_head", true),
        stated(Heads, "vision_config.num_attention_heads", 12),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
    ],
    not_looked_at: &["num_image_tokens", "vocab_size", "projection_dim", "num_positions"],
    follow: patches,
    modules: &TowerModules {
        model_type: "siglip_vision_model",
        parts: &[OF_ONE_SIZE, BLOCKS, BEHIND, POOL],
        buffers: &[TowerBuffer::PositionIds(Patches)],
    },
    ..TowerSpec::PLAIN
};

/// Patches, by a convolution, and their positions.
pub const PATCHES: TowerPart = TowerPart {
    times: One,
    layers: &[
        Linear("patch embedding", Patch, Hidden),
        Table("position embedding", Patches, Hidden),
    ],
};

/// How these layers run over images of one size.
const OF_ONE_SIZE: TowerPart = TowerPart {
    times: One,
    layers: &[PATCHES.layers[0], PATCHES.layers[1], Runs(&[Step::Patches(0), Step::Positions(1)])],
};

/// The norm behind the blocks.
pub const BEHIND: TowerPart =
    TowerPart { times: One, layers: &[LayerNorm(Hidden), Runs(&[Step::Norm(0)])] };

/// A learned query that attends to all patches, and a feed-forward layer.
pub const POOL: TowerPart = TowerPart {
    times: Pooled,
    layers: &[
        Vector("probe", Hidden),
        Linear("query, key and value", Hidden, Joint),
        Linear("output", Hidden, Hidden),
        LayerNorm(Hidden),
        Linear("up", Hidden, Inner),
        Linear("down", Inner, Hidden),
    ],
};
