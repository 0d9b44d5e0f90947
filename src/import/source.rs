//! The encoder beside a decoder.

use super::ImportError;
use super::encoder::own_size;
use super::reader::{MAX_LAYERS, MAX_POSITIONS, MAX_SIZE, Reader, head_dim_of};
use crate::config::{ModelConfig, OWN_SIZES, Source};
use crate::models::FamilySpec;

/// The encoder beside a decoder of that kind: its blocks stand before the decoder's.
pub(super) fn source(file: &mut Reader<'_>, kind: &FamilySpec, config: &mut ModelConfig) -> Result<(), ImportError> {
    let Some(keys) = kind.source else { return Ok(()) };
    file.done_with(&["is_encoder_decoder"]);
    let mut size = |key: Option<(&'static str, u64)>, most, of_decoder| match key {
        Some((key, default)) => file.size_or(&[key], most, default),
        None => Ok(of_decoder),
    };
    let layers = size(Some(keys.layers), MAX_LAYERS, 0)?;
    let heads = size(keys.heads, MAX_SIZE, config.num_attention_heads)?;
    let of_decoder = if keys.heads.is_some() { heads } else { config.num_key_value_heads };
    let num_key_value_heads = size(keys.key_heads, MAX_SIZE, of_decoder)?;
    let intermediate_size = size(keys.inner, MAX_SIZE, config.intermediate_size)?;
    let positions = keys.positions.map(|(key, more)| Ok(size(Some(key), MAX_POSITIONS, 0)?.saturating_add(more)));
    let vocab_size = size(keys.vocab, MAX_SIZE, 0)?;
    let hidden_size = config.hidden_size;
    let head_dim = if keys.heads_of_decoder { config.head_dim } else { head_dim_of(hidden_size, heads)? };
    let mut own = [0; OWN_SIZES];
    for (size, (key, default)) in own.iter_mut().zip(kind.own_sizes) {
        *size = own_size(file, key, *default)?;
    }
    config.num_hidden_layers = config.num_hidden_layers.saturating_add(layers);
    config.source = Some(Source {
        layers,
        hidden_size,
        num_attention_heads: heads,
        num_key_value_heads,
        head_dim,
        intermediate_size,
        position_rows: positions.transpose()?.unwrap_or(config.position_rows),
        vocab_size,
        own,
    });
    (keys.finish)(config);
    Ok(())
}
