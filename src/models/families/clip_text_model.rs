//! `clip_text_model`, the part for text of CLIP (transformers 5.23, `models/clip`): it makes one
//! vector of a text, which is compared with that of an image. Its parameters are counted alone; the
//! matrices into the shared space belong to the projector.

use crate::models::prelude::*;

/// `clip_text_model`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["clip_text_model", "clip"],
    class: "CLIPText",
    saved_with: &["CLIPModel", "CLIPTextModel"],
    labels: &[("clip_text_model", "CLIP"), ("clip", "CLIP")],
    encoder: Some(Encoder { is_decoder: false, ..Encoder::DECODER }),
    sizes: Sizes::of([512, 2048], 12, 8, 49_408, 77),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::QuickGelu,
    positions: LEARNED,
    attention_bias: Flag::Is(true),
    output_bias: Flag::Is(true),
    mlp_bias: Flag::Is(true),
    ties: Ties::Always,
    not_looked_at: &["projection_dim"],
    ..super::counted::FAMILY
};
