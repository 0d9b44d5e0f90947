//! `pi0` (transformers 5.23): `PaliGemma`'s matrix, and beside the text a second one of Gemma's
//! block that acts: its embedding, its blocks, and what leads states, times and actions into it and
//! out of it.

use crate::models::tower_prelude::*;

const ROWS: TowerSize = Own1;
const HEAD: TowerSize = Own2;
const WIDTH: TowerSize = Own3;
const KEYS: TowerSize = Own4;
const ACTION: TowerSize = Own5;
const STATE: TowerSize = Own6;
const WITH_TIME: TowerSize = Own7;

/// `pi0`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["pi0"],
    tower: "siglip_vision_model",
    groups: &[TowerGroup { path: "dit_config", prefix: FURTHER, kinds: &["gemma"] }],
    only: &[TowerOnly { key: "further_config.attention_bias", is: Known::Off }],
    keys: &[
        stated(Out, "projection_dim", 2048),
        stated(SecondHidden, "further_config.hidden_size", 1024),
        stated(SecondInner, "further_config.intermediate_size", 4096),
        stated(SecondLayers, "further_config.num_hidden_layers", 18),
        stated(SecondHeads, "further_config.num_attention_heads", 8),
        stated(KeyHeads, "further_config.num_key_value_heads", 1),
        stated(HEAD, "further_config.head_dim", 256),
        stated(ROWS, "further_config.vocab_size", 257_152),
        stated(ACTION, "max_action_dim", 32),
        stated(STATE, "max_state_dim", 32),
    ],
    not_looked_at: &["max_position_embeddings"],
    // It has no head for words.
    follow,
    modules: &TowerModules {
        model_type: "pi0",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("projection", Hidden, Out),
                    Table("embedding of the second text", ROWS, SecondHidden),
                    RmsNorm(SecondHidden),
                    Linear("input of actions", ACTION, SecondHidden),
                    Linear("input of states", STATE, SecondHidden),
                    Linear("actions and times", WITH_TIME, SecondHidden),
                    Linear("second layer of actions and times", SecondHidden, SecondHidden),
                    Linear("output of actions", SecondHidden, ACTION),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    Matrix("query", SecondHidden, WIDTH),
                    Matrix("key", SecondHidden, KEYS),
                    Matrix("value", SecondHidden, KEYS),
                    Matrix("output", WIDTH, SecondHidden),
                    Matrix("gate", SecondHidden, SecondInner),
                    Matrix("up", SecondHidden, SecondInner),
                    Matrix("down", SecondInner, SecondHidden),
                    RmsNorm(SecondHidden),
                    RmsNorm(SecondHidden),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("pi0", Ties::Always)],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    product(sizes, WIDTH, HEAD, sizes.get(SecondHeads));
    product(sizes, KEYS, HEAD, sizes.get(KeyHeads));
    product(sizes, WITH_TIME, SecondHidden, 2);
}
