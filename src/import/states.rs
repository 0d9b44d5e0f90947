//! The state that layers keep, as files state its sizes.

use super::decoder::truth;
use super::reader::Reader;
use super::sizes::{MAX_SIZE, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::config::{LayerSet, Mixer, MixerKind, ModelConfig, Modules};
use crate::models::{Attends, States};

/// Names of the five sizes in files, the table's own first.
const HEADS: &[&str] =
    &["linear_num_value_heads", "linear_num_heads", "mamba_n_heads", "mamba_num_heads"];
const HEAD: &[&str] =
    &["linear_value_head_dim", "linear_head_dim", "mamba_d_head", "mamba_head_dim"];
/// Names of these sizes in files of Mamba 2, which has no attention that they could be about.
const HEADS_ALONE: &[&str] = &["num_heads"];
const HEAD_ALONE: &[&str] = &["head_dim"];
const KEY_HEADS: &[&str] = &["linear_num_key_heads", "mamba_n_groups", "n_groups"];
const KEY: &[&str] = &["linear_key_head_dim", "mamba_d_state", "ssm_state_size", "state_size"];
const CHUNK: &[&str] = &["mamba_chunk_size", "chunk_size"];
const KERNEL: &[&str] = &[
    "linear_conv_kernel_dim",
    "mamba_d_conv",
    "conv_kernel",
    "conv_L_cache",
    "conv1d_width",
    "short_conv_kernel_size",
];
/// Names of a state's width where it is stated as a whole.
const WIDTH: &[&str] = &["mamba_d_ssm", "lru_width", "attention_hidden_size"];

/// The state of the layers that keep one.
pub(super) fn mixer(
    file: &mut Reader<'_>,
    (states, modules): (States, &Modules),
    layers: LayerSet,
    config: &ModelConfig,
) -> Result<Mixer, ImportError> {
    let (kind, [heads, head, _, key, kernel], hidden) =
        (states.kind, states.sizes, config.hidden_size);
    no_biases(file)?;
    residual(file, modules);
    let mut mixer = of_channels(kind, layers, hidden);
    mixer.fp32_state = fp32(file, states);
    mixer.conv_kernel = if kernel == 0 {
        0
    } else {
        let default = of_kimi(file, "short_conv_kernel_size", kernel);
        file.size_or(&states.names(KERNEL), 1024, default)?
    };
    match kind {
        MixerKind::Lfm2 => correction(file),
        MixerKind::Minimax => {
            mixer = Mixer {
                num_heads: config.num_attention_heads,
                head_dim: config.head_dim,
                num_key_heads: config.num_attention_heads,
                state_size: config.head_dim,
                chunk_size: file.size_or(&["mamba_chunk_size", "block_size"], MAX_SIZE, 256)?,
                ..mixer
            };
        }
        MixerKind::Mamba | MixerKind::Zamba | MixerKind::FalconMamba | MixerKind::Jamba => {
            mixer.num_key_heads = own_heads(file, kind, heads)?;
            mixer.num_heads = channels(file, states, hidden)?;
            mixer.state_size = file.size_or(&states.names(KEY), MAX_SIZE, key)?;
            let rank = states.names(&["mamba_dt_rank", "time_step_rank"]);
            mixer.time_step_rank = unless_auto(file, &rank, hidden.div_ceil(16))?;
        }
        MixerKind::RgLru | MixerKind::Rwkv | MixerKind::Mlstm => {
            recurrences(file, states, config, &mut mixer)?;
        }
        MixerKind::KimiWhole => {
            let width = file.size_or(
                &["linear_value_head_dim", "linear_head_dim", "head_dim"],
                MAX_SIZE,
                head,
            )?;
            mixer = heads_as_attention(file, config, width, mixer);
        }
        MixerKind::KimiLinear => {
            let [heads, head] = [("num_heads", heads), ("head_dim", head)]
                .map(|(key, size)| of_kimi(file, key, size));
            mixer.num_heads = file.size_or(&states.names(HEADS), MAX_SIZE, heads)?;
            let names = ["linear_value_head_dim", "linear_head_dim"];
            mixer.head_dim = file.size_or(&names, MAX_SIZE, head)?;
            (mixer.num_key_heads, mixer.state_size) = (mixer.num_heads, mixer.head_dim);
        }
        MixerKind::Qwen3Next | MixerKind::Mamba2 | MixerKind::FalconH1 => {
            heads_of_state(file, states, config, &mut mixer)?;
        }
    }
    Ok(mixer)
}

/// A size that Kimi Linear's group of keys states. It is told under the name that other kinds give
/// it.
fn of_kimi(file: &mut Reader<'_>, key: &str, default: u64) -> u64 {
    const GROUP: &str = "linear_attn_config";
    file.without_effect(&[GROUP]);
    let own = match file.peek(GROUP) {
        Some(Value::Object(own)) => own.get(key),
        _ => None,
    };
    match own {
        Some(Value::Whole(size)) if (1..=MAX_SIZE).contains(size) => *size,
        _ => default,
    }
}

/// A state of one number for each channel, without a convolution.
const fn of_channels(kind: MixerKind, layers: LayerSet, channels: u64) -> Mixer {
    Mixer {
        kind,
        layers,
        num_heads: channels,
        head_dim: 1,
        num_key_heads: 1,
        state_size: 1,
        conv_kernel: 0,
        time_step_rank: 0,
        chunk_size: 256,
        fp32_state: false,
    }
}

/// Heads among which the channels of a state are shared out; one where each is by itself.
fn own_heads(file: &mut Reader<'_>, kind: MixerKind, heads: u64) -> Result<u64, ImportError> {
    if kind == MixerKind::Zamba { file.size_or(&["n_mamba_heads"], MAX_SIZE, heads) } else { Ok(1) }
}

/// As many heads as attention has, of that width.
fn heads_as_attention(
    file: &mut Reader<'_>,
    config: &ModelConfig,
    width: u64,
    mixer: Mixer,
) -> Mixer {
    file.without_effect(&["linear_head_dim", "head_dim"]);
    let heads = config.num_attention_heads;
    Mixer { num_heads: heads, num_key_heads: heads, head_dim: width, state_size: width, ..mixer }
}

/// Sizes of recurrences of channels, and of matrices of heads.
fn recurrences(
    file: &mut Reader<'_>,
    states: States,
    config: &ModelConfig,
    mixer: &mut Mixer,
) -> Result<(), ImportError> {
    let (hidden, heads) = (config.hidden_size, states.sizes[0]);
    if states.kind == MixerKind::Mlstm {
        mixer.num_heads =
            file.size_or(&["linear_num_value_heads", "num_heads"], MAX_SIZE, heads)?;
        mixer.num_key_heads = mixer.num_heads;
        let width = |file: &Reader<'_>, key, default| {
            share(file, key, default, hidden) / mixer.num_heads.max(1)
        };
        let (keys, values) = (width(file, "qk_dim_factor", 0.5), width(file, "v_dim_factor", 1.0));
        file.without_effect(&["qk_dim_factor", "v_dim_factor"]);
        mixer.chunk_size = file.size_or(CHUNK, MAX_SIZE, 64)?;
        mixer.state_size =
            file.size_or_derived(&["linear_key_head_dim"], keys.max(1), "From qk_dim_factor.")?;
        mixer.head_dim =
            file.size_or_derived(&["linear_value_head_dim"], values.max(1), "From v_dim_factor.")?;
        return Ok(());
    }
    mixer.num_heads = file.size_or_derived(WIDTH, hidden, "As wide as the model.")?;
    if states.kind == MixerKind::RgLru {
        // Its gates are matrices of each of attention's heads.
        let blocks = config.num_attention_heads.max(1);
        (mixer.num_heads, mixer.num_key_heads, mixer.head_dim) =
            (blocks, blocks, (mixer.num_heads / blocks).max(1));
    }
    Ok(())
}

