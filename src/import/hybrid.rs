//! Layers that keep a state in place of keys and values, have attention or a feed-forward layer
//! alone, or share keys and values.

use super::decoder::truth;
use super::layers::{SLIDING, compact};
use super::reader::Reader;
use super::sizes::{MAX_LAYERS, MAX_SIZE, whole};
use super::states::mixer;
use super::value::Value;
use super::{How, ImportError};
use crate::config::{Hybrid, LayerSet, MixerKind, ModelConfig, SharedBlocks};
use crate::models::{Attends, FamilySpec, Heads, InnerWidth, States, Window};

/// Keys that list layers with attention, counted from 0.
const INDICES: &[&str] = &["attn_layer_indices", "full_attn_idxs"];

/// Report lines about experts.
const OF_EXPERTS: &[&str] = &[
    "num_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "norm_topk_prob",
    "first_k_dense_replace",
];

/// The kind of one layer, by the word that a list has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Attention,
    State,
    FeedForward,
    Experts,
}

/// Reads what makes layers unlike each other into the architecture; most models have nothing of it.
pub(super) fn hybrid(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    let shared = shared_by_kind(file, kind, config.num_hidden_layers)?;
    if file.peek("moe_latent_size").is_some() && kind.experts.is_none_or(|experts| !experts.narrows)
    {
        return Err(ImportError::not_modelled("experts in a narrower space (moe_latent_size)"));
    }
    let Some(states) = kind.states else {
        config.hybrid = (shared != LayerSet::None)
            .then(|| Hybrid { kv_shared_layers: shared, ..Hybrid::default() });
        return Ok(());
    };
    let shared_block = matches!(states.attends, Attends::Shared { .. });
    let words = (!matches!(kind.window, Window::None), shared_block);
    let layers = layers(file, (states, words), &mut config.num_hidden_layers)?;
    let set = |of: &dyn Fn(Layer) -> bool| compact(layers.iter().map(|layer| of(*layer)).collect());
    let beside = matches!(states.attends, Attends::Beside) || shared_block;
    let with_state = set(&|layer| beside || layer == Layer::State)?;
    let attention_layers = set(&|layer| layer == Layer::Attention)?;
    tell_counts(file, &layers, beside);
    let lists_feeds =
        layers.iter().any(|layer| matches!(layer, Layer::FeedForward | Layer::Experts));
    let alone = matches!(states.attends, Attends::Never | Attends::MustBeListed) || lists_feeds;
    let feed_forward_layers = if shared_block {
        attention_layers.clone()
    } else if alone {
        set(&|layer| matches!(layer, Layer::FeedForward | Layer::Experts))?
    } else {
        LayerSet::All
    };
    config.shared = shared_blocks(file, states.attends, config, &attention_layers)?;
    if let Some(moe) = config.moe.as_mut().filter(|_| lists_feeds) {
        moe.layers = set(&|layer| layer == Layer::Experts)?;
    }
    if config.moe.as_ref().is_some_and(|moe| moe.layers == LayerSet::None) {
        config.moe = None;
        file.take_back(OF_EXPERTS, "No layer has experts.");
    }
    let mixer = if with_state == LayerSet::None {
        None
    } else {
        Some(mixer(file, (states, kind.modules), with_state, config)?)
    };
    let hybrid = Hybrid {
        mixer,
        attention_layers,
        feed_forward_layers,
        kv_shared_layers: shared,
        attention_output_gate: states.gate,
        ..Hybrid::default()
    };
    config.hybrid = (hybrid != Hybrid::default()).then_some(hybrid);
    odd_widths(file, (states.kind, kind.inner), config)
}

/// Layers that take keys and values from others; other kinds' modules do not look at these keys.
fn shared_by_kind(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    layers: u64,
) -> Result<LayerSet, ImportError> {
    let generic = kind.names.is_empty();
    let default = kind.streams.map(|streams| streams.num_kv_shared_layers);
    if generic || kind.heads == Some(Heads::WiderWithoutWindow) || default.is_some() {
        shared_keys(file, (generic, default), layers)
    } else {
        Ok(LayerSet::None)
    }
}

/// Tells how many layers keep a state, all where it stands beside attention, and how many attend.
fn tell_counts(file: &mut Reader<'_>, layers: &[Layer], beside: bool) {
    file.tell(
        "mixer_layers",
        &count(layers, Layer::State, beside),
        How::Derived,
        "Layers that keep a state.",
    );
    file.tell(
        "attention_layers",
        &count(layers, Layer::Attention, false),
        How::Derived,
        "Layers with attention.",
    );
}

