//! `molmo2` (transformers 5.23): attention that pools the patches of some of the tower's layers, a
//! gated layer, and rows of the text's embedding behind its vocabulary.

use crate::models::tower_prelude::*;

const HEAD: TowerSize = Own5;
const WIDTH: TowerSize = Own6;
const KEYS: TowerSize = Own7;
const READ: TowerSize = Own8;
const BIASES: TowerSize = Own9;

/// `molmo2`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["molmo2"],
    tower: "molmo2_vision",
    groups: &[TowerGroup { path: "adapter_config", prefix: FURTHER, kinds: &["molmo2_adapter"] }],
    only: &[TowerOnly { key: "further_config.mlp_bias", is: Known::Off }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1152),
        stated(SecondInner, "further_config.intermediate_size", 18_944),
        stated(SecondHeads, "further_config.num_attention_heads", 16),
        stated(Queries, "further_config.num_key_value_heads", 16),
        stated(HEAD, "further_config.head_dim", 72),
        stated(SecondOut, "further_config.text_hidden_size", 3584),
        count(Fed, "further_config.vision_feature_layer", 2),
        flag(BIASES, "further_config.attention_bias", true),
        stated(TextRows, "additional_vocab_size", 128),
    ],
    follow,
    modules: &TowerModules {
        model_type: "molmo2",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("query", READ, WIDTH),
                    Matrix("key", READ, KEYS),
                    Matrix("value", READ, KEYS),
                    Matrix("output", WIDTH, SecondHidden),
                    Matrix("gate", SecondHidden, SecondInner),
                    Matrix("up", SecondHidden, SecondInner),
                    Matrix("down", SecondInner, SecondOut),
                ],
            },
            TowerPart {
                times: BIASES,
                layers: &[
                    Vector("query bias", WIDTH),
                    Vector("key bias", KEYS),
                    Vector("value bias", KEYS),
                    Vector("output bias", SecondHidden),
                ],
            },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    product(sizes, WIDTH, HEAD, sizes.get(SecondHeads));
    product(sizes, KEYS, HEAD, sizes.get(Queries));
    product(sizes, READ, Hidden, sizes.get(Fed));
}
