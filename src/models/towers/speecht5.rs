//! `speecht5` (transformers 5.23, `models/speecht5`): seven convolutions over sound, a convolution
//! over positions, and blocks that share a table of distances.

use crate::models::sound::BIASED;
use crate::models::tower_prelude::*;

/// Columns of the convolutions, and numbers that they read: ten moments, three and two of all
/// columns.
const COLUMNS: TowerSize = Own1;
const TEN: TowerSize = Own2;
const THREE: TowerSize = Own3;
const TWO: TowerSize = Own4;
/// Numbers that the convolution over positions reads, and places.
const GROUPED: TowerSize = Own5;
const PLACES: TowerSize = Own6;
/// Distances, and the width of a head.
const DISTANCES: TowerSize = Own7;
const HEAD: TowerSize = Own8;

fn follow(sizes: &mut TowerSizes) {
    let hidden = sizes.get(SecondHidden);
    for (size, value) in
        [(COLUMNS, 512), (TEN, 10), (THREE, 3 * 512), (TWO, 2 * 512), (PLACES, 128)]
    {
        sizes.set(size, value);
    }
    sizes.set(GROUPED, (hidden / 16).saturating_mul(128));
    product(sizes, DISTANCES, DISTANCES, 2);
    sizes.set(HEAD, hidden / sizes.get(SecondHeads).max(1));
}

const fn is(key: &'static str, numbers: &'static [u64]) -> TowerOnly {
    TowerOnly { key, is: Known::Numbers(numbers) }
}

/// `speecht5`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["speecht5"],
    groups: &[TowerGroup { path: "", prefix: FURTHER, kinds: &[] }],
    only: &[
        is("further_config.conv_dim", &[512, 512, 512, 512, 512, 512, 512]),
        is("further_config.conv_kernel", &[10, 3, 3, 3, 3, 2, 2]),
        is("further_config.num_conv_pos_embeddings", &[128]),
        is("further_config.num_conv_pos_embedding_groups", &[16]),
        TowerOnly { key: "further_config.conv_bias", is: Known::Off },
        TowerOnly { key: "further_config.feat_extract_norm", is: Known::Word("group") },
        // A mask that learns is there where some frames are masked.
        TowerOnly { key: "further_config.mask_time_prob", is: Known::Word("0.05") },
    ],
    keys: &[
        stated(SecondHidden, "further_config.hidden_size", 768),
        stated(SecondInner, "further_config.encoder_ffn_dim", 3072),
        stated(SecondLayers, "further_config.encoder_layers", 12),
        stated(SecondHeads, "further_config.encoder_attention_heads", 12),
        stated(DISTANCES, "further_config.encoder_max_relative_position", 160),
    ],
    follow,
    modules: &TowerModules {
        model_type: "speecht5",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Vector("embedding of a mask", SecondHidden),
                    Matrix("first convolution", TEN, COLUMNS),
                    LayerNorm(COLUMNS),
                    Matrix("second convolution", THREE, COLUMNS),
                    Matrix("third convolution", THREE, COLUMNS),
                    Matrix("fourth convolution", THREE, COLUMNS),
                    Matrix("fifth convolution", THREE, COLUMNS),
                    Matrix("sixth convolution", TWO, COLUMNS),
                    Matrix("seventh convolution", TWO, COLUMNS),
                    LayerNorm(COLUMNS),
                    Linear("projection", COLUMNS, SecondHidden),
                    Linear("convolution over positions", GROUPED, SecondHidden),
                    Vector("norms of that convolution", PLACES),
                    LayerNorm(SecondHidden),
                ],
            },
            BIASED,
            TowerPart { times: One, layers: &[Table("embedding of distances", DISTANCES, HEAD)] },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};
