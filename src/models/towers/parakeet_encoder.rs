//! `parakeet_encoder` (transformers 5.23, `models/parakeet`): convolutions that take eight frames
//! together, and blocks of a conformer, whose scores know distances.

use crate::models::tower_prelude::*;

const BANDS: TowerSize = Own1;
const CHANNELS: TowerSize = Own2;
/// Places of a convolution over bands and time, and what the last layer before the blocks reads.
const NINE: TowerSize = Own3;
const JOINED: TowerSize = Own4;
/// Width of all query heads, and of all keys.
const QUERY: TowerSize = Own5;
const KEY: TowerSize = Own6;
/// Width inside the convolution with a gate, and places that it sees.
const GATED: TowerSize = Own7;
const PLACES: TowerSize = Own8;

fn follow(sizes: &mut TowerSizes) {
    let (hidden, heads) = (sizes.get(SecondHidden), sizes.get(SecondHeads));
    let head = hidden / heads.max(1);
    let keys = if sizes.get(KeyHeads) == 0 { heads } else { sizes.get(KeyHeads) };
    sizes.set(QUERY, heads.saturating_mul(head));
    sizes.set(KEY, keys.saturating_mul(head));
    product(sizes, JOINED, CHANNELS, sizes.get(BANDS) / 8);
    product(sizes, GATED, SecondHidden, 2);
    sizes.set(NINE, 9);
}

/// `parakeet_encoder`.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["parakeet_encoder"],
    whole: &["canary"],
    groups: &[TowerGroup { path: "encoder_config", prefix: FURTHER, kinds: &["parakeet_encoder"] }],
    only: &[
        TowerOnly { key: "further_config.attention_bias", is: Known::Numbers(&[1]) },
        TowerOnly { key: "further_config.convolution_bias", is: Known::Numbers(&[1]) },
        TowerOnly { key: "further_config.subsampling_factor", is: Known::Numbers(&[8]) },
        TowerOnly { key: "further_config.subsampling_conv_kernel_size", is: Known::Numbers(&[3]) },
        TowerOnly { key: "further_config.subsampling_conv_stride", is: Known::Numbers(&[2]) },
        TowerOnly { key: "further_config.head_dim", is: Known::Off },
    ],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 1024),
        stated(SecondInner, "further_config.intermediate_size", 4096),
        stated(SecondLayers, "further_config.num_hidden_layers", 24),
        stated(SecondHeads, "further_config.num_attention_heads", 8),
        maybe(KeyHeads, "further_config.num_key_value_heads", 0),
        stated(BANDS, "further_config.num_mel_bins", 80),
        stated(CHANNELS, "further_config.subsampling_conv_channels", 256),
        stated(PLACES, "further_config.conv_kernel_size", 9),
    ],
    not_looked_at: &["max_position_embeddings", "scale_input", "layerdrop"],
    follow,
    modules: &TowerModules {
        model_type: "parakeet_encoder",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Linear("convolution", NINE, CHANNELS),
                    Linear("second convolution", NINE, CHANNELS),
                    Linear("second convolution of channels", CHANNELS, CHANNELS),
                    Linear("third convolution", NINE, CHANNELS),
                    Linear("third convolution of channels", CHANNELS, CHANNELS),
                    Linear("output of convolutions", JOINED, SecondHidden),
                ],
            },
            BLOCKS_OF_SOUND,
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// A block of a conformer.
const BLOCKS_OF_SOUND: TowerPart = TowerPart {
    times: SecondLayers,
    layers: &[
        Linear("first up", SecondHidden, SecondInner),
        Linear("first down", SecondInner, SecondHidden),
        Vector("bias of contents", QUERY),
        Vector("bias of distances", QUERY),
        Linear("query", SecondHidden, QUERY),
        Linear("key", SecondHidden, KEY),
        Linear("value", SecondHidden, KEY),
        Linear("output", QUERY, SecondHidden),
        Matrix("key of distances", SecondHidden, QUERY),
        Linear("convolution up", SecondHidden, GATED),
        Linear("convolution", PLACES, SecondHidden),
        LayerNorm(SecondHidden),
        Linear("convolution down", SecondHidden, SecondHidden),
        Linear("second up", SecondHidden, SecondInner),
        Linear("second down", SecondInner, SecondHidden),
        LayerNorm(SecondHidden),
        LayerNorm(SecondHidden),
        LayerNorm(SecondHidden),
        LayerNorm(SecondHidden),
        LayerNorm(SecondHidden),
    ],
};