/// Experts without a correction of their scores take a little less than what is counted.
fn correction(file: &mut Reader<'_>) {
    if matches!(file.peek("use_expert_bias"), Some(Value::Bool(false))) {
        let note =
            "A correction of the experts' scores is counted, which this model does not have.";
        file.upper_bound("use_expert_bias", &false, note);
    }
    file.without_effect(&["use_expert_bias"]);
}

/// A residual stream that is not in fp32 takes a little less than what is counted.
fn residual(file: &mut Reader<'_>, modules: &Modules) {
    if matches!(file.peek("residual_in_fp32"), Some(Value::Bool(false))) && modules.residual_in_fp32
    {
        file.upper_bound("residual_in_fp32", &false, "The residual stream is counted in fp32.");
    }
}

/// Heads with a state each, and the keys that they share.
fn heads_of_state(
    file: &mut Reader<'_>,
    states: States,
    config: &ModelConfig,
    mixer: &mut Mixer,
) -> Result<(), ImportError> {
    let (kind, [heads, head, key_heads, key, _]) = (states.kind, states.sizes);
    let hidden = config.hidden_size;
    if kind == MixerKind::Qwen3Next && heads == 0 {
        return heads_of_attention(file, states, config, mixer);
    }
    if matches!(states.attends, Attends::Shared { .. }) {
        mixer.num_heads = file.size_or(&["n_mamba_heads"], MAX_SIZE, heads)?;
        mixer.head_dim = (channels(file, states, hidden)? / mixer.num_heads).max(1);
        mixer.chunk_size = file.size_or(CHUNK, MAX_SIZE, states.chunk)?;
        mixer.num_key_heads = file.size_or(&["mamba_ngroups"], MAX_SIZE, key_heads)?;
        mixer.state_size = file.size_or(&states.names(KEY), MAX_SIZE, key)?;
        return Ok(());
    }
    let alone = matches!(states.attends, Attends::Never);
    mixer.num_heads =
        file.size_or(&states.names(if alone { HEADS_ALONE } else { HEADS }), MAX_SIZE, heads)?;
    let all =
        if kind == MixerKind::Qwen3Next { None } else { Some(channels(file, states, hidden)?) };
    let derived = if head == 0 { all.unwrap_or(hidden) / mixer.num_heads } else { head };
    mixer.head_dim =
        unless_auto(file, &states.names(if alone { HEAD_ALONE } else { HEAD }), derived.max(1))?;
    // Mamba 2's heads must fill the width that it expands to; Nemotron-H's modules look at the
    // heads alone.
    if alone && all.is_some_and(|all| all != mixer.inner()) {
        let key = ["expand", "num_heads", "head_dim", "hidden_size"]
            .into_iter()
            .find(|key| file.has(key));
        file.disagrees(key.unwrap_or_default());
    }
    if kind != MixerKind::Qwen3Next {
        mixer.chunk_size = file.size_or(&states.names(CHUNK), MAX_SIZE, states.chunk)?;
    }
    mixer.num_key_heads = file.size_or(&states.names(KEY_HEADS), MAX_SIZE, key_heads)?;
    mixer.state_size = file.size_or(&states.names(KEY), MAX_SIZE, key)?;
    if kind == MixerKind::FalconH1 && file.flag("mamba_rms_norm", false)? {
        mixer.kind = MixerKind::Mamba2;
    }
    Ok(())
}

