//! The header of a safetensors file, and the index of a checkpoint in several files.
//!
//! A file begins with the length of its header, eight bytes, and the header, JSON: each tensor's
//! format, shape, and where it stands.

use serde_json::{Map, Value};

use super::stored::StoredTensor;

/// The longest header that the format allows, bytes.
const LONGEST_HEADER: usize = 100_000_000;

/// An index: where each tensor lies, and how much there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// Names of all tensors.
    pub names: Vec<String>,
    /// Bytes of all together.
    pub total_size: Option<u64>,
}

/// Formats of numbers with their widths, bits.
const FORMATS: [(&str, u64); 20] = [
    ("F64", 64),
    ("F32", 32),
    ("F16", 16),
    ("BF16", 16),
    ("I64", 64),
    ("I32", 32),
    ("I16", 16),
    ("I8", 8),
    ("U64", 64),
    ("U32", 32),
    ("U16", 16),
    ("U8", 8),
    ("BOOL", 8),
    ("F8_E4M3", 8),
    ("F8_E5M2", 8),
    ("F8_E8M0", 8),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("F4", 4),
    ("C64", 64),
];

/// The tensors of a file whose beginning this is; why it is none.
pub(super) fn header(start: &[u8]) -> Result<Vec<StoredTensor>, String> {
    let Some((length, rest)) = start.split_first_chunk::<8>() else {
        return Err("it ends before its header".to_owned());
    };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > LONGEST_HEADER {
        return Err("its first eight bytes are no length of a safetensors header".to_owned());
    }
    let Some(header) = rest.get(..length) else {
        return Err("its header is longer than what was read of it".to_owned());
    };
    let keys: Map<String, Value> = serde_json::from_slice(header)
        .map_err(|error| format!("its header is no JSON ({error})"))?;
    keys.into_iter()
        .filter(|(name, _)| name != "__metadata__")
        .map(|(name, value)| tensor(name, &value))
        .collect()
}

fn tensor(name: String, value: &Value) -> Result<StoredTensor, String> {
    let numbers = |key: &str| -> Option<Vec<u64>> {
        value.get(key)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    let told = value
        .get("dtype")
        .and_then(Value::as_str)
        .zip(numbers("shape"))
        .zip(numbers("data_offsets"));
    let Some(((dtype, shape), offsets)) = told else {
        return Err(format!("its header does not describe {name}"));
    };
    let Some((format, bits)) = FORMATS.iter().find(|(word, _)| *word == dtype) else {
        return Err(format!("{name} is in the format {dtype}, which is not known here"));
    };
    let elements = shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
    let bytes = match offsets.as_slice() {
        [begin, end] => end.checked_sub(*begin),
        _ => None,
    };
    match elements.zip(bytes) {
        Some((elements, bytes))
            if elements.checked_mul(*bits).map(|bits| bits.div_ceil(8)) == Some(bytes) =>
        {
            Ok(StoredTensor { name, elements, bytes, format })
        }
        _ => Err(format!("the shape of {name} and its place in the file contradict each other")),
    }
}

/// True for a text that looks like an index.
pub(super) fn is_index(start: &[u8]) -> bool {
    object(start).is_some_and(|keys| keys.get("weight_map").is_some_and(Value::is_object))
}

/// Reads an index, or says why it is none.
pub(super) fn index(start: &[u8]) -> Result<Index, String> {
    let keys = object(start).ok_or_else(|| "it is no JSON".to_owned())?;
    let Some(map) = keys.get("weight_map").and_then(Value::as_object) else {
        return Err("it names no tensors under weight_map".to_owned());
    };
    let total_size = keys
        .get("metadata")
        .and_then(|metadata| metadata.get("total_size"))
        .and_then(Value::as_u64);
    Ok(Index { names: map.keys().cloned().collect(), total_size })
}

/// The text as a group of keys.
pub(super) fn object(start: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(start).ok()
}
