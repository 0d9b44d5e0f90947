//! `pix2struct` (transformers 5.23, `models/pix2struct`): an encoder of patches with a table of
//! rows and one of columns, and T5's decoder with a head of its own. Parameters are counted alone.

use crate::models::prelude::*;

/// `pix2struct`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["pix2struct"],
    class: "Pix2Struct",
    labels: &[("pix2struct", "Pix2Struct")],
    modules: &Modules {
        model_type: "pix2struct",
        choice: FamilyChoice { rank: 178, word: "pix2struct", label: "Pix2Struct" },
        encoder: EncoderModules { trains: false, ..super::t5::FAMILY.modules.encoder },
        source: Some(&Modules {
            encoder: EncoderModules {
                embedding: EmbeddedParts::Tokens,
                further: &[
                    Further::of_model("patch projection", [Extent::Own(1), Extent::Hidden]),
                    Further::vector_of_model("patch projection bias", Extent::Hidden),
                    Further::times(
                        Extent::Of(2),
                        "embedding of places",
                        [Extent::Own(2), Extent::Hidden],
                    ),
                ],
                ..super::t5::FAMILY.modules.encoder
            },
            ..*super::t5::FAMILY.modules
        }),
        ..*super::t5::FAMILY.modules
    },
    own_names: &[
        ("num_hidden_layers", &["num_hidden_layers", "num_layers"]),
        ("num_attention_heads", &["num_attention_heads", "num_heads"]),
    ],
    sizes: Sizes::of([768, 2048], 12, 12, 50_244, 512),
    mlp: MlpKind::Gated,
    act: HiddenAct::GeluNew,
    tied: false,
    own_sizes: &[
        ("relative_attention_num_buckets", 32),
        ("encoder.patch_embed_hidden_size", 768),
        ("encoder.seq_len", 4096),
    ],
    source: Some(SourceKeys {
        groups: Some(["vision_config", "text_config"]),
        hidden: Some(("encoder.hidden_size", 768)),
        heads: Some(("encoder.num_attention_heads", 12)),
        head: Some(("encoder.d_kv", 64)),
        inner: Some(("encoder.d_ff", 2048)),
        shares_words: false,
        one_width: true,
        ..SourceKeys::of(("encoder.num_hidden_layers", 12))
    }),
    not_looked_at: &[
        // The decoder's matrices are as wide as the model, however wide its heads are said to be.
        "d_kv",
        "relative_attention_max_distance",
        "dense_act_fn",
        "encoder.dense_act_fn",
        "encoder.relative_attention_max_distance",
        "encoder.relative_attention_num_buckets",
        "encoder.layer_norm_eps",
    ],
    ..super::t5::FAMILY
};