/// True for each sort of layer that a list may name: those that slide, and those that run a shared
/// block.
type Words = (bool, bool);

fn count(layers: &[Layer], of: Layer, all: bool) -> String {
    let count =
        if all { layers.len() } else { layers.iter().filter(|layer| **layer == of).count() };
    format!("{count} of {}", layers.len())
}

/// The kind of each layer: as the file lists it, or by the rule of the model's kind.
fn layers(
    file: &mut Reader<'_>,
    (states, words): (States, Words),
    count: &mut u64,
) -> Result<Vec<Layer>, ImportError> {
    if let Some(listed) = listed(file, words)? {
        let found = u64::try_from(listed.len()).unwrap_or(u64::MAX);
        if !file.has("num_hidden_layers") && (1..=MAX_LAYERS).contains(&found) {
            *count = found;
        }
        return if found == *count {
            Ok(listed)
        } else {
            Err(ImportError::Layers { listed: found, layers: *count })
        };
    }
    let attends = rule(file, states.attends, *count)?;
    Ok(attends
        .into_iter()
        .map(|attends| if attends { Layer::Attention } else { Layer::State })
        .collect())
}

/// `layer_types`, `layers_block_type`, Nemotron's pattern of letters, or the original lists of Kimi
/// Linear and MiniMax.
fn listed(file: &mut Reader<'_>, words: Words) -> Result<Option<Vec<Layer>>, ImportError> {
    for key in ["layer_types", "layers_block_type"] {
        if let Some(Value::List(list)) = file.peek(key) {
            file.done_with(&[key]);
            file.without_effect(&["layer_group_size"]);
            if words.1 {
                file.without_effect(&["attn_layer_period", "attn_layer_offset"]);
            }
            return list
                .iter()
                .map(|word| by_word(key, word, words))
                .collect::<Result<_, _>>()
                .map(Some);
        }
    }
    if let Some(Value::Text(pattern)) = file.peek("hybrid_override_pattern") {
        file.done_with(&["hybrid_override_pattern"]);
        return pattern.chars().map(by_letter).collect::<Result<_, _>>().map(Some);
    }
    if let Some(Value::List(flags)) = file.peek("attn_type_list") {
        file.done_with(&["attn_type_list"]);
        let of =
            |flag: &Value| if *flag == Value::Whole(0) { Layer::State } else { Layer::Attention };
        return Ok(Some(flags.iter().map(of).collect()));
    }
    if let Some(Value::Object(own)) = file.peek("linear_attn_config") {
        let indices = |key: &str| match own.get(key) {
            Some(Value::List(layers)) => layers.as_slice(),
            _ => &[],
        };
        let (full, linear) = (indices("full_attn_layers"), indices("kda_layers"));
        // Counted from 1 there.
        let all = u64::try_from(full.len() + linear.len()).unwrap_or(0);
        let of = |layer: u64| {
            if full.contains(&Value::Whole(layer)) { Layer::Attention } else { Layer::State }
        };
        return Ok((all > 0).then(|| (1..=all).map(of).collect()));
    }
    Ok(None)
}

fn by_word(key: &str, word: &Value, (slides, shares): Words) -> Result<Layer, ImportError> {
    let Value::Text(word) = word else {
        return Err(ImportError::wrong_type(key, "a list of texts", word));
    };
    Ok(match word.as_str() {
        "full_attention" | "attention" => Layer::Attention,
        SLIDING if slides => Layer::Attention,
        "hybrid" if shares => Layer::Attention,
        "linear_attention" | "mamba" | "mamba2" | "conv" => Layer::State,
        "mlp" => Layer::FeedForward,
        "moe" => Layer::Experts,
        other => {
            let other = super::value::shortened(other);
            return Err(ImportError::not_modelled(format!(
                "layers of the kind \"{other}\" ({key})"
            )));
        }
    })
}

fn by_letter(letter: char) -> Result<Layer, ImportError> {
    Ok(match letter {
        'M' => Layer::State,
        '*' => Layer::Attention,
        '-' => Layer::FeedForward,
        'E' => Layer::Experts,
        other => {
            return Err(ImportError::not_modelled(format!(
                "layers of the kind \"{other}\" (hybrid_override_pattern)"
            )));
        }
    })
}

