//! `cohere_asr` (transformers 5.23, `models/cohere_asr`): Canary's decoder with learned positions
//! and a head of its own. Its parameters are counted alone.

use crate::models::prelude::*;

/// `cohere_asr`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["cohere_asr"],
    class: "CohereAsr",
    labels: &[("cohere_asr", "Cohere ASR")],
    modules: &Modules {
        model_type: "cohere_asr",
        choice: FamilyChoice { rank: 703, word: "cohereasr", label: "Cohere ASR" },
        ..Modules::COUNTED
    },
    sizes: Sizes::of([1024, 4096], 8, 8, 16_384, 1024),
    positions: LEARNED,
    tied: false,
    ..super::canary::FAMILY
};
