//! The texts in which the page asks for keys and is answered, in the words of links.
//!
//! A question is `row llama3-8b` or `kind llama` and a line of the keys that were set. An answer is
//! a line of the keys that the family reads, and then either `shape` with every size of the
//! architecture, or `unread` with the inputs at fault and a sentence.

use super::super::fields::EMPTY;
use super::super::{
    FieldId, FieldKind, Value, codec, field, field_of_key, fields, number_and_unit,
};
use super::{KeysNow, Source, Unread, Values};
use crate::catalog;
use crate::config::{self, Encoder, ModelConfig, SharedBlocks, Task, Tower};
use crate::{
    config::{TaskKind, TowerSizes},
    models,
};

/// Writes a question.
pub(super) fn question(source: &Source, set: &Values) -> String {
    let start = match source {
        Source::Row(id) => format!("row {id}"),
        Source::Kind(model_type) => format!("kind {model_type}"),
        Source::Sizes => "sizes".to_owned(),
    };
    format!("{start}\n{}", values(set.iter()))
}

/// Reads a question; `None` for any other text.
pub(super) fn read_question(text: &str) -> Option<(Source, Values)> {
    let (start, set) = text.split_once('\n')?;
    let source = match start.split_once(' ') {
        Some(("row", id)) => Source::Row(catalog::model_of_id(id)?.id),
        Some(("kind", model_type)) => Source::Kind(model_type.to_owned()),
        _ => return None,
    };
    Some((source, read_values(set).collect()))
}

/// Writes an answer.
pub(super) fn answer(now: &KeysNow) -> String {
    let asked = values(now.asked.iter().map(|(id, value)| (id, value)));
    match &now.config {
        Ok(config) => format!("{asked}\nshape\n{}", sizes(config)),
        Err(Unread { message, about, .. }) => {
            let about: Vec<&str> = about.iter().map(|id| field(*id).key).collect();
            format!("{asked}\nunread {}\n{message}", about.join("&"))
        }
    }
}

/// Reads an answer; `None` for any other text.
pub(super) fn read_answer(text: &str) -> Option<KeysNow> {
    let mut lines = text.splitn(3, '\n');
    let (asked, outcome, rest) = (lines.next()?, lines.next()?, lines.next()?);
    let config = match outcome.strip_prefix("unread ") {
        None => Ok(shape(rest)),
        Some(about) => {
            let about = about.split('&').filter_map(field_of_key).map(|field| field.id).collect();
            Err(Unread { message: rest.to_owned(), about, waits: false })
        }
    };
    Some(KeysNow { asked: read_values(asked).collect(), config })
}

/// Every size of an architecture.
fn sizes(config: &ModelConfig) -> String {
    let of: Vec<(FieldId, Value)> =
        fields().iter().filter_map(|field| Some((field.id, field.of_model(config)?))).collect();
    let sizes = values(of.iter().map(|(id, value)| (id, value)));
    let sizes = match config.encoder {
        Some(encoder) => format!("{sizes}&{ENCODER}={}", words_of_encoder(encoder)),
        None => sizes,
    };
    let sizes = match config.task {
        Some(task) => format!("{sizes}&{TASK}={}", words_of_task(task)),
        None => sizes,
    };
    let sizes = match &config.tower {
        Some(tower) => format!("{sizes}&{TOWER}={}", words_of_tower(tower)),
        None => sizes,
    };
    let sizes = match config.source {
        Some(source) => format!("{sizes}&{SOURCE}={}", words_of_source(source)),
        None => sizes,
    };
    let sizes = match config.norm_gate_rank {
        0 => sizes,
        rank => format!("{sizes}&{NORM_GATE}={rank}"),
    };
    let sizes = if config.chunks { format!("{sizes}&{CHUNKS}=1") } else { sizes };
    let sizes = match &config.compressed {
        Some(compressed) => format!("{sizes}&{COMPRESSED}={}", words_of_compressed(compressed)),
        None => sizes,
    };
    let sizes = if config.cache.is_empty() {
        sizes
    } else {
        format!("{sizes}&{CACHE}={}", words_of_cache(&config.cache))
    };
    match config.shared {
        Some(SharedBlocks { count, adapter_rank, adapts_attention }) => {
            format!("{sizes}&{SHARED}={count}.{adapter_rank}.{}", u64::from(adapts_attention))
        }
        None => sizes,
    }
}

/// The key of the rank of norms' gates, likewise.
const NORM_GATE: &str = "norm-gate";

/// The key of layers that see chunks of a text, likewise.
const CHUNKS: &str = "chunks";

/// The key of a cache's parts, likewise.
const CACHE: &str = "cache";

/// The parts of a cache in a line: of each the place of its kind, layers, heads, width, tokens of
/// an entry, most entries, and whether it is in fp32.
fn words_of_cache(cache: &config::CacheParts) -> String {
    let words = |part: &config::CachePart| {
        let place = config::CachePartKind::ALL
            .iter()
            .position(|kind| *kind == part.part)
            .unwrap_or_default();
        let config::CachePart { layers, heads, width, every, most, wide, .. } = part;
        format!("{place}.{layers}.{heads}.{width}.{every}.{most}.{}", u64::from(*wide))
    };
    cache.0.iter().map(words).collect::<Vec<_>>().join("_")
}

