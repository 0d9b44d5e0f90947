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
