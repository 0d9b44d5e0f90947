//! `muse_glimmer` (transformers 5.23): merged patches through three matrices.

use crate::models::tower_prelude::*;

/// `muse_glimmer`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["muse_glimmer"],
    tower: "muse_glimmer_vision",
    keys: &[stated(Out, "out_hidden_size", 6144), stated(Wide, "projector_hidden_size", 4096)],
    modules: &TowerModules {
        model_type: "muse_glimmer",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Matrix("projection", Out, Wide),
                Matrix("second projection", Wide, Wide),
                Matrix("third projection", Wide, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("muse_glimmer", Ties::OfWhole(false))],
    ..TowerSpec::PLAIN
};
