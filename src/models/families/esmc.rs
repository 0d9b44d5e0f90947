//! `esmc` (transformers 5.23, `models/esmc`): llama with layer norms over proteins, of which every
//! letter sees all.

use crate::models::prelude::*;

/// `esmc`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["esmc"],
    class: "Esmc",
    labels: &[("esmc", "ESM C")],
    modules: &Modules {
        model_type: "esmc",
        choice: FamilyChoice { rank: 91, word: "esmc", label: "ESM C" },
        hands_on_positions: false,
        registers_head_bias_twice: false,
        shape: Some(ShapeRule {
            encoder: true,
            mlp: MlpKind::Gated,
            output_bias_as_others: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        measured: Measured { written_out: false, ..Modules::PLAIN.measured },
        encoder: EncoderModules {
            trains: false,
            further: &[
                Further::vector_in_blocks("query norm", Extent::Hidden),
                Further::vector_in_blocks("key norm", Extent::Hidden),
                Further::vector_of_model("final norm", Extent::Hidden),
            ],
            buffers: PositionBuffers::None,
            head_takes_gelu: true,
            ..EncoderModules::PLAIN
        },
        ..*super::nomic_bert::FAMILY.modules
    },
    sizes: Sizes::of([2560, 6912], 80, 40, 64, 2048),
    tied: false,
    // Its classes name no weights to tie.
    ties: Ties::Never,
    embedding_norm: false,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    key_value_heads: KeyValueHeads::Stated,
    encoder: Some(Encoder::UNTYPED),
    ..super::nomic_bert::FAMILY
};
