//! Layers whose tokens see the chunk of the text that they are in.

use super::layers::{FULL, compact};
use super::reader::Reader;
use super::sizes::MAX_POSITIONS;
use super::value::Value;
use super::{How, ImportError};
use crate::config::LayerSet;

/// The word for such layers in `layer_types`.
const CHUNKED: &str = "chunked_attention";
/// The key of a chunk's tokens, and the library's default.
const SIZE: (&str, u64) = ("attention_chunk_size", 8192);
/// The keys of layers that rotate nothing, which see the whole text: their list, in which they are
/// 0, and how often there is one.
const UNROTATED: [&str; 2] = ["no_rope_layers", "no_rope_layer_interval"];
/// The library's default of the latter.
const INTERVAL: u64 = 4;

/// Tokens of a chunk, and the layers that see chunks; a size that is null switches them off.
pub(super) fn chunks(
    file: &mut Reader<'_>,
    layers: u64,
) -> Result<(Option<u64>, LayerSet), ImportError> {
    let stated =
        ["layer_types", UNROTATED[0], UNROTATED[1]].iter().any(|key| file.peek(key).is_some());
    let flags = listed(file)?.unwrap_or_else(|| by_rotation(file, layers));
    file.without_effect(&UNROTATED);
    if file.has(SIZE.0) && file.peek(SIZE.0).is_none() {
        file.without_effect(&[SIZE.0, "layer_types"]);
        file.asks(SIZE.0, Value::Null, true);
        return Ok((None, LayerSet::None));
    }
    let size = file.size_or(&[SIZE.0], MAX_POSITIONS, SIZE.1)?;
    // Links hold the list alone.
    let words = flags
        .iter()
        .map(|flag| Value::Text(if *flag { CHUNKED } else { FULL }.to_owned()))
        .collect();
    file.without_effect(&["layer_types"]);
    file.asks("layer_types", Value::List(words), stated);
    let count = flags.iter().filter(|flag| **flag).count();
    let note = "Layers whose tokens see the chunk that they are in.";
    file.tell("sliding_layers", &format!("{count} of {layers}"), How::Derived, note);
    Ok((Some(size), compact(flags)?))
}

/// The list of words, if the file has it.
fn listed(file: &Reader<'_>) -> Result<Option<Vec<bool>>, ImportError> {
    let Some(Value::List(words)) = file.peek("layer_types") else { return Ok(None) };
    let flag = |word: &Value| match word {
        Value::Text(word) if word == CHUNKED => Ok(true),
        Value::Text(word) if word == FULL => Ok(false),
        Value::Text(word) => {
            let word = super::value::shortened(word);
            Err(ImportError::not_modelled(format!("layers of the kind \"{word}\" (layer_types)")))
        }
        other => Err(ImportError::wrong_type("layer_types", "a list of texts", other)),
    };
    words.iter().map(flag).collect::<Result<_, _>>().map(Some)
}

/// Layers that rotate, by their list or by how often one does not.
fn by_rotation(file: &Reader<'_>, layers: u64) -> Vec<bool> {
    match (file.peek(UNROTATED[0]), file.peek(UNROTATED[1])) {
        (Some(Value::List(rotates)), _) if !rotates.is_empty() => {
            rotates.iter().map(|flag| *flag != Value::Whole(0)).collect()
        }
        (_, Some(Value::Whole(interval))) => every(layers, *interval),
        _ => every(layers, INTERVAL),
    }
}

/// All but every so many-th.
fn every(layers: u64, interval: u64) -> Vec<bool> {
    (1..=layers).map(|layer| !layer.is_multiple_of(interval.max(1))).collect()
}