/// As many heads as attention has, keys of three quarters of the hidden size and values of twice
/// that, where the file says nothing else.
fn heads_of_attention(
    file: &mut Reader<'_>,
    states: States,
    config: &ModelConfig,
    mixer: &mut Mixer,
) -> Result<(), ImportError> {
    let heads = config.num_attention_heads;
    mixer.num_heads = file.size_or(&states.names(HEADS), MAX_SIZE, heads)?;
    mixer.num_key_heads = file.size_or(&states.names(KEY_HEADS), MAX_SIZE, heads)?;
    let derived =
        config.hidden_size.saturating_mul(3) / mixer.num_key_heads.saturating_mul(4).max(1);
    mixer.state_size = file.size_or(&states.names(KEY), MAX_SIZE, derived.max(1))?;
    mixer.head_dim =
        file.size_or(&states.names(HEAD), MAX_SIZE, mixer.state_size.saturating_mul(2))?;
    if matches!(file.peek("linear_allow_neg_eigval"), Some(Value::Bool(false))) {
        file.upper_bound(
            "linear_allow_neg_eigval",
            &false,
            "Updates of the state are counted as scaled, which takes a little more.",
        );
    }
    Ok(())
}

/// True if the state is kept in fp32, as the file says, or else by the kind's rule.
fn fp32(file: &mut Reader<'_>, states: States) -> bool {
    for key in ["mamba_ssm_dtype", "mamba_ssm_cache_dtype"] {
        if let Some(Value::Text(format)) = file.peek(key) {
            file.without_effect(&[key]);
            file.asks("mamba_ssm_dtype", Value::Text(format.clone()), true);
            file.tell("mamba_ssm_dtype", format, How::Read, "");
            return format == "float32";
        }
    }
    states.fp32
}

