//! The facts that encoders alone have.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::ImportError;
use super::reader::Reader;
use super::said;
use super::sizes::{MAX_POSITIONS, MAX_SIZE, whole};
use super::value::Value;
use crate::config::{CacheParts, EmbeddedParts, Encoder, ModelConfig, OWN_SIZES};
use crate::models::{COUNTED_SIZES, FamilySpec, OwnSizes, Rest};

/// The facts that encoders alone have.
pub(super) fn encoder(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    let Some(own) = kind.encoder else { return Ok(()) };
    config.pooler = kind.modules.encoder.pools;
    let type_vocab_size = types(file, own.type_vocab_size)?;
    let is_decoder = file.rare_flag("is_decoder", own.is_decoder)?;
    let embedding =
        kind.embedding_size.map(|(key, default)| own_size(file, key, default)).transpose()?;
    let embedding_size = embedding.filter(|width| *width != config.hidden_size).unwrap_or(0);
    let mut encoder = Encoder { is_decoder, type_vocab_size, embedding_size, ..own };
    let own = super::own_groups::sizes(file, kind, config.num_hidden_layers)?;
    encoder.own.iter_mut().zip(own).for_each(|(size, own)| *size = own);
    if kind.compresses {
        config.compressed = Some(super::compressed::compressed(file, kind, config, &own)?);
    }
    match kind.own_rule {
        OwnSizes::Stated => {}
        OwnSizes::Rest(rest) | OwnSizes::RestOfFile(rest) => {
            let (parameters, cache) = counted_alone(file, kind, rest, config, &own)?;
            config.cache = cache;
            if let Some(last) = encoder.own.last_mut() {
                *last = parameters;
            }
        }
        OwnSizes::TableTypes => encoder.own[0] = table_types(file)?,
        OwnSizes::Adapters => encoder.own = adapters(file, config)?,
        OwnSizes::Languages => encoder.own[0] = languages(file)?,
        OwnSizes::DroppedTokens => encoder.own[0] = dropped(file)?,
    }
    if let Some(keeps) = kind.keeps.filter(|_| is_decoder && config.cache.is_empty()) {
        config.cache = CacheParts(keeps(config, &own, &|_, _| None).into());
    }
    config.tie_word_embeddings &= !kind.modules.encoder.never_ties;
    if kind.modules.encoder.embedding == EmbeddedParts::WithEmbeddedDistances {
        encoder.own = distances(file, config)?;
    }
    config.encoder = Some(encoder);
    Ok(())
}

/// Parameters beside those of the layers that are put together, and the parts of the cache where
/// the kind tells them.
fn counted_alone(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    rest: Rest,
    config: &ModelConfig,
    own: &[u64; COUNTED_SIZES],
) -> Result<(u64, CacheParts), ImportError> {
    const KEY: &str = "further_parameters";
    let of_file = matches!(kind.own_rule, OwnSizes::RestOfFile(_));
    if of_file && file.peek(KEY).is_some() {
        return Ok((file.size_or(&[KEY], u64::MAX, 0)?, CacheParts::NONE));
    }
    let (keys, layers) =
        (file.keys(), usize::try_from(config.num_hidden_layers).unwrap_or(usize::MAX));
    let seen = RefCell::new(BTreeSet::new());
    let said = |key: &str, word: &str| {
        seen.borrow_mut().insert(said::first_key(key, word).to_owned());
        said::said(keys, layers, key, word)
    };
    let parameters = rest(config, own, &said);
    let parts = kind.keeps.map_or_else(Vec::new, |keeps| keeps(config, own, &said));
    let cache =
        CacheParts(parts.into_iter().filter(|part| part.layers > 0 && part.width > 0).collect());
    file.done_with(&["layer_types", "indexer_types"]);
    layers_by_rate(file, kind, layers);
    if of_file {
        let seen = seen.into_inner();
        file.without_effect(&seen.iter().map(String::as_str).collect::<Vec<_>>());
        file.asks(KEY, Value::Whole(parameters), true);
    }
    Ok((parameters, cache))
}

/// Rates of compression as words of layers, by which links hold them.
pub(super) fn layers_by_rate(file: &mut Reader<'_>, kind: &FamilySpec, layers: usize) {
    let (Some(Value::List(rates)), None) = (file.peek("compress_ratios"), file.peek("layer_types"))
    else {
        return;
    };
    let word = |rate: &Value| {
        kind.layers_by_rate.iter().find(|(of, _)| *rate == Value::Whole(*of)).map(|(_, word)| *word)
    };
    let words = rates.iter().take(layers).filter_map(word).map(|word| Value::Text(word.to_owned()));
    file.asks("layer_types", Value::List(words.collect()), true);
}

/// Rows of the table of token types. Kinds without types do not look at the key; others may say by
/// 0 that there are none.
fn types(file: &mut Reader<'_>, default: u64) -> Result<u64, ImportError> {
    const KEY: &str = "type_vocab_size";
    match file.peek(KEY) {
        _ if default == 0 => Ok(0),
        Some(Value::Whole(0)) => {
            file.without_effect(&[KEY]);
            file.asks(KEY, Value::Null, true);
            Ok(0)
        }
        _ if file.has(KEY) && file.peek(KEY).is_none() => {
            file.asks(KEY, Value::Null, true);
            Ok(0)
        }
        _ => file.size_or(&[KEY], MAX_SIZE, default),
    }
}

