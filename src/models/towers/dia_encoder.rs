//! `dia_encoder` (transformers 5.23, `models/dia`): blocks that read the bytes of a text, with RMS
//! norms and a gate.

use crate::models::tower_prelude::*;

const ROWS: TowerSize = Own1;
const HEAD: TowerSize = Own2;
const QUERY: TowerSize = Own3;
const KEY: TowerSize = Own4;

fn follow(sizes: &mut TowerSizes) {
    product(sizes, QUERY, SecondHeads, sizes.get(HEAD));
    product(sizes, KEY, KeyHeads, sizes.get(HEAD));
}

/// `dia_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["dia"],
    groups: &[TowerGroup { path: "encoder_config", prefix: FURTHER, kinds: &["dia_encoder"] }],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1024),
        stated(SecondInner, "further_config.intermediate_size", 4096),
        stated(SecondLayers, "further_config.num_hidden_layers", 12),
        stated(SecondHeads, "further_config.num_attention_heads", 16),
        stated(KeyHeads, "further_config.num_key_value_heads", 16),
        stated(HEAD, "further_config.head_dim", 128),
        stated(ROWS, "further_config.vocab_size", 256),
    ],
    not_looked_at: &["max_position_embeddings"],
    follow,
    modules: &TowerModules {
        model_type: "dia_encoder",
        parts: &[
            TowerPart { times: One, layers: &[Table("embedding of bytes", ROWS, SecondHidden)] },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    RmsNorm(SecondHidden),
                    Matrix("query", SecondHidden, QUERY),
                    Matrix("key", SecondHidden, KEY),
                    Matrix("value", SecondHidden, KEY),
                    Matrix("output", QUERY, SecondHidden),
                    RmsNorm(SecondHidden),
                    Matrix("gate", SecondHidden, SecondInner),
                    Matrix("up", SecondHidden, SecondInner),
                    Matrix("down", SecondInner, SecondHidden),
                ],
            },
            TowerPart { times: One, layers: &[RmsNorm(SecondHidden)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
