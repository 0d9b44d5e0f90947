//! The activation function of the feed-forward layer, by the names that files have for it.

use super::reader::Reader;
use super::value::Value;
use super::{How, ImportError};
use crate::config::HiddenAct;
use crate::models::FamilySpec;

/// The activation function of that name, if it is known.
pub(super) fn named_activation(word: &str) -> Option<HiddenAct> {
    Some(match word {
        "silu" | "swish" | "swiglu" => HiddenAct::Silu,
        "gelu" | "gelu_pytorch_tanh" | "gelu_python" | "gelu_10" | "geglu" | "gelu_accurate" => {
            HiddenAct::Gelu
        }
        "gelu_new" => HiddenAct::GeluNew,
        "gelu_fast" => HiddenAct::GeluFast,
        "quick_gelu" => HiddenAct::QuickGelu,
        "relu" => HiddenAct::Relu,
        "relu2" | "relu_squared" | "sqrelu" => HiddenAct::Relu2,
        "xielu" => HiddenAct::Xielu,
        _ => return None,
    })
}

/// The activation function, by the operators that compute it.
pub(super) fn activation(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
) -> Result<HiddenAct, ImportError> {
    let default = kind.act;
    if kind.not_looked_at.contains(&"hidden_act") {
        return Ok(default);
    }
    let keys =
        ["hidden_activation", "mlp_hidden_act", "hidden_act", "activation_function", "activation"];
    let Some((key, value)) = keys.iter().find_map(|key| file.peek(key).map(|value| (*key, value)))
    else {
        file.asks("hidden_act", Value::Text(name_of(default).to_owned()), false);
        file.tell("hidden_act", &name_of(default), How::Assumed, "The library's default.");
        return Ok(default);
    };
    let Value::Text(word) = value else { return Err(ImportError::wrong_type(key, "text", value)) };
    let Some(known) = named_activation(word) else {
        file.without_effect(&keys);
        file.asks("hidden_act", Value::Text(name_of(HiddenAct::GeluNew).to_owned()), true);
        let note = "Not a function known here: counted as gelu_new, which keeps the most.";
        file.upper_bound("hidden_act", word, note);
        return Ok(HiddenAct::GeluNew);
    };
    file.without_effect(&keys);
    file.asks("hidden_act", Value::Text(name_of(known).to_owned()), true);
    let note =
        if key == "hidden_act" { String::new() } else { format!("The file calls it {key}.") };
    file.tell("hidden_act", &name_of(known), How::Read, note);
    Ok(known)
}

fn name_of(act: HiddenAct) -> &'static str {
    match act {
        HiddenAct::Silu => "silu",
        HiddenAct::Gelu => "gelu",
        HiddenAct::GeluNew => "gelu_new",
        HiddenAct::GeluFast => "gelu_fast",
        HiddenAct::QuickGelu => "quick_gelu",
        HiddenAct::Relu => "relu",
        HiddenAct::Relu2 => "relu2",
        HiddenAct::Xielu => "xielu",
    }
}
