//! The encoder beside a decoder.

use super::ImportError;
use super::activation::named_activation;
use super::decoder::LAYERS;
use super::encoder::own_size;
use super::reader::Reader;
use super::sizes::{MAX_LAYERS, MAX_POSITIONS, MAX_SIZE, head_dim_of, whole};
use super::value::{Object, Value, class_of};
use crate::config::{MlpKind, ModelConfig, OWN_SIZES, SourceEncoder};
use crate::models::{Absent, FamilySpec, SourceKeys};

/// The encoder beside a decoder of that kind: its blocks stand before the decoder's.
pub(super) fn source(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    let Some(keys) = kind.source else { return Ok(()) };
    // Files repeat the encoder's layers under the usual name, which these modules do not read.
    file.without_effect(&["is_encoder_decoder", "num_hidden_layers"]);
    if is_alone(file, keys.absent)? {
        config.source = Some(alone(file, kind, &keys, config.hidden_size)?);
        (keys.finish)(config);
        return Ok(());
    }
    let own = own_sizes(file, kind)?;
    let mut size = |key: Option<(&'static str, u64)>, most, of_decoder| match key {
        Some((key, default)) => file.size_or(&[key], most, default),
        None => Ok(of_decoder),
    };
    let layers = size(Some(keys.layers), MAX_LAYERS, 0)?;
    let heads = size(keys.heads, MAX_SIZE, config.num_attention_heads)?;
    let of_decoder = if keys.heads.is_some() { heads } else { config.num_key_value_heads };
    let num_key_value_heads = size(keys.key_heads, MAX_SIZE, of_decoder)?;
    let intermediate_size = size(keys.inner, MAX_SIZE, config.intermediate_size)?;
    let positions = keys
        .positions
        .map(|(key, more)| Ok(size(Some(key), MAX_POSITIONS, 0)?.saturating_add(more)));
    let vocab_size = size(keys.vocab, MAX_SIZE, 0)?;
    let hidden_size = size(keys.hidden, MAX_SIZE, config.hidden_size)?;
    if keys.one_width && hidden_size != config.hidden_size {
        return Err(ImportError::not_modelled(
            "an encoder of another width than its decoder (hidden_size)",
        ));
    }
    let of_heads =
        if keys.heads_of_decoder { config.head_dim } else { head_dim_of(hidden_size, heads)? };
    let head_dim = size(keys.head, MAX_SIZE, of_heads)?;
    config.num_hidden_layers = config.num_hidden_layers.saturating_add(layers);
    config.source = Some(SourceEncoder {
        layers,
        hidden_size,
        num_attention_heads: heads,
        num_key_value_heads,
        head_dim,
        intermediate_size,
        position_rows: positions.transpose()?.unwrap_or(config.position_rows),
        vocab_size,
        idle_vocab_size: 0,
        unscaled_output: false,
        own,
    });
    if !keys.feed_forward.is_empty() {
        feed_forward(file, keys.feed_forward, config)?;
    }
    words(file, &keys, config)?;
    (keys.finish)(config);
    Ok(())
}

/// The tables of words on both sides, and who shares one.
fn words(
    file: &mut Reader<'_>,
    keys: &SourceKeys,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    if keys.shares_words && file.unties_inside() {
        return Err(ImportError::not_modelled(
            "a head that is the embedding, beside embeddings of encoder and decoder of their own \
             (tie_word_embeddings)",
        ));
    }
    let own_words = keys.shares_words
        && keys.vocab.is_none()
        && !keys.always_tied
        && !config.tie_word_embeddings;
    if own_words && file.ties_inside() {
        file.upper_bound(
            "tie_word_embeddings",
            &false,
            "Encoder and decoder are counted with an embedding each; in this model they share one.",
        );
    }
    if let Some(source) = config.source.as_mut().filter(|_| own_words) {
        (source.vocab_size, source.idle_vocab_size) = (config.vocab_size, config.vocab_size);
    }
    if keys.always_tied {
        if let Some(source) = &mut config.source {
            source.unscaled_output = !config.tie_word_embeddings;
        }
        config.tie_word_embeddings = true;
    }
    Ok(())
}

