//! The most likely kind of an unknown `model_type`, from the keys of its file.

use super::decoder::{INNER, truth};
use super::experts::{CHOSEN_BY, EXPERTS};
use super::reader::Reader;
use super::value::Value;
use crate::config::{HiddenAct, MlpKind, PositionEmbedding};
use crate::models::{
    Experts, FamilySpec, Flag, InnerWidth, KeyValueHeads, Latent, Positions, Window,
};

/// A kind for a file of an unknown `model_type`, put together from its keys. Nothing is taken where
/// a size is missing.
pub(super) fn guessed(file: &Reader<'_>) -> FamilySpec {
    let stated = |keys: &[&str]| keys.iter().any(|key| file.peek(key).is_some());
    let first = |keys: &[&'static str]| keys.iter().copied().find(|key| file.peek(key).is_some());
    let classic =
        stated(&["layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "layernorm_epsilon"])
            && !stated(&["rms_norm_eps"]);
    let gated = is_gated(file, classic);
    let bias =
        |keys: &[&'static str]| first(keys).map_or(Flag::Is(false), |key| Flag::Key(key, false));
    let base = if classic { FamilySpec::CLASSIC } else { FamilySpec::PLAIN };
    FamilySpec {
        older_names: true,
        key_value_heads: KeyValueHeads::StatedOrNamed,
        inner: InnerWidth::RatioOrStated(INNER),
        mlp: if gated { MlpKind::Gated } else { MlpKind::Plain },
        act: if gated { HiddenAct::Silu } else { HiddenAct::Gelu },
        positions: positions(file, classic),
        attention_bias: bias(&[
            "attention_bias",
            "qkv_bias",
            "use_qkv_bias",
            "add_qkv_bias",
            "use_bias",
            "bias",
            "add_bias_linear",
        ]),
        output_bias: bias(&[
            "attention_out_bias",
            "o_proj_bias",
            "attention_bias",
            "use_bias",
            "bias",
            "add_bias_linear",
        ]),
        mlp_bias: bias(&["mlp_bias", "use_bias", "bias", "add_bias_linear"]),
        qk_norm: first(&["use_qk_norm", "qk_layernorm", "qk_norm"])
            .map_or(Flag::Is(false), |key| Flag::Key(key, false)),
        window: Window::ListedOnly(0),
        experts: stated(EXPERTS).then_some(Experts {
            may_share: true,
            width_is_inner: false,
            chosen_by: CHOSEN_BY,
            ..Experts::of(0, 0)
        }),
        latent: stated(&["kv_lora_rank"]).then_some(Latent {
            query_rank: 0,
            rank: 0,
            rope: 0,
            nope: 0,
            value: 0,
        }),
        attention_cap: Flag::Number("attn_logit_softcapping", false),
        logit_cap: Flag::Number("final_logit_softcapping", false),
        ..base
    }
}

/// True if the feed-forward layer has a gate: of older kinds, those whose activation function comes
/// with one.
fn is_gated(file: &Reader<'_>, classic: bool) -> bool {
    let act = ["hidden_act", "hidden_activation", "activation_function", "activation"]
        .iter()
        .find_map(|key| file.peek(key));
    match act {
        Some(Value::Text(word)) => {
            !classic || ["silu", "swish", "swiglu", "geglu"].contains(&word.as_str())
        }
        _ => !classic,
    }
}

/// How positions enter: as a key about them says, else as kinds of that age have them.
fn positions(file: &Reader<'_>, classic: bool) -> Positions {
    let rotary = [
        "rope_theta",
        "rope_parameters",
        "rope_scaling",
        "rotary_pct",
        "rotary_dim",
        "partial_rotary_factor",
    ]
    .iter()
    .any(|key| file.peek(key).is_some());
    match (rotary || !classic, truth(file, "alibi")) {
        (_, true) => Positions::AlibiOrRotary,
        (true, _) => Positions::Are(PositionEmbedding::Rotary),
        (false, _) => Positions::LearnedPlus(0),
    }
}
