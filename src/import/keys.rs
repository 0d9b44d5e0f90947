//! A `config.json` as the keys that count: how a scenario, a link and the catalog hold a model.

use super::ImportError;
use super::decoder;
use super::reader::{Asked, Reader};
use super::sizes;
use super::value::{Object, Value};
use crate::config::ModelConfig;
use crate::models;

/// Groups that describe the part for text of a larger model.
pub(super) const TEXT_PARTS: [&str; 5] =
    ["text_config", "llm_config", "language_config", "llm_cfg", "language"];

/// A model read from keys.
pub(crate) struct KeysRead {
    /// The architecture, or why there is none.
    pub config: Result<ModelConfig, ImportError>,
    /// The keys that the kind's reader looked at, as far as it came.
    pub asked: Vec<Asked>,
}

/// Reads keys of a file of that kind, by the library's own names; of every key that is not there
/// the library's default counts.
///
/// A kind that is not listed gives [`ImportError::UnknownKind`].
pub(crate) fn config_of_keys(model_type: &str, keys: &Object) -> KeysRead {
    let Some(kind) = models::of(model_type) else {
        return KeysRead {
            config: Err(ImportError::UnknownKind { model_type: model_type.to_owned() }),
            asked: Vec::new(),
        };
    };
    let mut file = Reader::of_keys(keys);
    let config = decoder::decoder(&mut file, kind)
        .and_then(|config| sizes::check_heads(&config).map(|()| config));
    KeysRead { config, asked: file.into_asked() }
}

/// Layers of a model of that kind whose file states none; 0 where the library has no default.
pub(crate) fn default_layers(model_type: &str) -> u64 {
    models::of(model_type).map_or(0, |kind| kind.sizes.layers)
}

/// Keys that list yes or no for each layer, where others list the layers.
pub(crate) const YES_OR_NO: [&str; 3] =
    ["hybrid_layer_pattern", "attn_type_list", "activation_sparsity_pattern"];

/// Keys of which files say by 0 that there is no such part, where an input is left empty.
pub(crate) const NONE_BY_0: [&str; 2] = ["num_experts", "hidden_size_per_layer_input"];

/// A list of one kind of item.
pub(crate) enum List<'a> {
    /// Words, one for each layer.
    Words(Vec<&'a str>),
    /// Whole numbers.
    Numbers(Vec<u64>),
}

/// A list of words or of whole numbers; `None` for any other.
pub(crate) fn list(items: &[Value]) -> Option<List<'_>> {
    let word = |item: &'_ Value| matches!(item, Value::Text(_));
    if items.iter().all(word) && !items.is_empty() {
        let words = items.iter().filter_map(|item| {
            if let Value::Text(word) = item { Some(word.as_str()) } else { None }
        });
        return Some(List::Words(words.collect()));
    }
    let numbers: Option<Vec<u64>> = items
        .iter()
        .map(|item| if let Value::Whole(number) = item { Some(*number) } else { None })
        .collect();
    numbers.map(List::Numbers)
}

/// Words of layers in short: runs as a number before the word, and no more than the part that
/// repeats.
///
/// `sliding_attention` five times, then `full_attention`, and so on for 24 layers, is
/// `5.sliding_attention.full_attention`.
pub(crate) fn write_words(words: &[&str]) -> String {
    let repeats = |period: usize| {
        words.iter().zip(words.iter().skip(period)).all(|(one, other)| one == other)
    };
    let period = (1..words.len()).find(|period| repeats(*period)).unwrap_or(words.len());
    let mut text = String::new();
    let mut rest = words.get(..period).unwrap_or_default();
    while let [first, ..] = rest {
        let run = rest.iter().take_while(|word| *word == first).count();
        if !text.is_empty() {
            text.push('.');
        }
        if run > 1 {
            text.push_str(&run.to_string());
            text.push('.');
        }
        text.push_str(first);
        rest = rest.get(run..).unwrap_or_default();
    }
    text
}

/// Reads what [`write_words`] wrote, for that many layers; blanks and commas may stand between
/// words too.
pub(crate) fn read_words(text: &str, layers: usize) -> Vec<String> {
    let mut part: Vec<&str> = Vec::new();
    let mut run = 1;
    for token in text.split(['.', ',', ' ']).filter(|token| !token.is_empty()) {
        if let Ok(count) = token.parse::<usize>() {
            run = count.min(layers);
        } else {
            part.extend(std::iter::repeat_n(token, run));
            run = 1;
        }
    }
    part.iter().cycle().take(layers).map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{read_words, write_words};

    #[test]
    fn words_of_layers_are_written_in_short_and_read_back() {
        for (words, short) in [
            (vec!["full"; 3], "full"),
            (vec!["slide", "slide", "full", "slide", "slide", "full", "slide"], "2.slide.full"),
            (vec!["moe", "dense", "dense"], "moe.2.dense"),
            (vec![], ""),
        ] {
            assert_eq!(write_words(&words), short);
            assert_eq!(read_words(short, words.len()), words);
        }
        assert_eq!(read_words("2 slide, full", 4), ["slide", "slide", "full", "slide"]);
    }
}
