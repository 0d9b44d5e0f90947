//! Layers that compress keys, in blocks of several residual streams (transformers 5.23,
//! `models/deepseek_v4/configuration_deepseek_v4.py`).

use super::encoder::layers_by_rate;
use super::reader::Reader;
use super::sizes::{MAX_LAYERS, MAX_SIZE};
use super::value::Value;
use super::{How, ImportError};
use crate::config::{Compressed, CompressedLayer, CompressedLayers, Compresses, ModelConfig};
use crate::models::{COUNTED_SIZES, FamilySpec};

/// Keys that list the layers' kinds of attention, and of experts.
const TYPES: &str = "layer_types";
const OF_EXPERTS: &str = "mlp_layer_types";
/// Layers whose experts are read off a table, where no list says so: the first three.
const HASHED: (&str, u64) = ("num_hash_layers", 3);

/// Sizes and layers, of a family whose own sizes begin with these.
pub(super) fn compressed(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
    own: &[u64; COUNTED_SIZES],
) -> Result<Compressed, ImportError> {
    let [
        q_lora_rank,
        o_groups,
        o_lora_rank,
        index_n_heads,
        index_head_dim,
        index_topk,
        hc_mult,
        hc_sinkhorn_iters,
        near,
        far,
        ..,
    ] = *own;
    if near == 0
        || far == 0
        || o_groups == 0
        || !config.num_attention_heads.is_multiple_of(o_groups)
    {
        return Err(ImportError::not_modelled(
            "rates of 0, or groups that do not share out the heads (compress_rates, o_groups)",
        ));
    }
    if file.peek("qk_rope_head_dim").is_some() {
        let rotated = file.size_or(
            &["qk_rope_head_dim"],
            MAX_SIZE,
            config.rotary_dim.unwrap_or(config.head_dim),
        )?;
        config.rotary_dim = (rotated < config.head_dim).then_some(rotated);
    }
    let layers = config.num_hidden_layers;
    let (ways, hashed) = (ways(file, kind, layers)?, hashed(file, layers)?);
    let layers: Vec<CompressedLayer> = ways
        .into_iter()
        .zip(hashed)
        .map(|(compresses, hashed)| CompressedLayer { compresses, hashed })
        .collect();
    let count = layers.iter().filter(|layer| layer.compresses != Compresses::Nothing).count();
    file.tell(
        "compressed_layers",
        &format!("{count} of {}", layers.len()),
        How::Derived,
        "Layers that compress keys.",
    );
    Ok(Compressed {
        q_lora_rank,
        o_groups,
        o_lora_rank,
        index_n_heads,
        index_head_dim,
        index_topk,
        hc_mult,
        hc_sinkhorn_iters,
        rates: [near, far],
        each: CompressedLayers(layers.into()),
    })
}

/// How a layer of that name compresses keys.
fn of_word(word: &str) -> Result<Compresses, ImportError> {
    match word {
        "sliding_attention" => Ok(Compresses::Nothing),
        "compressed_sparse_attention" => Ok(Compresses::AndChooses),
        "heavily_compressed_attention" => Ok(Compresses::Heavily),
        other => {
            let other = super::value::shortened(other);
            Err(ImportError::not_modelled(format!("layers of the kind \"{other}\" ({TYPES})")))
        }
    }
}

/// How each layer compresses keys: as its list says, or by rates. Where nothing is listed, the
/// first two compress heavily, and so does every second one behind them.
fn ways(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    layers: u64,
) -> Result<Vec<Compresses>, ImportError> {
    let count = usize::try_from(layers).unwrap_or(usize::MAX);
    let by_rate = |rate: &Value| {
        kind.layers_by_rate.iter().find(|(of, _)| *rate == Value::Whole(*of)).map(|(_, word)| *word)
    };
    let listed: Option<Vec<Compresses>> = match (file.peek(TYPES), file.peek("compress_ratios")) {
        (Some(Value::List(words)), _) => {
            let of = |word: &Value| match word {
                Value::Text(word) => of_word(word),
                other => Err(ImportError::wrong_type(TYPES, "a list of texts", other)),
            };
            Some(words.iter().take(count).map(of).collect::<Result<_, _>>()?)
        }
        (_, Some(Value::List(rates))) => {
            let of = |rate: &Value| by_rate(rate).map_or_else(|| of_word(&rate.brief()), of_word);
            Some(rates.iter().take(count).map(of).collect::<Result<_, _>>()?)
        }
        _ => None,
    };
    layers_by_rate(file, kind, count);
    file.done_with(&[TYPES]);
    file.without_effect(&["compress_ratios"]);
    let by_place = |layer: u64| {
        if layer >= 2 && !layer.is_multiple_of(2) {
            Compresses::AndChooses
        } else {
            Compresses::Heavily
        }
    };
    let ways = listed.unwrap_or_else(|| (0..layers).map(by_place).collect());
    let found = u64::try_from(ways.len()).unwrap_or(u64::MAX);
    if found == layers { Ok(ways) } else { Err(ImportError::Layers { listed: found, layers }) }
}

/// True for each layer whose experts are read off a table: by their list, or the first so many.
fn hashed(file: &mut Reader<'_>, layers: u64) -> Result<Vec<bool>, ImportError> {
    let Some(Value::List(words)) = file.peek(OF_EXPERTS) else {
        let first = match file.peek(HASHED.0) {
            Some(Value::Whole(first)) => (*first).min(MAX_LAYERS),
            _ => HASHED.1,
        };
        file.without_effect(&[HASHED.0]);
        file.asks(HASHED.0, Value::Whole(first), file.has(HASHED.0));
        return Ok((0..layers).map(|layer| layer < first).collect());
    };
    let is_hashed = |word: &Value| *word == Value::Text("hash_moe".to_owned());
    let flags: Vec<bool> = words.iter().map(is_hashed).collect();
    file.without_effect(&[OF_EXPERTS, HASHED.0]);
    // Links have the number alone.
    let first = flags.iter().take_while(|hashed| **hashed).count();
    if flags.iter().skip(first).any(|hashed| *hashed) {
        return Err(ImportError::not_modelled(format!(
            "tables of experts behind layers without one ({OF_EXPERTS})"
        )));
    }
    file.asks(HASHED.0, Value::Whole(u64::try_from(first).unwrap_or_default()), true);
    let found = u64::try_from(flags.len()).unwrap_or(u64::MAX);
    if found == layers { Ok(flags) } else { Err(ImportError::Layers { listed: found, layers }) }
}