/// Sizes that the family's own modules alone know.
fn own_sizes(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<[u64; OWN_SIZES], ImportError> {
    let mut own = [0; OWN_SIZES];
    for (size, (key, default)) in own.iter_mut().zip(kind.own_sizes) {
        *size = own_size(file, key, *default)?;
    }
    Ok(own)
}

/// True for a decoder that was saved without its encoder: its class says so, or that it is used as
/// a decoder.
fn is_alone(file: &mut Reader<'_>, absent: Absent) -> Result<bool, ImportError> {
    const KEY: &str = "is_decoder";
    if absent == Absent::Always {
        file.without_effect(&[KEY]);
        return Ok(true);
    }
    let class = class_of(file.peek("architectures"));
    let is_alone = match class {
        Some(class) => class.ends_with("ForCausalLM"),
        None => absent == Absent::MayBe && matches!(file.peek(KEY), Some(Value::Bool(true))),
    };
    if is_alone && absent == Absent::Never {
        return Err(ImportError::not_modelled(
            "a decoder without the encoder that its blocks read (architectures)".to_owned(),
        ));
    }
    if is_alone {
        file.without_effect(&[KEY]);
        file.asks(KEY, Value::Bool(true), true);
        file.implied(KEY, &true, "The decoder was saved without its encoder.");
    }
    Ok(is_alone)
}

/// The encoder that a decoder is without. Of its sizes the width of what cross-attention would read
/// is left.
fn alone(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    keys: &SourceKeys,
    hidden: u64,
) -> Result<SourceEncoder, ImportError> {
    let positions = keys.positions.map(|(key, _)| key);
    let of_encoder =
        [Some(keys.layers), keys.heads, keys.key_heads, keys.inner, positions, keys.vocab];
    for (key, _) in of_encoder.into_iter().flatten() {
        file.without_effect(&[key]);
    }
    let stated = keys.hidden.map(|(key, _)| file.optional(&[key], MAX_SIZE)).transpose()?.flatten();
    // The encoder's own sizes are not the decoder's, where this has no parameters that are made of
    // them.
    let own = if kind.modules.encoder.further.is_empty() {
        kind.own_sizes.iter().for_each(|(key, _)| file.without_effect(&[key]));
        [0; OWN_SIZES]
    } else {
        own_sizes(file, kind)?
    };
    Ok(SourceEncoder { hidden_size: stated.unwrap_or(hidden), own, ..SourceEncoder::default() })
}

/// The keys of a file that has a group for each side: those of the decoder, and beside them those
/// of the encoder.
pub(super) fn joined(file: &Object) -> Option<Object> {
    let Some(Value::Text(kind)) = file.get("model_type") else { return None };
    let [encoder, decoder] = crate::models::of(kind)?.source?.groups?;
    let (Some(Value::Object(encoder)), Some(Value::Object(decoder))) =
        (file.get(encoder), file.get(decoder))
    else {
        return None;
    };
    let mut keys = decoder.clone();
    let of_encoder = encoder.iter().filter(|(key, _)| *key != "model_type");
    keys.extend(of_encoder.map(|(key, value)| (format!("encoder.{key}"), value.clone())));
    for key in ["model_type", "architectures", "tie_word_embeddings", "is_encoder_decoder"] {
        keys.extend(file.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Some(keys)
}

/// Blocks of a decoder, which is as deep as its encoder where the file of some kinds does not say
/// how deep it is.
pub(super) fn layers_of(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<u64, ImportError> {
    let names = kind.names_of(LAYERS);
    let Some(keys) = kind.source.filter(|keys| keys.deep) else {
        return file.size_or(names, MAX_LAYERS, kind.sizes.layers);
    };
    let (key, default) = keys.layers;
    let layers = file.peek(key).map_or(Ok(default), |value| whole(key, value, MAX_LAYERS))?;
    file.size_or_derived(names, layers, "As many as the encoder has.")
}

/// The feed-forward layer by one word: an activation function, with `gated-` before it where
/// another matrix gates it.
fn feed_forward(
    file: &mut Reader<'_>,
    default: &str,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    const KEY: &str = "feed_forward_proj";
    let word = match file.peek(KEY) {
        Some(Value::Text(word)) => word.clone(),
        Some(other) => return Err(ImportError::wrong_type(KEY, "text", other)),
        None => default.to_owned(),
    };
    // Where the two contradict each other, the library's modules ask `is_gated_act`.
    let word = match (word.strip_prefix("gated-"), file.peek("is_gated_act")) {
        (Some("gelu"), Some(Value::Bool(false))) => "gelu_new".to_owned(),
        (Some(act), Some(Value::Bool(false))) => act.to_owned(),
        (None, Some(Value::Bool(true))) => format!("gated-{word}"),
        _ => word,
    };
    file.without_effect(&[KEY, "is_gated_act", "dense_act_fn"]);
    let stated = file.has(KEY) || file.has("is_gated_act");
    file.asks(KEY, Value::Text(word.clone()), stated);
    let (mlp, act) = match word.strip_prefix("gated-") {
        // The library takes this word for another function than the name says.
        Some("gelu") => (MlpKind::Gated, "gelu_new"),
        Some(act) => (MlpKind::Gated, act),
        None => (MlpKind::Plain, word.as_str()),
    };
    let unknown = || {
        ImportError::not_modelled(format!(
            "an activation function that is not known (feed_forward_proj: {word})"
        ))
    };
    config.mlp = mlp;
    config.hidden_act = named_activation(act).ok_or_else(unknown)?;
    Ok(())
}
