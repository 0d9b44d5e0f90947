//! `nomic_bert` (transformers 5.23, `models/nomic_bert`): BERT with rotated heads and a gated
//! feed-forward layer, without biases in blocks.

use crate::models::prelude::*;

/// `nomic_bert`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["nomic_bert"],
    class: "NomicBert",
    labels: &[("nomic_bert", "Nomic BERT")],
    modules: &Modules {
        model_type: "nomic_bert",
        choice: FamilyChoice { rank: 67, word: "nomic-bert", label: "Nomic BERT" },
        position_ids: PositionIds::Counted,
        encoder: EncoderModules {
            tasks: TaskHeads::dense(DenseFunction::Tanh),
            makes_types: true,
            ..EncoderModules::PLAIN
        },
        shape: Some(ShapeRule {
            encoder: true,
            mlp: MlpKind::Gated,
            attention_bias: Some(false),
            mlp_bias: Some(false),
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        ..*super::bert::FAMILY.modules
    },
    sizes: Sizes::of([768, 3072], 12, 12, 30_528, 2048),
    positions: Positions::Are(PositionEmbedding::Rotary),
    mlp: MlpKind::Gated,
    act: HiddenAct::Silu,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    mlp_bias: Flag::Is(false),
    ..super::bert::FAMILY
};
