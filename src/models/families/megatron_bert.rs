//! `megatron-bert` (transformers 5.23, `models/megatron_bert`): BERT with norms before each half.

use crate::models::prelude::*;

/// `megatron-bert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["megatron-bert"],
    class: "MegatronBert",
    labels: &[("megatron-bert", "Megatron-BERT")],
    modules: &Modules {
        model_type: "megatron-bert",
        choice: FamilyChoice { rank: 63, word: "megatron-bert", label: "Megatron-BERT" },
        norms_follow_without_final: false,
        registers_norms_first: false,
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([1024, 4096], 24, 16, 29_056, 512),
    embedding_norm: false,
    final_norm: true,
    ..super::bert::FAMILY
};
