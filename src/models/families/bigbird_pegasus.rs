//! `bigbird_pegasus` (transformers 5.23, `models/bigbird_pegasus`): norms before each part and
//! behind each stack, attention to blocks of the text, which is counted alone.

use crate::models::prelude::*;

/// The decoder's own class has a head of its own, whatever a file says.
fn finish(model: &mut ModelConfig) {
    model.tie_word_embeddings &= model.beside().is_some();
}

/// `bigbird_pegasus`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bigbird_pegasus"],
    class: "BigBirdPegasus",
    labels: &[("bigbird_pegasus", "BigBird-PEGASUS")],
    modules: &Modules {
        model_type: "bigbird_pegasus",
        choice: FamilyChoice { rank: 172, word: "bigbirdpegasus", label: "BigBird-PEGASUS" },
        encoder: EncoderModules { trains: false, ..super::bart::FAMILY.modules.encoder },
        shape: Some(ShapeRule {
            source: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..*super::bart::FAMILY.modules
    },
    positions: LEARNED,
    embedding_norm: false,
    final_norm: true,
    act: HiddenAct::GeluNew,
    attention_bias: Flag::Key("use_bias", false),
    output_bias: Flag::Key("use_bias", false),
    source: Some(SourceKeys { finish, ..SourceKeys::encoder(16, 16, 4096).or_absent() }),
    not_looked_at: &[
        "encoder_layerdrop",
        "decoder_layerdrop",
        "attention_type",
        "block_size",
        "num_random_blocks",
    ],
    sizes: Sizes::of([1024, 4096], 16, 16, 96_103, 4096),
    ..super::bart::FAMILY
};
