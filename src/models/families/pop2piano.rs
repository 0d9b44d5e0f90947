//! `pop2piano` (transformers 5.23, `models/pop2piano`): T5 that reads sound: an embedding of
//! composers stands before it.

use crate::models::prelude::*;

/// The head is not tied, whatever the file says.
fn untied(model: &mut ModelConfig) {
    model.tie_word_embeddings = false;
}

/// `pop2piano`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["pop2piano"],
    class: "Pop2Piano",
    labels: &[("pop2piano", "Pop2Piano")],
    modules: &Modules {
        model_type: "pop2piano",
        choice: FamilyChoice { rank: 164, word: "pop2piano", label: "Pop2Piano" },
        encoder: EncoderModules {
            trains: false,
            further: &[Further::of_model(
                "embedding of composers",
                [Extent::Own(1), Extent::Hidden],
            )],
            ..super::t5::FAMILY.modules.encoder
        },
        ..*super::t5::FAMILY.modules
    },
    sizes: Sizes::of([512, 2048], 6, 8, 2_400, 512).head(64),
    own_sizes: &[("relative_attention_num_buckets", 32), ("composer_vocab_size", 21)],
    source: Some(SourceKeys {
        deep: true,
        finish: untied,
        feed_forward: "gated-gelu",
        ..SourceKeys::of(("num_layers", 6))
    }),
    ..super::t5::FAMILY
};
