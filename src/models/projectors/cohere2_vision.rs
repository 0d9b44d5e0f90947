//! `cohere2_vision` (transformers 5.23): shuffled patches through a gated layer.

use super::internvl::merged;
use crate::models::tower_prelude::*;

/// `cohere2_vision`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["cohere2_vision"],
    tower: "siglip_vision_model",
    keys: &[
        stated(Merge, "downsample_factor", 2),
        stated(Wide, "alignment_intermediate_size", 36_864),
    ],
    follow,
    modules: &TowerModules {
        model_type: "cohere2_vision",
        parts: &[TowerPart {
            times: One,
            layers: &[
                Linear("projection", Merged, Wide),
                Linear("second projection", Derived, Text),
            ],
        }],
        buffers: &[],
    },
    ties: &[("cohere2_vision", Ties::OfWhole(true))],
    ..TowerSpec::PLAIN
};

/// Half of the first matrix's columns gate the other half.
fn follow(sizes: &mut TowerSizes) {
    merged(sizes);
    sizes.set(Derived, sizes.get(Wide) / 2);
}