fn read_cache(text: &str) -> config::CacheParts {
    let Some(words) = text.split('&').find_map(|pair| pair.strip_prefix(CACHE)?.strip_prefix('='))
    else {
        return config::CacheParts::NONE;
    };
    let part = |words: &str| {
        let (place, sizes) = words.split_once('.')?;
        let part = *config::CachePartKind::ALL.get(place.parse::<usize>().ok()?)?;
        let mut sizes = sizes.split('.').map(str::parse::<u64>);
        let mut next = || sizes.next()?.ok();
        let (layers, heads, width, every) = (next()?, next()?, next()?, next()?);
        Some(config::CachePart {
            part,
            layers,
            heads,
            width,
            every,
            most: next()?,
            wide: next()? > 0,
        })
    };
    config::CacheParts(words.split('_').filter_map(part).collect())
}

/// The key of attention to compressed keys, likewise.
const COMPRESSED: &str = "compressed";

/// Its sizes in a line, and a digit for each layer: how it compresses keys, and 3 more where its
/// experts are read off a table.
fn words_of_compressed(of: &config::Compressed) -> String {
    let first = [
        of.q_lora_rank,
        of.o_groups,
        of.o_lora_rank,
        of.index_n_heads,
        of.index_head_dim,
        of.index_topk,
    ];
    let sizes = first
        .into_iter()
        .chain([of.hc_mult, of.hc_sinkhorn_iters])
        .chain(of.rates)
        .map(|size| size.to_string());
    let digit = |layer: &config::CompressedLayer| {
        let way = match layer.compresses {
            config::Compresses::Nothing => 0,
            config::Compresses::AndChooses => 1,
            config::Compresses::Heavily => 2,
        };
        (way + 3 * u8::from(layer.hashed)).to_string()
    };
    let layers: String = of.each.0.iter().map(digit).collect();
    sizes.chain([layers]).collect::<Vec<_>>().join(".")
}

fn read_compressed(text: &str) -> Option<config::Compressed> {
    let words =
        text.split('&').find_map(|pair| pair.strip_prefix(COMPRESSED)?.strip_prefix('='))?;
    let (sizes, layers) = words.rsplit_once('.')?;
    let mut sizes = sizes.split('.').map(str::parse::<u64>);
    let mut next = || sizes.next()?.ok();
    let layer = |digit: char| {
        let number = digit.to_digit(10)?;
        let compresses = match number % 3 {
            0 => config::Compresses::Nothing,
            1 => config::Compresses::AndChooses,
            _ => config::Compresses::Heavily,
        };
        Some(config::CompressedLayer { compresses, hashed: number >= 3 })
    };
    Some(config::Compressed {
        q_lora_rank: next()?,
        o_groups: next()?,
        o_lora_rank: next()?,
        index_n_heads: next()?,
        index_head_dim: next()?,
        index_topk: next()?,
        hc_mult: next()?,
        hc_sinkhorn_iters: next()?,
        rates: [next()?, next()?],
        each: config::CompressedLayers(layers.chars().map(layer).collect::<Option<_>>()?),
    })
}

/// The key of blocks that layers share, likewise: how many, the rank of what layers add, and
/// whether they add to attention.
const SHARED: &str = "shared";

fn read_shared(text: &str) -> Option<SharedBlocks> {
    let words = text.split('&').find_map(|pair| pair.strip_prefix(SHARED)?.strip_prefix('='))?;
    let mut sizes = words.split('.').map(str::parse::<u64>);
    let mut next = || sizes.next()?.ok();
    Some(SharedBlocks { count: next()?, adapter_rank: next()?, adapts_attention: next()? > 0 })
}

/// The key of an encoder beside a decoder, likewise.
const SOURCE: &str = "source";

/// Sizes of an encoder beside a decoder in a line.
fn words_of_source(source: config::SourceEncoder) -> String {
    let config::SourceEncoder {
        layers,
        hidden_size,
        num_attention_heads,
        num_key_value_heads,
        head_dim,
        ..
    } = source;
    let first = [layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim];
    let words = [source.vocab_size, source.idle_vocab_size];
    let last = [
        source.intermediate_size,
        source.position_rows,
        words[0],
        words[1],
        u64::from(source.unscaled_output),
    ];
    let all: Vec<String> =
        first.into_iter().chain(last).chain(source.own).map(|size| size.to_string()).collect();
    all.join(".")
}

fn read_source(text: &str) -> Option<config::SourceEncoder> {
    let words = text.split('&').find_map(|pair| pair.strip_prefix(SOURCE)?.strip_prefix('='))?;
    let mut sizes = words.split('.').map(str::parse::<u64>);
    let mut next = || sizes.next()?.ok();
    let mut source = config::SourceEncoder {
        layers: next()?,
        hidden_size: next()?,
        num_attention_heads: next()?,
        num_key_value_heads: next()?,
        head_dim: next()?,
        intermediate_size: next()?,
        position_rows: next()?,
        vocab_size: next()?,
        idle_vocab_size: next()?,
        unscaled_output: next()? > 0,
        ..config::SourceEncoder::default()
    };
    for size in &mut source.own {
        *size = next()?;
    }
    Some(source)
}

