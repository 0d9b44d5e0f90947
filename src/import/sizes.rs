//! Sizes as numbers of a file: their bounds, and which of them must divide which.

use super::ImportError;
use super::value::Value;
use crate::config::ModelConfig;

/// The largest size accepted: far above any model, and small enough that all products stay exact.
pub(super) const MAX_SIZE: u64 = 10_000_000;

/// The largest number of layers accepted.
pub(super) const MAX_LAYERS: u64 = 10_000;

/// The longest sequence accepted, tokens.
pub(super) const MAX_POSITIONS: u64 = 1_000_000_000;

/// How many of the listed places are below `end`: a list may name layers that a smaller model does
/// not have.
pub(super) fn number_below(places: &[Value], end: u64) -> u64 {
    let is_there = |place: &&Value| matches!(place, Value::Whole(place) if *place < end);
    u64::try_from(places.iter().filter(is_there).count()).unwrap_or_default()
}

/// Sizes that some files state once for each layer.
fn may_be_listed(key: &str) -> bool {
    key.contains("moe")
        || key.contains("expert")
        || ["intermediate_size", "num_key_value_heads"].contains(&key)
}

/// A whole number from 1 to `max`; a list of one for each layer, where all of them are the same, is
/// that number.
pub(super) fn whole(key: &str, value: &Value, max: u64) -> Result<u64, ImportError> {
    match value {
        Value::List(of_layers) if may_be_listed(key) => match of_layers.split_first() {
            Some((first @ Value::Whole(_), others))
                if others.iter().all(|other| other == first) =>
            {
                whole(key, first, max)
            }
            Some((Value::Whole(_), _)) => {
                Err(ImportError::not_modelled(format!("layers that are not all alike ({key})")))
            }
            _ => Err(ImportError::wrong_type(key, "a whole number of at least 1", value)),
        },
        Value::Whole(number) if (1..=max).contains(number) => Ok(*number),
        Value::Whole(number) => {
            Err(ImportError::OutOfRange { key: key.to_owned(), value: *number, max })
        }
        other => Err(ImportError::wrong_type(key, "a whole number of at least 1", other)),
    }
}

/// The width of a head that divides the hidden size evenly.
pub(super) fn head_dim_of(hidden_size: u64, heads: u64) -> Result<u64, ImportError> {
    if heads == 0 || !hidden_size.is_multiple_of(heads) {
        return Err(ImportError::NotAMultiple {
            size: "hidden_size",
            value: hidden_size,
            part: "num_attention_heads",
            parts: heads,
        });
    }
    Ok(hidden_size / heads)
}

/// Query heads must come in groups of equal size.
pub(super) fn check_heads(config: &ModelConfig) -> Result<(), ImportError> {
    check_groups(config.num_attention_heads, config.num_key_value_heads)
}

/// So many query heads must come in so many groups of equal size.
pub(super) fn check_groups(heads: u64, kv_heads: u64) -> Result<(), ImportError> {
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(ImportError::NotAMultiple {
            size: "num_attention_heads",
            value: heads,
            part: "num_key_value_heads",
            parts: kv_heads,
        });
    }
    Ok(())
}
