//! The part of `evolla` (transformers 5.23) that reads proteins: an encoder of ESM's block, learned
//! latents that attend to its output, and layers between the text's blocks that attend to these.

use crate::models::tower_prelude::*;

const ROWS: TowerSize = Own1;
const LATENTS: TowerSize = Own2;
const DEPTH: TowerSize = Own3;
const HEAD: TowerSize = Own4;
const WIDTH: TowerSize = Own5;
const BOTH: TowerSize = Own6;
const FACTOR: TowerSize = Own7;
const WIDER: TowerSize = Own8;
const ADDED: TowerSize = Own9;
const ADDED_FACTOR: TowerSize = Own10;
const ADDED_WIDER: TowerSize = Own11;
const BIASES: TowerSize = Own12;

/// `evolla`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["evolla"],
    groups: &[TowerGroup { path: "protein_encoder_config", prefix: FURTHER, kinds: &[] }],
    only: &[
        TowerOnly { key: "further_config.emb_layer_norm_before", is: Known::Off },
        TowerOnly { key: "further_config.position_embedding_type", is: Known::Word("rotary") },
    ],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1280),
        stated(SecondInner, "further_config.intermediate_size", 5120),
        stated(SecondLayers, "further_config.num_hidden_layers", 33),
        stated(ROWS, "further_config.vocab_size", 446),
        stated(DEPTH, "resampler_depth", 6),
        stated(HEAD, "resampler_dim_head", 64),
        stated(SecondHeads, "resampler_heads", 8),
        stated(LATENTS, "resampler_num_latents", 64),
        stated(FACTOR, "resampler_ff_mult", 4),
        stated(ADDED, "aligner_num_add_layers", 8),
        stated(ADDED_FACTOR, "aligner_ffn_mult", 4),
        flag(BIASES, "aligner_enable_bias", true),
    ],
    not_looked_at: &["num_attention_heads", "max_position_embeddings"],
    follow,
    modules: &TowerModules {
        model_type: "evolla",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Table("embedding of proteins", ROWS, SecondHidden),
                    LayerNorm(SecondHidden),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    Linear("query", SecondHidden, SecondHidden),
                    Linear("key", SecondHidden, SecondHidden),
                    Linear("value", SecondHidden, SecondHidden),
                    Linear("output", SecondHidden, SecondHidden),
                    LayerNorm(SecondHidden),
                    Linear("up", SecondHidden, SecondInner),
                    Linear("down", SecondInner, SecondHidden),
                    LayerNorm(SecondHidden),
                ],
            },
            TowerPart { times: One, layers: &[Table("latents", LATENTS, SecondHidden)] },
            TowerPart {
                times: DEPTH,
                layers: &[
                    LayerNorm(SecondHidden),
                    LayerNorm(SecondHidden),
                    Matrix("query of latents", SecondHidden, WIDTH),
                    Matrix("key and value for latents", SecondHidden, BOTH),
                    Matrix("output of latents", WIDTH, SecondHidden),
                    LayerNorm(SecondHidden),
                    Matrix("up of latents", SecondHidden, WIDER),
                    Matrix("down of latents", WIDER, SecondHidden),
                ],
            },
            TowerPart {
                times: One,
                layers: &[Linear("projection", SecondHidden, Text), LayerNorm(Text)],
            },
            TowerPart {
                times: ADDED,
                layers: &[
                    Vector("gate of attention to proteins", One),
                    Vector("gate of feed-forward", One),
                    Linear("query of proteins", Text, TextQueries),
                    Linear("key of proteins", Text, TextQueries),
                    Linear("value of proteins", Text, TextQueries),
                    RmsNorm(Text),
                    Matrix("output of proteins", Text, Text),
                    LayerNorm(Text),
                    Matrix("up of proteins", Text, ADDED_WIDER),
                    Matrix("down of proteins", ADDED_WIDER, Text),
                ],
            },
            TowerPart { times: BIASES, layers: &[Vector("output bias of proteins", Text)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// A layer is added behind one of so many blocks.
fn follow(sizes: &mut TowerSizes) {
    product(sizes, WIDTH, HEAD, sizes.get(SecondHeads));
    product(sizes, BOTH, WIDTH, 2);
    product(sizes, WIDER, SecondHidden, sizes.get(FACTOR));
    product(sizes, ADDED_WIDER, Text, sizes.get(ADDED_FACTOR));
    let layers = sizes.get(TextLayers);
    let every = (layers / sizes.get(ADDED).max(1)).max(1);
    sizes.set(ADDED, layers / every);
    product(sizes, BIASES, BIASES, sizes.get(ADDED));
}
