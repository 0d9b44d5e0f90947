//! `vit` and `deit` (transformers 5.23, `models/vit`, `models/deit`): an encoder of images. Its
//! parameters are counted alone; of words it has one, which sums an image up.

use crate::models::prelude::*;

/// Patches, their positions, attention, and the layers of the class: a pooler, or classes.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let of = |key: &str, otherwise: u64| said("", key).unwrap_or(otherwise);
    let side = of("patch_size", 16).max(1);
    let along = of("image_size", 224) / side;
    let patches = h * (of("num_channels", 3) * side * side + 1);
    let is = |class: &str| said("architectures", &format!("^{class}")) == Some(1);
    // A distilled model has a further token with a position of its own.
    let distilled = u64::from(DISTILLED.iter().any(|class| is(class)));
    let positions = (along * along + 1 + distilled) * h + distilled * h;
    let attention = 4 * h * h + of("qkv_bias", 1) * 3 * h + h;
    let classes = said("id2label", "").unwrap_or_else(|| of("num_labels", 2)) * (h + 1);
    let ends = if is(CLASSES[1]) || is(CLASSES[3]) {
        classes
    } else if is(CLASSES[4]) {
        2 * classes
    } else {
        h * h + h
    };
    patches + positions + model.num_hidden_layers * attention + ends
}

/// The classes that files are saved from.
const CLASSES: &[&str] = &[
    "ViTModel",
    "ViTForImageClassification",
    "DeiTModel",
    "DeiTForImageClassification",
    "DeiTForImageClassificationWithTeacher",
];
/// Classes with a token for the teacher's answer (distillation).
const DISTILLED: &[&str] =
    &["DeiTModel", "DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"];

/// `vit`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["vit", "deit"],
    class: "ViT",
    saved_with: CLASSES,
    labels: &[("vit", "ViT"), ("deit", "DeiT")],
    encoder: Some(Encoder { is_decoder: false, ..Encoder::DECODER }),
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([768, 3072], 12, 12, 1, 4096),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::Gelu,
    positions: Positions::Are(PositionEmbedding::None),
    mlp_bias: Flag::Is(true),
    ties: Ties::Always,
    only: &[Only::else_refused("pooler_output_size", &[], "a summary of another width")],
    not_looked_at: &["vocab_size", "encoder_stride"],
    ..super::counted::FAMILY
};
