//! `hunyuan_v1_moe` (transformers 5.23, `models/hunyuan_v1_moe`): the dense HunYuan with experts and a shared one.

use crate::models::prelude::*;

/// `hunyuan_v1_moe`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["hunyuan_v1_moe"],
    class: "HunYuanMoEV1",
    experts: Some(Experts { shared: 1, ..Experts::of(1, 1) }),
    ..super::hunyuan_v1_dense::FAMILY
};
