//! `siglip_text_model`, the part for text of SigLIP (transformers 5.23, `models/siglip`): CLIP's,
//! with a matrix of its own behind it. Its parameters are counted alone.

use crate::models::prelude::*;

/// Attention, and a matrix into the shared space.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    model.num_hidden_layers * attention(model) + said("", "projection_size").unwrap_or(h) * (h + 1)
}

/// `siglip_text_model`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["siglip_text_model", "siglip"],
    class: "SiglipText",
    saved_with: &["SiglipModel", "SiglipTextModel"],
    labels: &[("siglip_text_model", "SigLIP"), ("siglip", "SigLIP")],
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([768, 3072], 12, 12, 32_000, 64),
    act: HiddenAct::Gelu,
    ..super::clip_text_model::FAMILY
};
