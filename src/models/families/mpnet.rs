//! `mpnet` (transformers 5.23, `models/mpnet`): RoBERTa with a table of how far keys lie from
//! queries, which all blocks share.

use crate::models::prelude::*;

/// `mpnet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["mpnet"],
    class: "MPNet",
    labels: &[("mpnet", "MPNet")],
    modules: &Modules {
        model_type: "mpnet",
        choice: FamilyChoice { rank: 73, word: "mpnet", label: "MPNet" },
        encoder: EncoderModules {
            tasks: TaskHeads::POOLING,
            embedding: EmbeddedParts::WithDistances,
            buffers: PositionBuffers::OfPositions,
            head_takes_gelu: true,
            writes_attention: true,
            runs_again: false,
            ..EncoderModules::PLAIN
        },
        ..*super::roberta::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_527, 512),
    encoder: Some(Encoder::UNTYPED),
    own_sizes: &[("relative_attention_num_buckets", 32)],
    ..super::bert::FAMILY
};