/// Which layers have attention by the kind's rule.
fn rule(file: &mut Reader<'_>, attends: Attends, count: u64) -> Result<Vec<bool>, ImportError> {
    let all = |of: &dyn Fn(u64) -> bool| (0..count).map(of).collect();
    Ok(match attends {
        Attends::Never => all(&|_| false),
        Attends::MustBeListed => {
            return Err(ImportError::Missing { key: "hybrid_override_pattern" });
        }
        Attends::Beside => all(&|_| true),
        Attends::Alternate => all(&|layer| layer.is_multiple_of(2)),
        Attends::Every(default) => {
            let period = file.size_or(&["full_attention_interval"], MAX_LAYERS, default)?;
            all(&|layer| (layer + 1).is_multiple_of(period))
        }
        Attends::LastOfGroup(default) => {
            let period = file.size_or(&["layer_group_size"], MAX_LAYERS, default)?;
            all(&|layer| (layer + 1).is_multiple_of(period))
        }
        Attends::EveryOrLast(period) => all(&|layer| {
            (layer + 1).is_multiple_of(period) || (count < period && layer + 1 == count)
        }),
        Attends::Period => {
            let chosen = periodic(file, ["attn_layer_period", "attn_layer_offset"], [8, 4])?;
            all(&chosen)
        }
        Attends::InTurn => {
            let turn: Vec<bool> = match file.peek("block_types") {
                Some(Value::List(words)) if !words.is_empty() => words
                    .iter()
                    .map(|word| matches!(word, Value::Text(word) if word == "attention"))
                    .collect(),
                _ => vec![false, false, true],
            };
            file.done_with(&["block_types"]);
            turn.iter().copied().cycle().zip(0..count).map(|(attends, _)| attends).collect()
        }
        Attends::Where(attends) => all(&attends),
        Attends::Shared { otherwise: [], .. } => {
            let chosen = periodic(file, ["attn_layer_period", "attn_layer_offset"], [6, 4])?;
            all(&|layer| layer == 2 || layer.checked_sub(3).is_some_and(&chosen))
        }
        Attends::Shared { otherwise, .. } => all(&|layer| otherwise.contains(&layer)),
        Attends::Listed { otherwise } => {
            let layers = INDICES.iter().find_map(|key| match file.peek(key) {
                Some(Value::List(layers)) => Some(layers),
                _ => None,
            });
            file.done_with(INDICES);
            layers.map_or_else(
                || all(&|_| otherwise),
                |layers| all(&|layer| layers.contains(&Value::Whole(layer))),
            )
        }
    })
}

/// Blocks whose weights layers share.
fn shared_blocks(
    file: &mut Reader<'_>,
    attends: Attends,
    config: &ModelConfig,
    layers: &LayerSet,
) -> Result<Option<SharedBlocks>, ImportError> {
    let Attends::Shared { adapted, .. } = attends else { return Ok(None) };
    if !adapted {
        // The library ties none where the file says that weights are not tied: each layer has a
        // block of its own.
        let own = (0..config.num_hidden_layers).filter(|layer| layers.contains(*layer)).count();
        let count = if config.tie_word_embeddings {
            1
        } else {
            u64::try_from(own).unwrap_or(u64::MAX).max(1)
        };
        return Ok(Some(SharedBlocks { count, ..SharedBlocks::default() }));
    }
    Ok(Some(SharedBlocks {
        count: file.size_or(&["num_mem_blocks"], MAX_LAYERS, 1)?,
        adapter_rank: file.size_or(&["adapter_rank"], MAX_SIZE, 128)?,
        adapts_attention: file.rare_flag("use_shared_attention_adapter", false)?,
    }))
}

