//! Which layers look back on a window.

use super::reader::Reader;
use super::sizes::{MAX_LAYERS, MAX_POSITIONS, number_below, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::config::LayerSet;
use crate::models::{FamilySpec, OwnSizes, Window};

/// The longest irregular pattern that a link can carry.
const MOST_LISTED: usize = 1024;
/// Layer sets without a member are written in one way only.
const NO_LAYERS: (Option<u64>, LayerSet) = (None, LayerSet::None);
/// Said where layers see chunks of a text.
const CHUNKS: &str = "Attention in chunks is counted as attention to the whole text.";
const REFERRING: &str = "Attention to the prompt and to a window of what follows is counted as attention to everything.";
/// Words of `layer_types`.
pub(super) const FULL: &str = "full_attention";
pub(super) const SLIDING: &str = "sliding_attention";
/// Words for attention to the tokens that an indexer chooses.
const INDEXED: &[&str] = &["indexed_attention", "deepseek_sparse_attention"];
/// Words for layers that keep a state.
const STATES: &[&str] = &["conv", "linear_attention"];

/// The window and the layers that look back on it only.
pub(super) fn sliding(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    layers: u64,
) -> Result<(Option<u64>, LayerSet), ImportError> {
    let listed = listed_of(file, kind)?;
    let used = matches!(file.peek("use_sliding_window"), Some(Value::Bool(true)));
    if matches!(kind.window, Window::AllIfUsed | Window::FromIfUsed) {
        file.asks("use_sliding_window", Value::Bool(used), file.has("use_sliding_window"));
        file.done_with(&["use_sliding_window", "max_window_layers"]);
    }
    let default = match kind.window {
        Window::None | Window::Around { .. } => return Ok(NO_LAYERS),
        Window::AllIfUsed | Window::FromIfUsed if !used => {
            file.without_effect(&["sliding_window"]);
            return Ok(NO_LAYERS);
        }
        Window::AllIfUsed | Window::FromIfUsed => 4096,
        Window::All(window)
        | Window::Listed(window)
        | Window::ListedOnly(window)
        | Window::AllButEvery { window, .. }
        | Window::AllButEveryAndLast { window, .. }
        | Window::Where { window, .. }
        | Window::FromStated { window, .. }
        | Window::AllButFirstAndEvery { window, .. } => window,
    };
    // Without a list nobody knows which layers slide: all of them see the whole text.
    if matches!(kind.window, Window::ListedOnly(_)) && listed.is_none() {
        return Ok(NO_LAYERS);
    }
    let Some(window) = window(file, default)? else { return Ok(NO_LAYERS) };
    let set = match (kind.window, listed) {
        // Their modules look at no list.
        (Window::None | Window::All(_) | Window::AllIfUsed, _) | (Window::Listed(_), None) => {
            LayerSet::All
        }
        (Window::AllButEveryAndLast { .. }, Some(mut flags)) => {
            if let Some(last) = flags.last_mut() {
                *last = false;
            }
            compact(flags)?
        }
        (_, Some(flags)) => compact(flags)?,
        (Window::FromIfUsed, None) => from(file, 28)?,
        (Window::AllButEveryAndLast { period, .. }, None) => compact(
            (1..=layers).map(|layer| layer < layers && !layer.is_multiple_of(period)).collect(),
        )?,
        (Window::Where { slides, .. }, None) => {
            compact((0..layers).map(|layer| slides(layer, layers)).collect())?
        }
        (Window::FromStated { first, .. }, None) => from(file, first)?,
        (Window::AllButFirstAndEvery { period, .. }, None) => {
            compact((1..=layers).map(|layer| layer > 1 && !layer.is_multiple_of(period)).collect())?
        }
        (Window::ListedOnly(_) | Window::Around { .. }, None) => LayerSet::None,
        (Window::AllButEvery { period, .. }, None) => every(file, period)?,
    };
    if set == LayerSet::None {
        return Ok(NO_LAYERS);
    }
    tell_count(file, &set, layers);
    Ok((Some(window), set))
}

/// Tells how many of the layers slide.
fn tell_count(file: &mut Reader<'_>, set: &LayerSet, layers: u64) {
    let count = (0..layers).filter(|layer| set.contains(*layer)).count();
    file.tell(
        "sliding_layers",
        &format!("{count} of {layers}"),
        How::Derived,
        "Layers that look back on the window only.",
    );
}

/// Layers that look around on a window, with half of it to either side of a token.
pub(super) fn around(
    file: &mut Reader<'_>,
    layers: u64,
    [period, window]: [u64; 2],
) -> Result<(Option<u64>, LayerSet), ImportError> {
    const EVERY: &str = "global_attn_every_n_layers";
    let window = file.size_or(&["local_attention"], MAX_POSITIONS, window)?;
    let flags = if let Some(flags) = listed(file, &[])? {
        file.without_effect(&[EVERY]);
        flags
    } else {
        let period = file.size_or(&[EVERY], MAX_LAYERS, period)?;
        (0..layers).map(|layer| !layer.is_multiple_of(period)).collect()
    };
    let set = compact(flags)?;
    if set == LayerSet::None { Ok(NO_LAYERS) } else { Ok((Some(window / 2 * 2 + 1), set)) }
}

/// The list that the kind's files have, if any: true for layers with a window.
fn listed_of(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<Option<Vec<bool>>, ImportError> {
    Ok(match (kind.window, kind.indexer, kind.states) {
        (Window::AllButFirstAndEvery { .. }, ..) => {
            listed(file, &[])?.or_else(|| hybrid_pattern(file))
        }
        _ if kind.compresses => None,
        // The list says which layers choose blocks, or is counted apart, and none slides.
        _ if kind.index_block.is_some()
            || matches!(kind.own_rule, OwnSizes::Rest(_) | OwnSizes::RestOfFile(_)) =>
        {
            None
        }
        (_, Some(_), _) => listed(file, INDEXED)?,
        (_, None, Some(_)) => listed(file, STATES)?,
        (_, None, None) => listed(file, &[])?,
    })
}

/// The list `layer_types`: true for layers with a window; `others` are further words for layers
/// without one.
fn listed(file: &mut Reader<'_>, others: &[&str]) -> Result<Option<Vec<bool>>, ImportError> {
    let Some(Value::List(types)) = file.peek("layer_types") else { return Ok(None) };
    // The list takes the place of older files' period.
    file.done_with(&[
        "layer_types",
        "sliding_window_pattern",
        "_sliding_window_pattern",
        "global_attn_every_n_layers",
    ]);
    let mut flags = Vec::with_capacity(types.len());
    let [mut chunked, mut referring] = [false; 2];
    for kind in types {
        match kind {
            Value::Text(word) if word == FULL => flags.push(false),
            Value::Text(word) if word == SLIDING => flags.push(true),
            Value::Text(word) if others.contains(&word.as_str()) => flags.push(false),
            Value::Text(word) if word == "chunked_attention" => {
                chunked = true;
                flags.push(false);
            }
            Value::Text(word) if word == "reference_sliding_attention" => {
                referring = true;
                flags.push(false);
            }
            Value::Text(word) => {
                let word = super::value::shortened(word);
                return Err(ImportError::not_modelled(format!(
                    "layers of the kind \"{word}\" (layer_types)"
                )));
            }
            other => return Err(ImportError::wrong_type("layer_types", "a list of texts", other)),
        }
    }
    if chunked {
        file.upper_bound("layer_types", &"chunked_attention", CHUNKS);
    }
    if referring {
        file.upper_bound("layer_types", &"reference_sliding_attention", REFERRING);
    }
    Ok(Some(flags))
}

/// MiMo's own list: 1 for layers with a window.
fn hybrid_pattern(file: &mut Reader<'_>) -> Option<Vec<bool>> {
    const KEY: &str = "hybrid_layer_pattern";
    let Some(Value::List(flags)) = file.peek(KEY) else { return None };
    file.done_with(&[KEY]);
    Some(flags.iter().map(|flag| *flag == Value::Whole(1)).collect())
}

/// The window's width; a key that is there but null switches it off.
fn window(file: &mut Reader<'_>, default: u64) -> Result<Option<u64>, ImportError> {
    const KEY: &str = "sliding_window";
    if let Some(stated) = file.optional(&["attention_window_size"], MAX_POSITIONS)? {
        file.asks(KEY, Value::Whole(stated), true);
        return Ok(Some(stated));
    }
    if file.has(KEY) {
        return match file.peek(KEY) {
            Some(Value::Whole(0) | Value::Bool(false)) => {
                file.without_effect(&[KEY]);
                file.asks(KEY, Value::Null, true);
                Ok(None)
            }
            _ => file.optional(&[KEY], MAX_POSITIONS),
        };
    }
    if default > 0 {
        file.takes_default(KEY, default);
    }
    Ok(Some(default).filter(|window| *window > 0))
}

/// From `max_window_layers` on; `default` where the file does not state it.
fn from(file: &mut Reader<'_>, default: u64) -> Result<LayerSet, ImportError> {
    file.done_with(&["max_window_layers"]);
    let first = match file.peek("max_window_layers") {
        Some(Value::Whole(0)) => 0,
        Some(value) => whole("max_window_layers", value, MAX_LAYERS)?,
        None => default,
    };
    Ok(if first == 0 { LayerSet::All } else { LayerSet::From(first) })
}

/// All but every period-th; older files state the period.
fn every(file: &mut Reader<'_>, default: u64) -> Result<LayerSet, ImportError> {
    let keys = ["sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"];
    let stated = file.optional(&keys, MAX_LAYERS)?;
    let period = stated.unwrap_or(default);
    file.asks("sliding_window_pattern", Value::Whole(period), stated.is_some());
    Ok(if period == 1 { LayerSet::None } else { LayerSet::AllButEvery(period) })
}

/// The shortest way to write the same layers.
pub(super) fn compact(mut flags: Vec<bool>) -> Result<LayerSet, ImportError> {
    let Some(first) = flags.iter().position(|flag| *flag) else { return Ok(LayerSet::None) };
    let Some(gap) = flags.iter().position(|flag| !*flag) else { return Ok(LayerSet::All) };
    let count = |index: usize| u64::try_from(index).unwrap_or(u64::MAX);
    let period = gap + 1;
    if flags.iter().enumerate().all(|(layer, flag)| *flag != (layer + 1).is_multiple_of(period))
        && gap > 0
    {
        return Ok(LayerSet::AllButEvery(count(period)));
    }
    let every = first + 1;
    if every > 1
        && flags.iter().enumerate().all(|(layer, flag)| *flag == (layer + 1).is_multiple_of(every))
    {
        return Ok(LayerSet::Every(count(every)));
    }
    if gap < first && flags.iter().skip(first).all(|flag| *flag) {
        return Ok(LayerSet::From(count(first)));
    }
    flags.truncate(flags.iter().rposition(|flag| *flag).map_or(0, |last| last + 1));
    if flags.len() > MOST_LISTED {
        return Err(ImportError::not_modelled("an irregular pattern of more than 1024 layers"));
    }
    Ok(LayerSet::Listed(flags.into()))
}

/// Layers that attend to images alone, by their list; as many as the library takes where the file
/// has none.
pub(super) fn crossed(file: &mut Reader<'_>, kind: &FamilySpec, all: u64) -> u64 {
    const EVERY_FIFTH: u64 = 5;
    let Some(key) = kind.crossed else { return 0 };
    let stated = file.peek(key);
    file.done_with(&[key]);
    match stated {
        Some(Value::List(layers)) => number_below(layers, all),
        Some(Value::Whole(layers)) => *layers,
        _ => all.saturating_add(1) / EVERY_FIFTH,
    }
}
