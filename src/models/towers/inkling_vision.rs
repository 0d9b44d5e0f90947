//! The vision part of `inkling_mm_model` (transformers 5.23): 24 matrices that fold an image's
//! parts into ever wider ones, with norms between.

use crate::models::tower_prelude::*;

/// Widths of the six stages.
const WIDTHS: [TowerSize; 6] = [Own1, Own2, Own3, Own4, Own5, Own6];
/// Numbers that the first matrix of the second and of every later stage reads.
const FOLDED: [TowerSize; 5] = [Own7, Own8, Own9, Own10, Own11];
/// How many matrices of a stage read as many numbers as they make.
const TIMES: [TowerSize; 4] = [Own12, Own13, Own14, Own15];

/// A matrix and its norm.
const fn fold(input: TowerSize, output: TowerSize) -> [TowerLayer; 2] {
    [Matrix("fold", input, output), RmsNorm(output)]
}

/// `inkling_vision`. Its widths follow from a patch, which is known for one size.
pub const TOWER: TowerSpec = TowerSpec {
    names: &["inkling_vision"],
    keys: &[stated(Out, "vision_config.text_hidden_size", 6144)],
    only: &[
        TowerOnly { key: "vision_config.n_layers", is: Known::Numbers(&[24]) },
        TowerOnly { key: "vision_config.patch_size", is: Known::Numbers(&[40]) },
        TowerOnly { key: "vision_config.temporal_patch_size", is: Known::Numbers(&[2]) },
        TowerOnly { key: "vision_config.num_channels", is: Known::Numbers(&[3]) },
    ],
    not_looked_at: &["hidden_size", "num_attention_heads"],
    follow,
    modules: &TowerModules {
        model_type: "inkling_vision",
        parts: &[
            TowerPart { times: TIMES[0], layers: &fold(WIDTHS[0], WIDTHS[0]) },
            TowerPart { times: One, layers: &fold(FOLDED[0], WIDTHS[1]) },
            TowerPart { times: TIMES[1], layers: &fold(WIDTHS[1], WIDTHS[1]) },
            TowerPart { times: One, layers: &fold(FOLDED[1], WIDTHS[2]) },
            TowerPart { times: TIMES[2], layers: &fold(WIDTHS[2], WIDTHS[2]) },
            TowerPart { times: One, layers: &fold(FOLDED[2], WIDTHS[3]) },
            TowerPart { times: TIMES[3], layers: &fold(WIDTHS[3], WIDTHS[3]) },
            TowerPart { times: One, layers: &fold(FOLDED[3], WIDTHS[4]) },
            TowerPart { times: TIMES[2], layers: &fold(WIDTHS[4], WIDTHS[4]) },
            TowerPart { times: One, layers: &fold(FOLDED[4], WIDTHS[5]) },
            TowerPart { times: TIMES[2], layers: &fold(WIDTHS[5], WIDTHS[5]) },
            TowerPart { times: One, layers: &fold(WIDTHS[5], Out) },
        ],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

/// As the library plans them: the sides of a patch grow by the factors of 40 (5, 2, 2 and 2), then
/// 2 frames are joined; widths are those of the parts in whole 64s, but for the last, which is 64
/// times as wide.
fn follow(sizes: &mut TowerSizes) {
    let set = [(WIDTHS, [3, 128, 320, 1216, 4800, 614_400])];
    set.into_iter()
        .flat_map(|(of, to)| of.into_iter().zip(to))
        .for_each(|(size, to)| sizes.set(size, to));
    FOLDED.into_iter().zip([75, 512, 1280, 4864, 9600]).for_each(|(size, to)| sizes.set(size, to));
    TIMES.into_iter().zip([4, 5, 2, 3]).for_each(|(size, to)| sizes.set(size, to));
}