/// Jamba's way to choose layers: every so many-th from an offset on.
fn periodic(
    file: &mut Reader<'_>,
    keys: [&'static str; 2],
    default: [u64; 2],
) -> Result<impl Fn(u64) -> bool + use<>, ImportError> {
    let period = file.size_or(&[keys[0]], MAX_LAYERS, default[0])?;
    let offset = match file.peek(keys[1]) {
        Some(Value::Whole(offset)) => *offset,
        _ => default[1],
    };
    file.without_effect(&[keys[1]]);
    file.asks(keys[1], Value::Whole(offset), file.has(keys[1]));
    Ok(move |layer: u64| layer % period == offset)
}

/// Layers that read the keys and values of an earlier one.
fn shared_keys(
    file: &mut Reader<'_>,
    (generic, default): (bool, Option<u64>),
    layers: u64,
) -> Result<LayerSet, ImportError> {
    const LAST: &str = "num_kv_shared_layers";
    let default = default.filter(|_| !file.has(LAST));
    let last = stated(file, LAST)?.or(default);
    if let Some(default) = default {
        file.asks(LAST, Value::Whole(default), false);
    }
    let shares: Box<dyn Fn(u64) -> bool> = if let Some(last) = last {
        Box::new(move |layer| layer + last >= layers)
    } else if generic && truth(file, "use_cla") {
        file.done_with(&["use_cla"]);
        let factor = file.size_or(&["cla_share_factor"], MAX_LAYERS, 2)?;
        Box::new(move |layer| !layer.is_multiple_of(factor))
    } else {
        return Ok(LayerSet::None);
    };
    let flags: Vec<bool> = (0..layers).map(shares).collect();
    let count = flags.iter().filter(|shares| **shares).count();
    let note = "Layers that read the keys and values of an earlier one.";
    file.tell("kv_shared_layers", &format!("{count} of {layers}"), How::Derived, note);
    compact(flags)
}

/// A number that may be 0.
fn stated(file: &mut Reader<'_>, key: &'static str) -> Result<Option<u64>, ImportError> {
    let found = match file.peek(key) {
        None | Some(Value::Whole(0)) => None,
        Some(value) => Some(whole(key, value, MAX_LAYERS)?),
    };
    file.without_effect(&[key]);
    file.asks(key, Value::Whole(found.unwrap_or_default()), file.has(key));
    Ok(found)
}

/// Widths that only some kinds derive in their own way.
fn odd_widths(
    file: &mut Reader<'_>,
    (kind, inner): (MixerKind, InnerWidth),
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    // Granite: a dense layer beside the experts, or in their place.
    if config.moe.is_none()
        && let Some(width) = or_none(file, "shared_intermediate_size")?
    {
        if width == 0 {
            return Err(ImportError::not_modelled(
                "blocks without a feed-forward layer (shared_intermediate_size)",
            ));
        }
        config.intermediate_size = width;
    }
    if let (Some(moe), Some(width)) =
        (&mut config.moe, or_none(file, "moe_shared_expert_intermediate_size")?)
    {
        moe.shared_expert_intermediate_size = width;
    }
    // Jamba: experts in every so many-th layer.
    if kind == MixerKind::Jamba && config.moe.is_some() {
        let chosen = periodic(file, ["expert_layer_period", "expert_layer_offset"], [2, 1])?;
        let layers = compact((0..config.num_hidden_layers).map(chosen).collect())?;
        config.moe = config.moe.take().filter(|_| layers != LayerSet::None);
        if let Some(moe) = &mut config.moe {
            moe.layers = layers;
        }
    }
    let older = matches!(inner, InnerWidth::Stated(names) if names.contains(&"block_ff_dim"));
    let adjusts = older && kind == MixerKind::Lfm2 && config.moe.is_none();
    if adjusts && !matches!(file.peek("block_auto_adjust_ff_dim"), Some(Value::Bool(false))) {
        config.intermediate_size = adjusted(file, config.intermediate_size)?;
    }
    Ok(())
}

/// A width of which 0 means that there is no such layer.
fn or_none(file: &mut Reader<'_>, key: &'static str) -> Result<Option<u64>, ImportError> {
    if file.peek(key) == Some(&Value::Whole(0)) {
        file.without_effect(&[key]);
        file.asks(key, Value::Whole(0), true);
        file.tell(key, &0, How::Read, "There is none.");
        return Ok(Some(0));
    }
    file.optional(&[key], MAX_SIZE)
}

/// LFM2's inner width: two thirds of what is stated, times a factor, rounded up.
fn adjusted(file: &mut Reader<'_>, stated: u64) -> Result<u64, ImportError> {
    let factor = match file.peek("block_ffn_dim_multiplier") {
        Some(Value::OtherNumber(text)) => {
            text.parse::<f64>().ok().filter(|factor| (0.0..=100.0).contains(factor)).unwrap_or(1.0)
        }
        Some(Value::Whole(factor)) => crate::units::to_f64(*factor).min(100.0),
        _ => 1.0,
    };
    let multiple = file.size_or(&["block_multiple_of"], MAX_SIZE, 256)?;
    file.done_with(&["block_auto_adjust_ff_dim", "block_ffn_dim_multiplier"]);
    let two_thirds = stated.saturating_mul(2) / 3;
    let scaled = crate::units::ceil_u64((crate::units::to_f64(two_thirds) * factor).floor());
    let width = scaled.div_ceil(multiple).max(1).saturating_mul(multiple);
    file.tell(
        "intermediate_size",
        &width,
        How::Derived,
        "Two thirds of what the file states, times its factor, rounded up.",
    );
    Ok(width)
}