/// The key of a task, likewise.
const TASK: &str = "task";

fn words_of_task(task: Task) -> String {
    format!("{}.{}", task.kind.word(), task.labels)
}

fn read_task(text: &str) -> Option<Task> {
    let words = text.split('&').find_map(|pair| pair.strip_prefix(TASK)?.strip_prefix('='))?;
    let (kind, labels) = words.split_once('.')?;
    Some(Task { kind: TaskKind::named(kind)?, labels: labels.parse().ok()? })
}

/// The key of a vision tower, likewise.
const TOWER: &str = "tower";

/// A tower in a line: its kind, that of its projector, and their sizes.
fn words_of_tower(tower: &Tower) -> String {
    let sizes: Vec<String> = tower.sizes.of.iter().map(u64::to_string).collect();
    format!("{}.{}.{}", tower.modules.model_type, tower.projector.model_type, sizes.join("."))
}

fn read_tower(text: &str) -> Option<Tower> {
    let words = text.split('&').find_map(|pair| pair.strip_prefix(TOWER)?.strip_prefix('='))?;
    let mut words = words.split('.');
    let (modules, projector) = (models::tower(words.next()?), models::projector(words.next()?));
    let mut sizes = TowerSizes::NONE;
    for size in &mut sizes.of {
        *size = words.next()?.parse().ok()?;
    }
    Some(Tower { modules, projector, sizes })
}

/// The key of an encoder's ends, which no form has: they cannot be typed by hand.
const ENCODER: &str = "encoder";

/// The facts of an encoder in a line: used as a decoder, rows of token types, a layer before the
/// head, the embedding's width, sizes of its own.
fn words_of_encoder(encoder: Encoder) -> String {
    let Encoder { is_decoder, type_vocab_size, head_transform, embedding_size, own } = encoder;
    let own: Vec<String> = own.iter().map(u64::to_string).collect();
    format!("{is_decoder}.{type_vocab_size}.{head_transform}.{embedding_size}.{}", own.join("."))
}

fn read_encoder(text: &str) -> Option<Encoder> {
    let words = text.split('&').find_map(|pair| pair.strip_prefix(ENCODER)?.strip_prefix('='))?;
    let mut words = words.split('.');
    let mut encoder = Encoder {
        is_decoder: words.next()?.parse().ok()?,
        type_vocab_size: words.next()?.parse().ok()?,
        head_transform: words.next()?.parse().ok()?,
        embedding_size: words.next()?.parse().ok()?,
        ..Encoder::BERT
    };
    for size in &mut encoder.own {
        *size = words.next()?.parse().ok()?;
    }
    Some(encoder)
}

fn shape(text: &str) -> ModelConfig {
    let mut by_hand = super::super::Scenario::default();
    // One by one: a map made of a list would bring a sort into the page.
    for (id, value) in read_values(text) {
        by_hand.set.insert(id, value);
    }
    by_hand.set.insert(FieldId::Sizes, Value::Flag(true));
    ModelConfig {
        encoder: read_encoder(text),
        tower: read_tower(text),
        source: read_source(text),
        task: read_task(text),
        shared: read_shared(text),
        cache: read_cache(text),
        compressed: read_compressed(text),
        norm_gate_rank: text
            .split('&')
            .find_map(|pair| pair.strip_prefix(NORM_GATE)?.strip_prefix('=')?.parse().ok())
            .unwrap_or_default(),
        chunks: text.split('&').any(|pair| pair.strip_prefix(CHUNKS) == Some("=1")),
        ..by_hand.config_of_sizes()
    }
}

fn values<'a>(values: impl Iterator<Item = (&'a FieldId, &'a Value)>) -> String {
    let pairs: Vec<String> =
        values.map(|(id, value)| format!("{}={}", field(*id).key, text(*id, value))).collect();
    pairs.join("&")
}

fn read_values(text: &str) -> impl Iterator<Item = (FieldId, Value)> {
    text.split('&').filter_map(|pair| {
        let (key, text) = pair.split_once('=')?;
        let id = field_of_key(key)?.id;
        Some((id, value(id, text)?))
    })
}

/// A number is written whole, so that one that no form takes comes back too.
fn text(id: FieldId, value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        other => codec::write_value(id, other),
    }
}

fn value(id: FieldId, text: &str) -> Option<Value> {
    match field(id).kind {
        FieldKind::Integer { .. } if text != EMPTY => text.parse().ok().map(Value::Integer),
        FieldKind::Decimal { .. } if text != EMPTY => {
            number_and_unit(text).map(|(number, _)| Value::Decimal(number))
        }
        _ => codec::read_value(id, text).ok(),
    }
}
