//! `blip_text_model`, the text part of BLIP (transformers 5.23): BERT's block as a decoder; the
//! layers that attend to patches belong to its projector.

use crate::models::prelude::*;

/// `blip_text_model`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["blip_text_model"],
    class: "BlipText",
    labels: &[("blip", "BLIP")],
    modules: &Modules::GENERIC,
    sizes: Sizes::of([768, 3072], 12, 8, 30_524, 512),
    encoder: Some(Encoder { head_transform: true, ..Encoder::UNTYPED }),
    ties: Ties::Either,
    not_looked_at: &["encoder_hidden_size", "projection_dim"],
    ..super::bert::FAMILY
};