/// How distances between tokens enter scores (`relative_attention`): those that have an embedding,
/// and whether it meets queries, meets keys, goes through the tokens' projections, and is normed.
/// Without positions in the input there is no table of them.
fn distances(
    file: &mut Reader<'_>,
    config: &mut ModelConfig,
) -> Result<[u64; OWN_SIZES], ImportError> {
    if !file.rare_flag("position_biased_input", true)? {
        config.position_rows = 0;
    }
    if !file.rare_flag("relative_attention", false)? {
        file.without_effect(&[
            "pos_att_type",
            "position_buckets",
            "max_relative_positions",
            "share_att_key",
            "norm_rel_ebd",
        ]);
        return Ok([0; OWN_SIZES]);
    }
    let most = positive(file, "max_relative_positions")?.unwrap_or(config.max_position_embeddings);
    let span = positive(file, "position_buckets")?.unwrap_or(most);
    let shares = file.rare_flag("share_att_key", false)?;
    let words = words(file, "pos_att_type");
    let has = |word: &str| u64::from(words.split('|').any(|own| own.trim() == word));
    let norms = self::words(file, "norm_rel_ebd");
    let normed = norms.split('|').any(|own| own.trim() == "layer_norm");
    Ok([span.saturating_mul(2), has("c2p"), has("p2c"), u64::from(shares), u64::from(normed), 0, 0])
}

/// A number above 0; others say that there is none.
fn positive(file: &mut Reader<'_>, key: &'static str) -> Result<Option<u64>, ImportError> {
    match file.peek(key) {
        Some(Value::OtherNumber(_) | Value::Whole(0)) | None => {
            file.without_effect(&[key]);
            file.asks(key, Value::Null, file.has(key));
            Ok(None)
        }
        Some(_) => file.optional(&[key], MAX_POSITIONS),
    }
}

/// Words in one text, or in a list.
fn words(file: &mut Reader<'_>, key: &'static str) -> String {
    let text = match file.peek(key) {
        Some(Value::Text(text)) => text.to_lowercase(),
        Some(Value::List(items)) => {
            let words = items.iter().filter_map(|item| {
                if let Value::Text(word) = item { Some(word.as_str()) } else { None }
            });
            words.collect::<Vec<_>>().join("|")
        }
        _ => String::new(),
    };
    file.without_effect(&[key]);
    file.asks(key, Value::Text(text.clone()), file.has(key));
    text
}

/// A size that a family's own modules know; null says that there is none, and yes and no are 1 and
/// 0.
pub(super) fn own_size(
    file: &mut Reader<'_>,
    key: &'static str,
    default: u64,
) -> Result<u64, ImportError> {
    if let Some(Value::Bool(yes)) = file.peek(key) {
        file.done_with(&[key]);
        return Ok(u64::from(*yes));
    }
    let none = file.peek(key).is_none_or(|size| default == 0 && *size == Value::Whole(0));
    if none && (default == 0 || file.has(key)) {
        file.without_effect(&[key]);
        file.asks(key, Value::Null, file.has(key));
        return Ok(0);
    }
    file.size_or(&[key], MAX_SIZE, default)
}

/// Rows of seven tables of token types together.
fn table_types(file: &mut Reader<'_>) -> Result<u64, ImportError> {
    const KEY: &str = "type_vocab_sizes";
    let sizes = match file.peek(KEY) {
        Some(Value::List(sizes)) => {
            let sizes = sizes
                .iter()
                .map(|size| whole(KEY, size, MAX_SIZE))
                .collect::<Result<Vec<u64>, _>>()?;
            sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("|")
        }
        Some(Value::Text(sizes)) => sizes.clone(),
        _ => "3|256|256|2|256|256|10".to_owned(),
    };
    file.without_effect(&[KEY]);
    let rows = sizes.split('|').filter_map(|size| size.trim().parse::<u64>().ok()).sum();
    file.asks(KEY, Value::Text(sizes), file.has(KEY));
    Ok(rows)
}

/// Adapters of languages: their columns together, and how many there are.
fn adapters(file: &mut Reader<'_>, config: &ModelConfig) -> Result<[u64; OWN_SIZES], ImportError> {
    let languages = match words(file, "languages") {
        none if none.is_empty() => 1,
        some => u64::try_from(some.split('|').count()).unwrap_or(1),
    };
    let reduction = file.size_or(&["adapter_reduction_factor"], MAX_SIZE, 2)?;
    let columns = (config.hidden_size / reduction.max(1)).saturating_mul(languages);
    let mut own = [0; OWN_SIZES];
    (own[0], own[1]) = (columns, languages);
    Ok(own)
}

/// Languages that have an embedding: none of a model of one.
fn languages(file: &mut Reader<'_>) -> Result<u64, ImportError> {
    let used = file.rare_flag("use_lang_emb", true)?;
    let count = file.size_or(&["n_langs"], MAX_SIZE, 1)?;
    Ok(if used && count > 1 { count } else { 0 })
}

/// 1 where masked tokens are dropped. Its positions are rotated in the files that are modelled.
fn dropped(file: &mut Reader<'_>) -> Result<u64, ImportError> {
    const KEY: &str = "position_embedding_type";
    if file.peek(KEY) != Some(&Value::Text("rotary".to_owned())) {
        return Err(ImportError::not_modelled(format!("positions that are not rotated ({KEY})")));
    }
    file.done_with(&[KEY]);
    Ok(u64::from(file.rare_flag("token_dropout", false)?))
}
