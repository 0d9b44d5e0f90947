//! `pixtral` (transformers 5.23, `models/pixtral`): rotated patches, RMS norms, and gated
//! feed-forward layers without biases.

use crate::models::tower_prelude::*;

/// `pixtral`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["pixtral"],
    keys: &[
        stated(Heads, "vision_config.num_attention_heads", 16),
        stated(Hidden, "vision_config.hidden_size", 1024),
        stated(Inner, "vision_config.intermediate_size", 4096),
        stated(Layers, "vision_config.num_hidden_layers", 24),
        stated(Channels, "vision_config.num_channels", 3),
        stated(Side, "vision_config.patch_size", 16),
        function(Act, "vision_config.hidden_act", HiddenAct::Gelu),
    ],
    not_looked_at: &["head_dim", "image_size", "vocab_size"],
    follow,
    modules: &TowerModules {
        model_type: "pixtral",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("patch embedding", Patch, Hidden),
                    RmsNorm(Hidden),
                    Runs(&[Step::Joined(0), Step::Norm(1)]),
                ],
            },
            TowerPart {
                times: Layers,
                layers: &[
                    RmsNorm(Hidden),
                    Matrix("gate", Hidden, Inner),
                    Matrix("up", Hidden, Inner),
                    Matrix("down", Inner, Hidden),
                    Matrix("key", Hidden, Hidden),
                    Matrix("value", Hidden, Hidden),
                    Matrix("query", Hidden, Hidden),
                    Matrix("output", Hidden, Hidden),
                    RmsNorm(Hidden),
                    Runs(&[
                        Step::Turned { norm: 0, matrices: [6, 4, 5, 7] },
                        Step::Gated { norm: 8, matrices: [1, 2, 3] },
                    ]),
                ],
            },
        ],
        buffers: &[TowerBuffer::Frequencies(Turned)],
    },
    ..TowerSpec::PLAIN
};

/// Frequencies turn half of a head.
fn follow(sizes: &mut TowerSizes) {
    patches(sizes);
    turned(sizes, 2);
}
