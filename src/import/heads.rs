//! Layers whose attention has other heads than the rest.

use super::reader::Reader;
use super::sizes::{MAX_SIZE, check_groups, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::config::{AltUp, Hybrid, LayerSet, ModelConfig, OtherHeads};
use crate::models::{FamilySpec, Heads};

/// Reads the heads of the layers that have others.
pub(super) fn other_heads(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    let Some(heads) = kind.heads else { return Ok(()) };
    let sliding = config.sliding_layers.clone();
    let (v_head_dim, other) = match heads {
        Heads::WiderWithoutWindow => {
            inputs_of_layers(file, kind, config)?;
            (None, global(file, config, complement(&sliding, config.num_hidden_layers)?)?)
        }
        Heads::QueriesByLayer => match queries(file, config, sliding)? {
            Some(other) => (None, other),
            None => return Ok(()),
        },
        Heads::MoreKeysInWindow => {
            let width = file.size_or(&["v_head_dim"], MAX_SIZE, 128)?;
            config.attention_sinks = file.rare_flag("add_full_attention_sink_bias", false)?;
            (Some(width), swa(file, config, width, sliding)?)
        }
    };
    check_groups(other.num_attention_heads, other.num_key_value_heads)?;
    let layers =
        (0..config.num_hidden_layers).filter(|layer| other.layers.contains(*layer)).count();
    let note = "Layers whose heads have another shape.";
    file.tell(
        "layers_with_other_heads",
        &format!("{layers} of {}", config.num_hidden_layers),
        How::Derived,
        note,
    );
    let experts_normed = heads == Heads::WiderWithoutWindow && config.moe.is_some();
    let before = config.hybrid.take().unwrap_or_default();
    let v_head_dim = v_head_dim.filter(|width| *width != config.head_dim);
    let other_heads = (layers > 0).then_some(other);
    let hybrid = Hybrid { v_head_dim, other_heads, experts_normed, ..before };
    config.hybrid = (hybrid != Hybrid::default()).then_some(hybrid);
    Ok(())
}

/// The small models of the family have an embedding of its own for every layer, which the library
/// takes where a file says nothing; and feed-forward layers twice as wide where keys are shared.
fn inputs_of_layers(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    const KEY: &str = "hidden_size_per_layer_input";
    let none = file.has(KEY) && matches!(file.peek(KEY), None | Some(Value::Whole(0)));
    let mut hybrid = config.hybrid.take().unwrap_or_default();
    if kind.embeds_each_layer && !none {
        hybrid.altup = Some(AltUp {
            num_inputs: 1,
            laurel_rank: 0,
            hidden_size_per_layer_input: file.size_or(&[KEY], MAX_SIZE, 256)?,
            vocab_size_per_layer_input: file.size_or(
                &["vocab_size_per_layer_input"],
                MAX_SIZE,
                262_144,
            )?,
            sparse_layers: LayerSet::None,
        });
    } else {
        file.done_with(&[KEY]);
        file.without_effect(&["vocab_size_per_layer_input"]);
    }
    let shares = hybrid.kv_shared_layers != LayerSet::None;
    hybrid.double_wide_mlp = file.rare_flag("use_double_wide_mlp", false)? && shares;
    config.hybrid = Some(hybrid);
    Ok(())
}

/// `global_head_dim`, and `num_global_key_value_heads` where one matrix makes keys and values.
fn global(
    file: &mut Reader<'_>,
    config: &ModelConfig,
    layers: LayerSet,
) -> Result<OtherHeads, ImportError> {
    if let Some(listed) = listed(file, config, &layers)? {
        return Ok(OtherHeads { layers, ..listed });
    }
    let head_dim = file.size_or(&["global_head_dim"], MAX_SIZE, 512)?;
    let joint = file.flag("attention_k_eq_v", false)?;
    let stated = file.optional(&["num_global_key_value_heads"], MAX_SIZE)?;
    Ok(OtherHeads {
        layers,
        num_attention_heads: config.num_attention_heads,
        num_key_value_heads: stated.filter(|_| joint).unwrap_or(config.num_key_value_heads),
        head_dim,
        v_head_dim: head_dim,
        attention_sinks: false,
        attention_k_eq_v: joint,
    })
}

/// The heads by `per_layer_config`, which files that transformers saved have in place of
/// `global_head_dim`. Known are files in which all layers of the set have the same heads there, and
/// other layers none of their own.
fn listed(
    file: &mut Reader<'_>,
    config: &ModelConfig,
    layers: &LayerSet,
) -> Result<Option<OtherHeads>, ImportError> {
    const KEY: &str = "per_layer_config";
    let Some(Value::Object(listed)) = file.peek(KEY) else { return Ok(None) };
    let plain = [config.head_dim, config.num_key_value_heads];
    let of = |layer: u64| {
        // Files write 5 as "05" where there are layers of two digits.
        let of_layer = |key: &String| key.parse() == Ok(layer);
        let Some(Value::Object(keys)) =
            listed.iter().find_map(|(key, own)| of_layer(key).then_some(own))
        else {
            return Some(plain);
        };
        let mut heads = plain;
        for (key, value) in keys {
            match (key.as_str(), value) {
                ("head_dim", Value::Whole(width @ 1..=MAX_SIZE)) => heads[0] = *width,
                ("num_key_value_heads", Value::Whole(count @ 1..=MAX_SIZE)) => heads[1] = *count,
                _ => return None,
            }
        }
        Some(heads)
    };
    let all = || 0..config.num_hidden_layers;
    let first = all().find(|layer| layers.contains(*layer)).map_or(Some(plain), of);
    let fits = |layer| of(layer) == if layers.contains(layer) { first } else { Some(plain) };
    let Some([head_dim, num_key_value_heads]) = first.filter(|_| all().all(fits)) else {
        return Err(ImportError::not_modelled(format!("layers of several shapes ({KEY})")));
    };
    file.without_effect(&[KEY, "global_head_dim", "num_global_key_value_heads"]);
    file.implied(KEY, &head_dim, "The width of heads in layers that see the whole text.");
    file.asks("global_head_dim", Value::Whole(head_dim), true);
    let attention_k_eq_v = file.flag("attention_k_eq_v", false)?;
    if attention_k_eq_v {
        file.asks("num_global_key_value_heads", Value::Whole(num_key_value_heads), true);
    }
    Ok(Some(OtherHeads {
        layers: LayerSet::None,
        num_attention_heads: config.num_attention_heads,
        num_key_value_heads,
        head_dim,
        v_head_dim: head_dim,
        attention_sinks: false,
        attention_k_eq_v,
    }))
}

/// The keys that begin with `swa_`; transformers takes twice the key/value heads where the file
/// states none.
fn swa(
    file: &mut Reader<'_>,
    config: &ModelConfig,
    value: u64,
    layers: LayerSet,
) -> Result<OtherHeads, ImportError> {
    let as_rest = "As in the layers that see the whole text.";
    let twice = config.num_key_value_heads.saturating_mul(2);
    Ok(OtherHeads {
        layers,
        num_attention_heads: file.size_or_derived(
            &["swa_num_attention_heads"],
            config.num_attention_heads,
            as_rest,
        )?,
        num_key_value_heads: file.size_or(&["swa_num_key_value_heads"], MAX_SIZE, twice)?,
        head_dim: file.size_or_derived(&["swa_head_dim"], config.head_dim, as_rest)?,
        v_head_dim: file.size_or_derived(&["swa_v_head_dim"], value, as_rest)?,
        attention_sinks: file.rare_flag("add_swa_attention_sink_bias", true)?,
        attention_k_eq_v: false,
    })
}

/// Query heads of each layer. Those of one sort have as many: `num_attention_heads` of them where
/// the whole text is seen.
fn queries(
    file: &mut Reader<'_>,
    config: &mut ModelConfig,
    layers: LayerSet,
) -> Result<Option<OtherHeads>, ImportError> {
    const KEY: &str = "num_attention_heads_per_layer";
    const SLIDING: &str = "swa_num_attention_heads";
    let all = config.num_attention_heads;
    let slides: Vec<bool> =
        (0..config.num_hidden_layers).map(|layer| layers.contains(layer)).collect();
    let mixed = slides.contains(&true) && slides.contains(&false);
    if !slides.contains(&false) {
        config.rotary_dim = None;
    }
    let sliding = match file.peek(KEY) {
        Some(Value::List(listed)) => {
            file.without_effect(&[KEY]);
            let listed = listed
                .iter()
                .map(|heads| whole(KEY, heads, MAX_SIZE))
                .collect::<Result<Vec<u64>, _>>()?;
            let of_sort = |sort: bool| {
                slides
                    .iter()
                    .zip(&listed)
                    .filter(move |(slides, _)| **slides == sort)
                    .map(|(_, heads)| *heads)
            };
            let sliding = of_sort(mixed).next().unwrap_or(all);
            let others = of_sort(!mixed).chain(of_sort(false)).any(|heads| heads != all && mixed);
            if others
                || of_sort(mixed).any(|heads| heads != sliding)
                || listed.len() != slides.len()
                || (!mixed && sliding != all)
            {
                return Err(ImportError::not_modelled(format!(
                    "numbers of query heads that follow no rule ({KEY})"
                )));
            }
            file.asks(SLIDING, Value::Whole(sliding), mixed);
            sliding
        }
        _ if mixed => {
            file.size_or_derived(&[SLIDING], all, "As in the layers that see the whole text.")?
        }
        _ => all,
    };
    Ok(mixed.then_some(OtherHeads {
        layers,
        num_attention_heads: sliding,
        num_key_value_heads: config.num_key_value_heads,
        head_dim: config.head_dim,
        v_head_dim: config.head_dim,
        attention_sinks: false,
        attention_k_eq_v: false,
    }))
}

/// The layers that are not in the set.
fn complement(set: &LayerSet, layers: u64) -> Result<LayerSet, ImportError> {
    super::layers::compact((0..layers).map(|layer| !set.contains(layer)).collect())
}
