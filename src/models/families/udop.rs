//! `udop` (transformers 5.23, `models/udop`): T5 whose encoder embeds patches and places in a page,
//! too, and whose scores have biases of places beside those of order. Parameters are counted alone.

use crate::models::prelude::*;

/// Patches' parameters, and a table of places along each axis of a page.
const OF_ENCODER: &[Further] = &[
    Further::of_model("patch embedding weight", [Extent::Own(4), Extent::Hidden]),
    Further::vector_of_model("patch embedding bias", Extent::Hidden),
    Further::times(Extent::Of(2), "embedding of places", [Extent::Own(1), Extent::Hidden]),
    Further::times(Extent::Of(2), "biases of places", [Extent::Of(32), Extent::Heads]),
];

/// The decoder's own copy of the first of them, and its biases.
const OF_DECODER: &[Further] = &[
    Further::of_model("patch embedding weight", [Extent::Own(4), Extent::Hidden]),
    Further::vector_of_model("patch embedding bias", Extent::Hidden),
    Further::times(Extent::Of(2), "biases of places", [Extent::Of(32), Extent::Heads]),
];

/// Numbers of a patch.
fn finish(model: &mut ModelConfig) {
    if let Some(source) = &mut model.source {
        let [_, _, side, channels, ..] = source.own;
        source.own[4] = side.saturating_mul(side).saturating_mul(channels);
    }
}

/// `udop`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["udop"],
    class: "Udop",
    labels: &[("udop", "UDOP")],
    modules: &Modules {
        model_type: "udop",
        choice: FamilyChoice { rank: 177, word: "udop", label: "UDOP" },
        encoder: EncoderModules {
            trains: false,
            further: OF_DECODER,
            ..super::t5::FAMILY.modules.encoder
        },
        source: Some(&Modules {
            encoder: EncoderModules { further: OF_ENCODER, ..super::t5::FAMILY.modules.encoder },
            ..*super::t5::FAMILY.modules
        }),
        ..*super::t5::FAMILY.modules
    },
    own_sizes: &[
        ("relative_attention_num_buckets", 32),
        ("max_2d_position_embeddings", 1024),
        ("patch_size", 16),
        ("num_channels", 3),
    ],
    source: Some(SourceKeys {
        deep: true,
        always_tied: true,
        feed_forward: "relu",
        finish,
        ..SourceKeys::of(("num_layers", 24))
    }),
    sizes: Sizes::of([1024, 4096], 24, 16, 33_201, 512).head(64),
    not_looked_at: &[
        "relative_attention_max_distance",
        "relative_bias_args",
        "dense_act_fn",
        "is_gated_act",
        "scale_decoder_outputs",
        "n_positions",
        "image_size",
    ],
    ..super::t5::FAMILY
};
