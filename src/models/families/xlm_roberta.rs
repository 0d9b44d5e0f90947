//! `xlm-roberta` (transformers 5.23, `models/xlm_roberta`): RoBERTa's modules with defaults of its
//! own.

use crate::models::prelude::*;

/// `xlm-roberta`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["xlm-roberta"],
    class: "XLMRoberta",
    labels: &[("xlm-roberta", "XLM-RoBERTa")],
    sizes: Sizes::of([768, 3072], 12, 12, 30_522, 512),
    ..super::roberta::FAMILY
};
