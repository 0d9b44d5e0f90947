//! Parts of CLIP's tower (transformers 5.23, `models/clip`), which other models have a second time.

use super::tower_prelude::*;

/// A class token, patches and their positions, and a norm.
pub const BEFORE: TowerPart = TowerPart {
    times: One,
    layers: &[
        Vector("class token", Hidden),
        Matrix("patch embedding", Patch, Hidden),
        Table("position embedding", Positions, Hidden),
        LayerNorm(Hidden),
    ],
};

/// The norm behind the blocks.
pub const BEHIND: TowerPart = TowerPart { times: One, layers: &[LayerNorm(Hidden)] };
