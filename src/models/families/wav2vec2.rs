//! `wav2vec2` and `hubert` (transformers 5.23, `models/wav2vec2`, `models/hubert`): an encoder of
//! sound, which convolutions make frames of. Its parameters are counted alone; of words it has one,
//! the frame that stands for masked ones.

use crate::models::prelude::*;

/// Convolutions that make frames of samples, with their norms.
fn frames(said: Said<'_>) -> u64 {
    // Seven of 512 columns: ten samples, then four times three and twice two of what lies before.
    let weights = said("conv_dim>conv_kernel", "1").unwrap_or(512 * 10 + 16 * 512 * 512);
    let columns = said("conv_dim", "+").unwrap_or(7 * 512);
    // A norm over groups stands behind the first alone, all others behind each.
    let normed = if said("", "feat_extract_norm=layer") == Some(1) {
        columns
    } else {
        said("conv_dim", "^+").unwrap_or(512)
    };
    weights + said("", "conv_bias").unwrap_or(0) * columns + 2 * normed
}

/// A frame as wide as the convolutions make it.
fn width(said: Said<'_>) -> u64 {
    said("conv_dim", "$").unwrap_or(512)
}

/// Parts before the blocks: convolutions, a norm and a matrix, and a convolution that tells where a
/// frame stands.
pub(super) fn before(model: &Counted, said: Said<'_>) -> u64 {
    let (h, c) = (model.hidden_size, width(said));
    let norm = said("", "feat_proj_layer_norm").unwrap_or(1) * 2 * c;
    let (taps, groups) = (
        said("", "num_conv_pos_embeddings").unwrap_or(128),
        said("", "num_conv_pos_embedding_groups").unwrap_or(16).max(1),
    );
    frames(said) + norm + c * h + h + taps + h * (h / groups) * taps + h
}

/// The layers of the class: letters, or what a guess of quantised frames takes.
pub(super) fn ends(model: &Counted, said: Said<'_>) -> u64 {
    let (h, c) = (model.hidden_size, width(said));
    let of = |key: &str, otherwise: u64| said("", key).unwrap_or(otherwise);
    let is = |classes: &[&str]| {
        classes.iter().any(|class| said("architectures", &format!("^{class}")) == Some(1))
    };
    let letters = of("vocab_size", 32);
    let (groups, vectors) = (of("num_codevector_groups", 2), of("num_codevectors_per_group", 320));
    let (code, guess) = (of("codevector_dim", 256), of("proj_codevector_dim", 256));
    if is(&[CLASSES[2], CLASSES[4], CLASSES[6]]) {
        letters * (h + 1)
    } else if is(&[CLASSES[1]]) {
        vectors * code + groups * vectors * (c + 1) + guess * (h + 1) + guess * (code + 1)
    } else {
        0
    }
}

/// The classes that files are saved from.
const CLASSES: &[&str] = &[
    "Wav2Vec2Model",
    "Wav2Vec2ForPreTraining",
    "Wav2Vec2ForCTC",
    "HubertModel",
    "HubertForCTC",
    "WavLMModel",
    "WavLMForCTC",
];

/// Nothing is masked in training where both rates are 0: then there is no frame that stands for
/// masked ones.
pub(super) fn unmasked(model: &Counted, said: Said<'_>) -> u64 {
    let never = |key: &str| said("", key) == Some(0);
    u64::from(
        never("mask_time_prob")
            && (never("mask_feature_prob") || said("", "mask_feature_prob*1").is_none()),
    ) * model.hidden_size
}

fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let blocks = model.num_hidden_layers * attention(model);
    (before(model, said) + blocks + ends(model, said)).saturating_sub(unmasked(model, said))
}

/// `wav2vec2`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["wav2vec2", "hubert"],
    class: "Wav2Vec2",
    saved_with: CLASSES,
    labels: &[("wav2vec2", "Wav2Vec2"), ("hubert", "HuBERT")],
    encoder: Some(Encoder { is_decoder: false, ..Encoder::DECODER }),
    own_rule: OwnSizes::RestOfFile(rest),
    sizes: Sizes::of([768, 3072], 12, 12, 1, 4096),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::Gelu,
    positions: Positions::Are(PositionEmbedding::None),
    attention_bias: Flag::Is(true),
    output_bias: Flag::Is(true),
    mlp_bias: Flag::Is(true),
    embedding_norm: true,
    final_norm: false,
    ties: Ties::Always,
    only: &[
        Only::else_refused("add_adapter", &["false"], "convolutions behind its blocks"),
        Only::else_refused("adapter_attn_dim", &[], "adapters of languages"),
        Only::else_refused("conv_pos_batch_norm", &["false"], "a norm over batches"),
    ],
    not_looked_at: &[
        "vocab_size",
        "adapter_kernel_size",
        "adapter_stride",
        "num_adapter_layers",
        "classifier_proj_size",
        "conv_stride",
        "feat_extract_norm",
        "mask_time_length",
        "num_feat_extract_layers",
        "num_negatives",
        "output_hidden_size",
        "proj_codevector_dim",
        "codevector_dim",
        "num_codevector_groups",
        "num_codevectors_per_group",
        "tdnn_dim",
        "tdnn_dilation",
        "tdnn_kernel",
        "use_weighted_layer_sum",
        "xvector_output_dim",
        "do_stable_layer_norm",
        "mask_channel_length",
        "mask_feature_length",
        "num_buckets",
        "num_ctc_classes",
        "max_bucket_distance",
        "tokenizer_class",
        "feat_proj_layer_norm",
    ],
    ..super::counted::FAMILY
};
