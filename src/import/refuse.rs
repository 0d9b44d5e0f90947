//! Structures that the estimates do not cover, told apart so that the message can name them.

use super::ImportError;
use super::value::{Object, Value};
use crate::models::{FamilySpec, OwnSizes};

/// Refuses a kind or a key that means a structure outside dense decoders.
pub(super) fn not_modelled(model_type: &str, file: &Object) -> Result<(), ImportError> {
    let listed = crate::models::of(model_type);
    let by_key = from_keys(file, listed);
    let from_kind = || if listed.is_some() { None } else { from_kind(model_type) };
    if let Some(what) =
        by_key.or_else(|| from_kind().map(|what| format!("{what} (model_type {model_type})")))
    {
        return Err(ImportError::not_modelled(what));
    }
    let of_class =
        super::value::class_of(file.get("architectures")).and_then(crate::models::of_class);
    let predicts_masked = listed.into_iter().chain(of_class).any(|kind| kind.encoder.is_some());
    let stated = super::value::class_of(file.get("architectures"));
    let is_its_own =
        |kind: &FamilySpec| stated.is_some_and(|class| kind.saved_with.contains(&class));
    if listed.is_some_and(|kind| is_its_own(kind) || super::task::of_file(file, kind).is_some()) {
        return Ok(());
    }
    class(file, predicts_masked, listed.is_some()).map_or(Ok(()), |class| {
        Err(ImportError::NotADecoder { shown_by: format!("architectures: {class}") })
    })
}

/// Structures that the keys give away; of a kind whose states or streams are known, not that it has
/// some.
fn from_keys(file: &Object, kind: Option<&FamilySpec>) -> Option<String> {
    let has_states = kind.is_some_and(|kind| kind.states.is_some());
    let has_streams = kind.is_some_and(|kind| kind.streams.is_some() || kind.embeds_each_layer);
    let is_set = |key: &str| {
        !matches!(file.get(key), None | Some(Value::Null | Value::Bool(false) | Value::Whole(0)))
    };
    let named = |what: &str, key: &str| Some(format!("{what} ({key})"));
    let counts = kind
        .is_some_and(|kind| matches!(kind.own_rule, OwnSizes::Rest(_) | OwnSizes::RestOfFile(_)));
    let has_source = kind.is_some_and(|kind| kind.source.is_some());
    // Of a decoder that is counted alone the encoder is counted, too.
    let reads_encoder =
        counts && kind.is_some_and(|kind| kind.encoder.is_some_and(|encoder| encoder.is_decoder));
    if is_set("is_encoder_decoder") && !has_source && !reads_encoder {
        return named("an encoder beside its decoder", "is_encoder_decoder");
    }
    for key in ["add_cross_attention", "cross_attention_layers"] {
        if is_set(key) && !has_source && kind.is_none_or(|kind| kind.crossed != Some(key)) {
            return named("cross-attention", key);
        }
    }
    let of_states = file.keys().find(|key| key.starts_with("mamba_") || key.starts_with("ssm_"));
    if let Some(key) = of_states.filter(|_| !(has_states || counts)) {
        return named("state-space layers", key);
    }
    let differs = kind.is_some_and(|kind| kind.modules.differential);
    let states = if has_states { &[][..] } else { &STATES[..] };
    let streams = if has_streams { &[][..] } else { &STREAMS[..] };
    let mixed = if kind.is_some_and(|kind| kind.compresses) { &[][..] } else { &MIXED_STREAMS[..] };
    for (key, what) in STRUCTURES.iter().chain(streams).chain(mixed).chain(states).copied() {
        if is_set(key) && !(counts || differs && key == DIFFERS) {
            return named(what, key);
        }
    }
    if counts {
        return None;
    }
    let sees = ["vision_config", "image_size", "num_mel_bins"].into_iter().find(|key| is_set(key));
    let reads =
        super::keys::TEXT_PARTS.into_iter().chain(["decoder_config", "vocab_size"]).any(is_set);
    match (sees, reads) {
        (Some(key), false) => named("only a part for images or sound", key),
        _ => None,
    }
}

/// The key of files whose attention is differential.
const DIFFERS: &str = "lambda_std_dev";

/// Keys that only one structure has.
const STRUCTURES: [(&str, &str); 5] = [
    ("cross_layer_attention", "keys and values that layers share"),
    ("mtp_block_configs", "blocks of different shapes"),
    ("block_configs", "blocks of different shapes"),
    ("zero_expert_num", "experts that do nothing"),
    (DIFFERS, "differential attention"),
];

/// Keys of several residual streams and of layers' own embeddings.
const STREAMS: [(&str, &str); 1] =
    [("hidden_size_per_layer_input", "an embedding of its own for every layer")];

/// Keys of streams that a block mixes.
const MIXED_STREAMS: [(&str, &str); 1] = [("hc_mult", "several residual streams")];

/// Keys of layers that keep a state.
const STATES: [(&str, &str); 7] = [
    ("state_size", "state-space layers"),
    ("layers_block_type", "state-space layers"),
    ("hybrid_override_pattern", "state-space layers"),
    ("linear_attn_config", "layers of linear attention"),
    ("linear_num_value_heads", "layers of linear attention"),
    ("full_attention_interval", "layers of linear attention"),
    ("conv_L_cache", "layers of convolution"),
];

/// The class under `architectures`, where it is one of another task; encoders predict masked
/// tokens. Of a kind that is listed, one that classifies tokens or finds answers is counted without
/// what it has for that, and named.
fn class(file: &Object, predicts_masked: bool, is_listed: bool) -> Option<String> {
    let class = super::value::class_of(file.get("architectures"))?;
    let others = ["ImageClassification", "ForCTC", "Segmentation", "Detection"];
    let of_text = ["TokenClassification", "QuestionAnswering"];
    let is = |parts: &[&str]| parts.iter().any(|part| class.contains(part));
    let is_other =
        is(&others) || (!is_listed && is(&of_text)) || (!predicts_masked && is(&["MaskedLM"]));
    is_other.then(|| super::value::shortened(class))
}

/// The structure that follows from the kind alone.
fn from_kind(model_type: &str) -> Option<&'static str> {
    let what = match model_type {
        "clip_vision_model" | "siglip_vision_model" | "dinov2" | "swin" | "convnext" => {
            "a vision model's structure"
        }
        "mllama" => "cross-attention",
        _ => return None,
    };
    Some(what)
}
