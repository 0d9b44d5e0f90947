//! The feed-forward layer's inner width.

use super::reader::Reader;
use super::sizes::{MAX_SIZE, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::models::{FamilySpec, InnerWidth};

/// As the kind's files state it, or as it follows from the hidden size.
pub(super) fn inner(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    hidden: u64,
) -> Result<u64, ImportError> {
    if matches!(kind.inner, InnerWidth::RatioOrStated(_))
        && let Some(ratio) = file.optional(&["expansion_ratio"], 1000)?
    {
        let width = hidden.saturating_mul(ratio);
        file.implied("intermediate_size", &width, "expansion_ratio × hidden_size.");
        return Ok(width);
    }
    if let InnerWidth::Multiple((key, default)) = kind.inner {
        let width = hidden.saturating_mul(file.size_or(&[key], MAX_SIZE, default)?);
        file.implied("intermediate_size", &width, "A multiple of hidden_size.");
        return Ok(width);
    }
    if let InnerWidth::Factor(default) = kind.inner {
        let width = super::states::multiple(file, "ffn_proj_factor", default, hidden);
        file.without_effect(&["ffn_proj_factor", "ffn_round_up_to_multiple_of"]);
        return file.size_or_derived(
            &["intermediate_size"],
            width,
            "ffn_proj_factor × hidden_size, rounded up.",
        );
    }
    if let InnerWidth::TwoThirds { may_be_stated, default } = kind.inner {
        return two_thirds(file, may_be_stated, default, hidden);
    }
    let four_times = hidden.saturating_mul(4);
    let names = match kind.inner {
        InnerWidth::Stated(names) | InnerWidth::RatioOrStated(names) => names,
        InnerWidth::HalfOf(names) => {
            let both = file.size_or(names, MAX_SIZE, kind.sizes.inner)?;
            file.tell(
                "inner_width",
                &(both / 2),
                How::Derived,
                "Gate and up are each half as wide as the file says.",
            );
            return Ok((both / 2).max(1));
        }
        InnerWidth::Factor(_)
        | InnerWidth::TwoThirds { .. }
        | InnerWidth::Multiple(_)
        | InnerWidth::FourTimes => {
            file.implied("intermediate_size", &four_times, "4 × hidden_size.");
            return Ok(four_times);
        }
    };
    if let Some(width) = of_every_layer(file, names)? {
        return Ok(width);
    }
    // A kind that is not listed has no sizes of its own, and its files must state theirs.
    if kind.sizes.inner == 0 && kind.sizes.hidden > 0 {
        return file.size_or_derived(names, four_times, "4 × hidden_size.");
    }
    file.size_or(names, MAX_SIZE, kind.sizes.inner)
}

/// The width of every layer, where the file lists one for each.
fn of_every_layer(
    file: &mut Reader<'_>,
    names: &[&'static str],
) -> Result<Option<u64>, ImportError> {
    let Some(key) = names.first() else { return Ok(None) };
    let Some(Value::List(widths)) = file.peek(key) else { return Ok(None) };
    let Some(first) = widths.first() else { return Ok(None) };
    if widths.iter().any(|width| width != first) {
        return Err(ImportError::not_modelled(format!(
            "feed-forward layers of several widths ({key})"
        )));
    }
    let width = whole(key, first, MAX_SIZE)?;
    file.without_effect(names);
    file.asks(key, Value::Whole(width), true);
    file.tell(key, &width, How::Read, "The same for every layer.");
    Ok(Some(width))
}

/// The feed-forward layer's inner width that follows from `hidden_ratio`, unless the file may state
/// it, and does.
fn two_thirds(
    file: &mut Reader<'_>,
    may_be_stated: bool,
    default: u64,
    hidden: u64,
) -> Result<u64, ImportError> {
    const RATIO: &str = "hidden_ratio";
    const INNER: &str = "intermediate_size";
    let ratio = match file.peek(RATIO) {
        Some(stated) => whole(RATIO, stated, 1000)?,
        None => default,
    };
    file.without_effect(&[RATIO]);
    let width =
        (hidden.saturating_mul(ratio).saturating_mul(2) / 3).div_ceil(256).saturating_mul(256);
    // A link states the width that counts, also where a file's key means something else.
    let is_stated = may_be_stated || file.peek("further_parameters").is_some();
    if is_stated && let Some(stated) = file.optional(&[INNER], MAX_SIZE)? {
        return Ok(stated);
    }
    file.without_effect(&[INNER]);
    file.asks(INNER, Value::Whole(width), true);
    file.tell(
        INNER,
        &width,
        How::Derived,
        "Two thirds of hidden_ratio × hidden_size, rounded up to whole 256s.",
    );
    Ok(width)
}
