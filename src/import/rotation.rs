//! The rotated part of a head.

use super::layers::{FULL, SLIDING};
use super::reader::Reader;
use super::sizes::MAX_SIZE;
use super::value::{Object, Value};
use super::{How, ImportError};
use crate::models::FamilySpec;
use crate::units::to_f64;

/// The rotated part of a head; `None` for all of it.
pub(super) fn rotary_dim(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    head_dim: u64,
) -> Result<Option<u64>, ImportError> {
    let looks = !kind.not_looked_at.contains(&"rotary_dim");
    if looks && let Some(stated) = file.optional(&["rotary_dim"], MAX_SIZE)? {
        return Ok(Some(stated).filter(|stated| *stated < head_dim));
    }
    let (percent, how) = match rotated_share(file, kind)? {
        Some(factor) => (100.0 * factor, How::Read),
        None => (kind.rotary_percent, How::Assumed),
    };
    file.without_effect(&["partial_rotary_factor", "rotary_pct"]);
    file.asks(
        "partial_rotary_factor",
        Value::OtherNumber((percent / 100.0).to_string()),
        how == How::Read,
    );
    // The product of two short decimals can lie a hair below a whole number.
    let width = (to_f64(head_dim) * percent / 100.0 + 1e-6).floor();
    let width: u64 = format!("{width:.0}").parse().unwrap_or(head_dim);
    // Tables are made of pairs of columns, one for every second number below the width.
    let width = width.next_multiple_of(2);
    if width >= head_dim {
        return Ok(None);
    }
    file.tell("rotary_dim", &width, how, "The rotated part of each head.");
    Ok(Some(width))
}

/// The rotated share of a head, as the file states it. Kinds with rotary tables for each sort of
/// layers state it for each sort.
fn rotated_share(file: &Reader<'_>, kind: &FamilySpec) -> Result<Option<f64>, ImportError> {
    const KEY: &str = "partial_rotary_factor";
    let nested = match file.peek("rope_parameters").or_else(|| file.peek("rope_scaling")) {
        Some(Value::Object(keys)) if kind.modules.tables_for_each_kind => {
            let [whole, sliding] = [FULL, SLIDING].map(|sort| match keys.get(sort) {
                // Its tables are as wide as the head, with zeros.
                Some(Value::Object(of_sort)) if is_proportional(of_sort) => Some(&Value::Whole(1)),
                Some(Value::Object(of_sort)) => of_sort.get(KEY),
                _ => None,
            });
            // Where layers that slide rotate the whole head, the share is that of the others.
            let rotates_whole = kind.modules.other_heads_rotate_whole;
            let sliding = sliding.filter(|share| !rotates_whole || **share != Value::Whole(1));
            if whole.zip(sliding).is_some_and(|(whole, sliding)| whole != sliding) {
                return Err(ImportError::not_modelled(format!(
                    "rotated parts of two widths ({KEY})"
                )));
            }
            whole.or(sliding)
        }
        Some(Value::Object(keys)) => keys.get(KEY),
        _ => None,
    };
    match nested.or_else(|| file.peek(KEY)).or_else(|| file.peek("rotary_pct")) {
        None => Ok(None),
        Some(Value::Whole(1)) => Ok(Some(1.0)),
        Some(Value::OtherNumber(text)) => {
            let factor = text.parse::<f64>().ok().filter(|factor| (0.0..1.0).contains(factor));
            Ok(Some(factor.unwrap_or(1.0)))
        }
        Some(other) => Err(ImportError::wrong_type(KEY, "a number from 0 to 1", other)),
    }
}

/// True if frequencies of the whole head are made, of which some are zero.
fn is_proportional(rotation: &Object) -> bool {
    matches!(rotation.get("rope_type"), Some(Value::Text(word)) if word == "proportional")
}
