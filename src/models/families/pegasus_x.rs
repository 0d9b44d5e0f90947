//! `pegasus_x` (transformers 5.23, `models/pegasus_x`): norms before each part and behind each
//! stack, an encoder that sees blocks and a few tokens of its own, which is counted alone.

use crate::models::prelude::*;

/// `pegasus_x`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["pegasus_x"],
    class: "PegasusX",
    labels: &[("pegasus_x", "PEGASUS-X")],
    modules: &Modules {
        model_type: "pegasus_x",
        choice: FamilyChoice { rank: 173, word: "pegasusx", label: "PEGASUS-X" },
        encoder: EncoderModules { trains: false, ..super::bart::FAMILY.modules.encoder },
        adds_buffer_to_logits: false,
        shape: Some(ShapeRule {
            source: true,
            may_norm_queries_and_keys: false,
            ..ShapeRule::CLASSIC
        }),
        source: Some(&Modules {
            encoder: EncoderModules {
                further: &[
                    Further::of_model(
                        "embedding of tokens that see all",
                        [Extent::Own(0), Extent::Hidden],
                    ),
                    Further::vector_in_blocks("norm scale of tokens that see all", Extent::Hidden),
                    Further::vector_in_blocks("norm bias of tokens that see all", Extent::Hidden),
                ],
                ..super::bart::SOURCE.encoder
            },
            ..super::bart::SOURCE
        }),
        ..*super::bart::FAMILY.modules
    },
    positions: Positions::Are(PositionEmbedding::None),
    embedding_norm: false,
    final_norm: true,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    own_sizes: &[("num_global_tokens", 32)],
    source: Some(SourceKeys::encoder(16, 16, 4096)),
    not_looked_at: &[
        "encoder_layerdrop",
        "decoder_layerdrop",
        "block_size",
        "stagger_local_blocks",
    ],
    sizes: Sizes::of([1024, 4096], 16, 16, 96_103, 16384),
    ..super::bart::FAMILY
};
