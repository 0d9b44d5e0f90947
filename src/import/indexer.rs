//! The indexer of sparse attention.

use super::layers::{FULL, compact};
use super::reader::Reader;
use super::sizes::{MAX_LAYERS, MAX_POSITIONS, MAX_SIZE, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::config::{Hybrid, Indexer, LayerSet, ModelConfig};
use crate::models::FamilySpec;

const TYPES: &str = "indexer_types";
/// Layers with an indexer of blocks, in links.
const SPARSE: &str = "sparse";
const PATTERN: &str = "index_topk_pattern";

/// Reads its sizes, and which layers have one.
pub(super) fn indexer(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    let Some([heads, head_dim, topk]) = kind.indexer else { return Ok(()) };
    if let Some(block) = kind.index_block {
        return of_blocks(file, [heads, head_dim, topk, block], config);
    }
    let layers = if kind.modules.shares_indexed_tokens {
        layers(file, config.num_hidden_layers)?
    } else {
        LayerSet::All
    };
    let indexer = Indexer {
        num_heads: file.size_or(&["index_n_heads"], MAX_SIZE, heads)?,
        head_dim: file.size_or(&["index_head_dim"], MAX_SIZE, head_dim)?,
        topk: file.size_or(&["index_topk"], MAX_POSITIONS, topk)?,
        block: 0,
        layers,
    };
    let rope = config.mla.map_or(0, |mla| mla.qk_rope_head_dim);
    if indexer.head_dim < rope || config.mla.is_some_and(|mla| mla.q_lora_rank.is_none()) {
        return Err(ImportError::not_modelled(
            "an indexer without narrow queries, or with heads narrower than what is rotated",
        ));
    }
    let before = config.hybrid.take().unwrap_or_default();
    config.hybrid = Some(Hybrid { indexer: Some(indexer), ..before });
    Ok(())
}

/// The indexer of blocks, in the layers that have one: the keys of its sizes have other names in a
/// group of their own, too.
fn of_blocks(
    file: &mut Reader<'_>,
    defaults: [u64; 4],
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    const GROUP: &str = "sparse_attention_config";
    const NAMES: [(&str, &str); 4] = [
        ("index_n_heads", "sparse_num_index_heads"),
        ("index_head_dim", "sparse_index_dim"),
        ("index_topk_blocks", "sparse_topk_blocks"),
        ("index_block_size", "sparse_block_size"),
    ];
    let group = match file.peek(GROUP) {
        Some(Value::Object(group)) => Some(group),
        _ => None,
    };
    file.without_effect(&[GROUP]);
    let mut sizes = [0; 4];
    for (size, ((name, within), default)) in sizes.iter_mut().zip(NAMES.into_iter().zip(defaults)) {
        *size = match group.and_then(|group| group.get(within)) {
            Some(value) => {
                let size = whole(within, value, MAX_POSITIONS)?;
                file.without_effect(&[name]);
                file.asks(name, Value::Whole(size), true);
                file.tell(name, &size, How::Read, format!("The file calls it {GROUP}.{within}."));
                size
            }
            None => file.size_or(&[name], MAX_POSITIONS, default)?,
        };
    }
    let own = with_blocks(file, group.and_then(|group| group.get("sparse_attention_freq")));
    let layers = config.num_hidden_layers;
    if !own.is_empty() && u64::try_from(own.len()).ok() != Some(layers) {
        return Err(ImportError::Layers {
            listed: u64::try_from(own.len()).unwrap_or(u64::MAX),
            layers,
        });
    }
    let count = own.iter().filter(|own| **own).count();
    file.tell(
        "layers_with_indexer",
        &format!("{count} of {layers}"),
        How::Derived,
        "Layers that choose the blocks they see.",
    );
    if count > 0 {
        let [num_heads, head_dim, topk, block] = sizes;
        let before = config.hybrid.take().unwrap_or_default();
        let indexer = Indexer { num_heads, head_dim, topk, block, layers: compact(own)? };
        config.hybrid = Some(Hybrid { indexer: Some(indexer), ..before });
    }
    Ok(())
}

/// The layers with an indexer of blocks: as listed, else by a flag for each.
fn with_blocks(file: &mut Reader<'_>, flags: Option<&Value>) -> Vec<bool> {
    const LISTED: &str = "layer_types";
    let is_full = |value: &Value| matches!(value, Value::Text(word) if word == FULL);
    let own = match (file.peek(LISTED), flags) {
        (Some(Value::List(types)), _) => types.iter().map(|sort| !is_full(sort)).collect(),
        (None, Some(Value::List(flags))) => {
            let words =
                flags.iter().map(|flag| if *flag == Value::Whole(0) { FULL } else { SPARSE });
            file.asks(
                LISTED,
                Value::List(words.map(|word| Value::Text(word.to_owned())).collect()),
                true,
            );
            flags.iter().map(|flag| *flag != Value::Whole(0)).collect()
        }
        _ => Vec::new(),
    };
    file.done_with(&[LISTED]);
    own
}

/// The layers that choose for themselves: as listed, else by a pattern of letters, else by a
/// period.
fn layers(file: &mut Reader<'_>, layers: u64) -> Result<LayerSet, ImportError> {
    let number = |file: &Reader<'_>, key: &str, default| match file.peek(key) {
        Some(Value::Whole(number)) => *number,
        _ => default,
    };
    let is_full = |value: &Value| matches!(value, Value::Text(word) if word == "full");
    let period = number(file, "index_topk_freq", 1).clamp(1, MAX_LAYERS);
    let offset = number(file, "index_skip_topk_offset", 2);
    let by_period: Vec<bool> = (0..layers)
        .map(|layer| (layer + 1).saturating_sub(offset).is_multiple_of(period))
        .collect();
    let mut own: Vec<bool> = match (file.peek(TYPES), file.peek(PATTERN)) {
        (Some(Value::List(types)), _) | (None, Some(Value::List(types))) => {
            types.iter().map(is_full).collect()
        }
        (None, Some(Value::Text(letters))) => letters.chars().map(|letter| letter == 'F').collect(),
        _ => by_period.clone(),
    };
    // A list that ends too early, and says the same as the period as far as it goes.
    if own.len() < by_period.len()
        && !own.is_empty()
        && file.has("index_topk_freq")
        && by_period.starts_with(&own)
    {
        own = by_period;
        file.without_effect(&[TYPES]);
        file.disagrees(TYPES);
    }
    file.done_with(&[TYPES, PATTERN, "index_topk_freq", "index_skip_topk_offset"]);
    if u64::try_from(own.len()).ok() != Some(layers) || own.first() != Some(&true) {
        return Err(ImportError::not_modelled(format!(
            "layers that read what no layer has chosen ({TYPES})"
        )));
    }
    let count = own.iter().filter(|own| **own).count();
    file.tell(
        "layers_with_indexer",
        &format!("{count} of {layers}"),
        How::Derived,
        "Layers that choose the tokens they see.",
    );
    compact(own)
}
