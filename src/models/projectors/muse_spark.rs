//! `muse_spark` (transformers 5.23): merged patches through three matrices, and beside the vision
//! part four stages of convolutions over sound, each twice as wide as the one before.

use crate::models::tower_prelude::*;

const FIRST: TowerSize = Own3;
const SECOND: TowerSize = Own4;
const THIRD: TowerSize = Own5;
const FOURTH: TowerSize = Own6;
const INNER: [TowerSize; 2] = [Own7, Own8];
const INPUT: [TowerSize; 4] = [Own9, Own10, Own11, Own12];
const KERNEL: TowerSize = Own13;
const DEPTH: TowerSize = Own14;

/// The matrix and the norm before a stage.
const fn before(input: TowerSize, width: TowerSize) -> [TowerLayer; 2] {
    [Linear("frames", input, width), RmsNorm(width)]
}

/// A convolution along time, and a plain feed-forward layer.
const fn stage(width: TowerSize, inner: TowerSize) -> [TowerLayer; 4] {
    [
        Linear("convolution", KERNEL, width),
        RmsNorm(width),
        Linear("up", width, inner),
        Linear("down", inner, width),
    ]
}

/// `muse_spark`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["muse_spark"],
    tower: "muse_spark_vision",
    groups: &[TowerGroup { path: "audio_config", prefix: FURTHER, kinds: &["muse_spark_audio"] }],
    keys: &[
        stated(Out, "out_hidden_size", 6144),
        stated(Wide, "projector_hidden_size", 4096),
        TowerKey {
            size: FIRST,
            key: "further_config.hidden_sizes",
            default: TowerDefault::Doubling(256),
        },
        stated(KERNEL, "further_config.conv_kernel_size", 7),
        stated(SecondOut, "further_config.out_hidden_size", 8192),
    ],
    only: &[
        TowerOnly { key: "further_config.depths", is: Known::Numbers(&[2, 2, 2, 2]) },
        TowerOnly { key: "further_config.patch_sizes", is: Known::Numbers(&[16, 6, 5, 4]) },
        TowerOnly { key: "further_config.mlp_ratio", is: Known::Numbers(&[4]) },
        TowerOnly { key: "further_config.num_hidden_layers", is: Known::Numbers(&[4]) },
    ],
    follow,
    modules: &TowerModules {
        model_type: "muse_spark",
        parts: &[
            super::muse_glimmer::PROJECTOR.modules.parts[0],
            TowerPart { times: One, layers: &before(INPUT[0], FIRST) },
            TowerPart { times: DEPTH, layers: &stage(FIRST, THIRD) },
            TowerPart { times: One, layers: &before(INPUT[1], SECOND) },
            TowerPart { times: DEPTH, layers: &stage(SECOND, FOURTH) },
            TowerPart { times: One, layers: &before(INPUT[2], THIRD) },
            TowerPart { times: DEPTH, layers: &stage(THIRD, INNER[0]) },
            TowerPart { times: One, layers: &before(INPUT[3], FOURTH) },
            TowerPart { times: DEPTH, layers: &stage(FOURTH, INNER[1]) },
            TowerPart {
                times: One,
                layers: &[
                    RmsNorm(FOURTH),
                    Linear("projection of sound", FOURTH, SecondOut),
                    RmsNorm(SecondOut),
                ],
            },
        ],
        buffers: &[],
    },
    ties: &[("muse_spark", Ties::Never)],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    for (to, times) in [(SECOND, 2), (THIRD, 4), (FOURTH, 8), (INNER[0], 16), (INNER[1], 32)] {
        product(sizes, to, FIRST, times);
    }
    sizes.set(DEPTH, 2);
    sizes.set(INPUT[0], 16);
    // As many moments of the stage before are joined.
    for (to, of, times) in [(INPUT[1], FIRST, 6), (INPUT[2], SECOND, 5), (INPUT[3], THIRD, 4)] {
        product(sizes, to, of, times);
    }
}
