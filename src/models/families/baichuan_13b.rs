//! The larger Baichuan (code of its own on the hub, `baichuan-inc/Baichuan2-13B-Base`), whose files
//! go by the name of the smaller one: linear biases of the scores in place of rotation.

use crate::models::prelude::*;

/// `baichuan` of 5120 columns.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["baichuan-13b"],
    class: "Baichuan13B",
    saved_with: &["Baichuan", "BaiChuan"],
    positions: Positions::Are(PositionEmbedding::Alibi),
    sizes: Sizes::of([5120, 13_696], 40, 40, 125_696, 4096),
    instead: &[],
    ..super::baichuan::FAMILY
};