/// Channels of a state space: stated, or a multiple of the hidden size.
fn channels(file: &mut Reader<'_>, states: States, hidden: u64) -> Result<u64, ImportError> {
    let kind = states.kind;
    if kind == MixerKind::FalconH1 && !file.has("mamba_d_ssm") {
        return file.size_or(&["mamba_d_ssm"], MAX_SIZE, 1024);
    }
    if let Some(stated) = file.optional(&["mamba_d_ssm"], MAX_SIZE)? {
        return Ok(stated);
    }
    // Falcon Mamba's own file says `expand` 16 and means the width that it states beside.
    if let (MixerKind::Mamba | MixerKind::FalconMamba, Some(stated)) =
        (kind, file.peek("intermediate_size"))
    {
        file.without_effect(&["expand"]);
        file.asks("intermediate_size", stated.clone(), true);
        return whole("intermediate_size", stated, MAX_SIZE);
    }
    let names = states.names(&["mamba_expand", "expand"]);
    let factor = match names.iter().find_map(|key| file.peek(key)) {
        Some(Value::Whole(factor)) => *factor,
        Some(Value::OtherNumber(factor)) => {
            return Err(ImportError::not_modelled(format!(
                "a state {factor} times as wide as the model"
            )));
        }
        _ => 2,
    };
    let stated = names.iter().any(|name| file.has(name));
    file.without_effect(&names);
    file.asks(names.first().copied().unwrap_or("expand"), Value::Whole(factor), stated);
    Ok(hidden.saturating_mul(factor.clamp(1, 1024)))
}

/// A size, or what `auto` means.
fn unless_auto(
    file: &mut Reader<'_>,
    keys: &[&'static str],
    derived: u64,
) -> Result<u64, ImportError> {
    if keys.iter().any(|key| matches!(file.peek(key), Some(Value::Text(word)) if word == "auto")) {
        file.without_effect(keys);
        file.asks(keys.first().copied().unwrap_or_default(), Value::Whole(derived), false);
        file.tell(
            keys.first().copied().unwrap_or_default(),
            &derived,
            How::Derived,
            "From the hidden size.",
        );
        return Ok(derived);
    }
    file.size_or_derived(keys, derived, "From the hidden size.")
}

/// Biases that no published model has are refused; a convolution that could have one, and has none,
/// needs a little less.
fn no_biases(file: &mut Reader<'_>) -> Result<(), ImportError> {
    for key in ["use_bias", "mamba_proj_bias", "projectors_bias", "conv_bias"] {
        if truth(file, key) {
            return Err(ImportError::not_modelled(format!(
                "biases on projections of the state ({key})"
            )));
        }
        file.without_effect(&[key]);
    }
    for key in ["use_conv_bias", "mamba_conv_bias"] {
        if matches!(file.peek(key), Some(Value::Bool(false))) {
            file.upper_bound(
                key,
                &false,
                "A bias of the convolution is counted, which this model does not have.",
            );
        }
        file.without_effect(&[key]);
    }
    Ok(())
}

/// A factor that a file states.
fn factor(file: &Reader<'_>, key: &str, default: f64) -> f64 {
    let stated = match file.peek(key) {
        Some(Value::OtherNumber(text)) => {
            text.parse::<f64>().ok().filter(|factor| (0.0..=100.0).contains(factor))
        }
        Some(Value::Whole(factor)) => Some(crate::units::to_f64(*factor).min(100.0)),
        _ => None,
    };
    stated.unwrap_or(default)
}

/// A width as a multiple of another one, rounded up to whole 64s.
pub(super) fn multiple(file: &Reader<'_>, key: &str, default: f64, of: u64) -> u64 {
    let width = (crate::units::to_f64(of) * factor(file, key, default) + 63.0) / 64.0;
    crate::units::ceil_u64(width.floor()).saturating_mul(64)
}

/// A width as a multiple of another one, rounded down: xLSTM's layers have it so, whatever its
/// file's class says of whole 64s.
fn share(file: &Reader<'_>, key: &str, default: f64, of: u64) -> u64 {
    crate::units::ceil_u64((crate::units::to_f64(of) * factor(file, key, default)).floor())
}
