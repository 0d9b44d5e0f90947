//! `mllama` (transformers 5.23): a matrix with a bias, layers between the text's blocks that attend
//! to patches, and eight rows of the text's embedding behind its vocabulary.

use crate::models::tower_prelude::*;

const CROSSED: TowerSize = Own5;

/// `mllama`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["mllama"],
    tower: "mllama_vision_model",
    text_class: "MllamaForCausalLM",
    keys: &[TowerKey {
        size: CROSSED,
        key: "cross_attention_layers",
        default: TowerDefault::Below {
            layers: ("num_hidden_layers", 40),
            places: &[3, 8, 13, 18, 23, 28, 33, 38],
        },
    }],
    follow: |sizes| sizes.set(TextRows, 8),
    modules: &TowerModules {
        model_type: "mllama",
        parts: &[
            TowerPart {
                times: CROSSED,
                layers: &[
                    Matrix("query", Text, TextQueries),
                    Matrix("key of patches", Text, TextKeys),
                    Matrix("value of patches", Text, TextKeys),
                    Matrix("output", TextQueries, Text),
                    RmsNorm(TextHead),
                    RmsNorm(TextHead),
                    RmsNorm(Text),
                    Vector("gate of attention to patches", One),
                    Matrix("gate", Text, TextInner),
                    Matrix("up", Text, TextInner),
                    Matrix("down", TextInner, Text),
                    RmsNorm(Text),
                    Vector("gate of feed-forward", One),
                ],
            },
            TowerPart { times: One, layers: &[Linear("projection", Out, Text)] },
        ],
        buffers: &[],
    },
    ties: &[("mllama", Ties::Never)],
    ..TowerSpec::PLAIN
};
