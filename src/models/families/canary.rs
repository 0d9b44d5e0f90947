//! `canary` (transformers 5.23, `models/canary`): a decoder with a norm behind its embedding that
//! reads sound. Its parameters are counted alone.

use crate::models::prelude::*;

/// `canary`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["canary_decoder"],
    class: "Canary",
    labels: &[("canary_decoder", "Canary")],
    modules: &Modules {
        model_type: "canary_decoder",
        choice: FamilyChoice { rank: 702, word: "canary", label: "Canary" },
        ..Modules::COUNTED
    },
    encoder: Some(Encoder::DECODER),
    own_rule: OwnSizes::Rest(attention_twice),
    sizes: Sizes::of([1024, 4096], 8, 8, 16_384, 1024).kv(8).head(128),
    act: HiddenAct::Relu,
    positions: Positions::Are(PositionEmbedding::None),
    attention_bias: Flag::Key("attention_bias", true),
    output_bias: Flag::Key("attention_bias", true),
    norms: Norms::Are(3),
    embedding_norm: true,
    head_bias: Flag::Is(true),
    tied: true,
    ..FamilySpec::CLASSIC
};
