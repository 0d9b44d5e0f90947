//! `clip_vision_model` (transformers 5.23, `models/clip`): a class token before the patches,
//! learned positions, a norm before the blocks and one behind them.

use crate::models::clip::{BEFORE, BEHIND};
use crate::models::tower_prelude::*;

/// `clip_vision_model`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["clip_vision_model"],
    keys: &[
        stated(Hidden, "vision_config.hidden_size", 768),
        stated(Inner, "vision_config.intermediate_size", 3072),
        stated(Layers, "vision_config.num_hidden_layers", 12),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Image, "vision_config.image_size", 224),
        stated(Side, "vision_config.patch_size", 32),
        stated(Heads, "vision_config.num_attention_heads", 12),
        function(Act, "vision_config.hidden_act", HiddenAct::QuickGelu),
    ],
    not_looked_at: &["projection_dim", "vocab_size"],
    follow,
    modules: &TowerModules {
        model_type: "clip_vision_model",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    BEFORE.layers[0],
                    BEFORE.layers[1],
                    BEFORE.layers[2],
                    BEFORE.layers[3],
                    Runs(&[
                        Step::Patches(1),
                        Step::ClassToken(0),
                        Step::Positions(2),
                        Step::Norm(3),
                    ]),
                ],
            },
            BLOCKS,
            TowerPart { times: One, layers: &[BEHIND.layers[0], Runs(&[Step::NormOfFirst(0)])] },
        ],
        buffers: &[TowerBuffer::PositionIds(Positions)],
    },
    ..TowerSpec::PLAIN
};

/// A position for every patch, and one for the class token.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    sizes.set(Positions, sizes.get(Patches).saturating_add(1));
}
