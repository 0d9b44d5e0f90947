//! `idefics` (transformers 5.23): layers between the text's blocks that attend to patches, each
//! with a feed-forward layer and two gates.

use crate::models::tower_prelude::*;

const EVERY: TowerSize = Own1;
const CROSSED: TowerSize = Own2;

/// `idefics`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["idefics"],
    tower: "idefics_vision",
    groups: &[
        TowerGroup { path: "", prefix: FURTHER, kinds: &[] },
        TowerGroup { path: "perceiver_config", prefix: FURTHER, kinds: &[] },
    ],
    not_looked_at: &[
        "qk_layer_norms_perceiver",
        "resampler_depth",
        "resampler_head_dim",
        "resampler_n_heads",
        "resampler_n_latents",
    ],
    only: &[
        TowerOnly { key: "further_config.use_resampler", is: Known::Off },
        TowerOnly { key: "further_config.qk_layer_norms", is: Known::Off },
        TowerOnly { key: "further_config.alpha_type", is: Known::Word("float") },
    ],
    keys: &[stated(EVERY, "cross_layer_interval", 1)],
    follow,
    modules: &TowerModules {
        model_type: "idefics",
        parts: &[TowerPart {
            times: CROSSED,
            layers: &[
                Vector("gate of attention to patches", One),
                Vector("gate of feed-forward", One),
                Matrix("query", Text, TextQueries),
                Matrix("key of patches", Hidden, TextQueries),
                Matrix("value of patches", Hidden, TextQueries),
                Matrix("output", TextQueries, Text),
                Matrix("gate", Text, TextInner),
                Matrix("down", TextInner, Text),
                Matrix("up", Text, TextInner),
                RmsNorm(Text),
                RmsNorm(Text),
            ],
        }],
        buffers: &[],
    },
    ..TowerSpec::PLAIN
};

fn follow(sizes: &mut TowerSizes) {
    sizes.set(CROSSED, sizes.get(TextLayers) / sizes.get(EVERY).max(1));
}
