//! `deepseek_v32` (transformers 5.23, `models/deepseek_v32`): DeepSeek-V3 with an indexer, which is named as not counted.

use crate::models::prelude::*;

/// `deepseek_v32`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["deepseek_v32"],
    class: "DeepseekV32",
    labels: &[("deepseek_v32", "DeepSeek-V3.2")],
    family: Family::Generic,
    never_counted: INDEXER,
    ..super::deepseek_v3::FAMILY
};
