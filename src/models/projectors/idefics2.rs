//! `idefics2` (transformers 5.23): a gated layer as wide as the text's, and learned latents that
//! attend to the patches.

use crate::models::tower_prelude::*;

const HEAD: TowerSize = Own1;
const WIDTH: TowerSize = Own2;
const KEYS: TowerSize = Own3;

/// `idefics2`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["idefics2"],
    tower: "idefics2_vision",
    groups: &[TowerGroup {
        path: "perceiver_config",
        prefix: FURTHER,
        kinds: &["idefics2_perceiver", "idefics2"],
    }],
    keys: &[
        stated(Queries, "further_config.resampler_n_latents", 64),
        stated(SecondLayers, "further_config.resampler_depth", 3),
        stated(SecondHeads, "further_config.resampler_n_heads", 16),
        stated(HEAD, "further_config.resampler_head_dim", 96),
        stated(KeyHeads, "further_config.num_key_value_heads", 4),
    ],
    // The latents are as wide as the text.
    not_looked_at: &["hidden_size"],
    follow,
    modules: &TowerModules {
        model_type: "idefics2",
        parts: &[
            TowerPart {
                times: One,
                layers: &[
                    Matrix("gate", Hidden, TextInner),
                    Matrix("up", Hidden, TextInner),
                    Matrix("down", TextInner, Text),
                    Table("latents", Queries, Text),
                ],
            },
            TowerPart {
                times: SecondLayers,
                layers: &[
                    RmsNorm(Text),
                    RmsNorm(Text),
                    Matrix("query", Text, WIDTH),
                    Matrix("key", Text, KEYS),
                    Matrix("value", Text, KEYS),
                    Matrix("output", WIDTH, Text),
                    RmsNorm(Text),
                    Matrix("gate of latents", Text, SecondInner),
                    Matrix("up of latents", Text, SecondInner),
                    Matrix("down of latents", SecondInner, Text),
                ],
            },
            TowerPart { times: One, layers: &[RmsNorm(Text)] },
        ],
        buffers: &[],
    },
    ties: &[("idefics2", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    product(sizes, WIDTH, HEAD, sizes.get(SecondHeads));
    product(sizes, KEYS, HEAD, sizes.get(KeyHeads));
    product(sizes, SecondInner, Text, 4);
}
