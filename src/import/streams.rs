//! Several residual streams, and an embedding of its own for every layer.

use super::layers::compact;
use super::reader::Reader;
use super::sizes::MAX_SIZE;
use super::value::Value;
use super::{How, ImportError};
use crate::config::{AltUp, Hybrid, ModelConfig};
use crate::models::FamilySpec;

/// Reads the residual streams of kinds that have several.
pub(super) fn streams(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    const SPARSE: &str = "activation_sparsity_pattern";
    let Some(own) = kind.streams else { return Ok(()) };
    let layers = config.num_hidden_layers;
    let sparse: Vec<bool> = match file.peek(SPARSE) {
        Some(Value::List(shares)) => shares.iter().map(is_above_0).collect(),
        Some(other) => return Err(ImportError::wrong_type(SPARSE, "a list of numbers", other)),
        None => {
            (0..layers).map(|layer| layers > own.first_sparse && layer < own.first_sparse).collect()
        }
    };
    let yes_or_no = sparse.iter().map(|sparse| Value::Whole(u64::from(*sparse))).collect();
    file.asks(SPARSE, Value::List(yes_or_no), file.has(SPARSE));
    file.without_effect(&[SPARSE, "altup_active_idx", "altup_correct_scale", "altup_coef_clip"]);
    // Both change the saved tensors, and no parameter.
    let scales = !matches!(file.peek("altup_correct_scale"), Some(Value::Bool(false)));
    let clips = !file.has("altup_coef_clip") || file.peek("altup_coef_clip").is_some();
    if !scales || !clips {
        let key = if scales { "altup_coef_clip" } else { "altup_correct_scale" };
        file.upper_bound(
            key,
            &"switched off",
            "The streams' coefficients are counted as limited, and the first stream as scaled.",
        );
    }
    let altup = AltUp {
        num_inputs: file.size_or(&["altup_num_inputs"], 64, own.num_inputs)?,
        laurel_rank: file.size_or(&["laurel_rank"], MAX_SIZE, own.laurel_rank)?,
        hidden_size_per_layer_input: file.size_or(
            &["hidden_size_per_layer_input"],
            MAX_SIZE,
            own.hidden_size_per_layer_input,
        )?,
        vocab_size_per_layer_input: file.size_or(
            &["vocab_size_per_layer_input"],
            MAX_SIZE,
            own.vocab_size_per_layer_input,
        )?,
        sparse_layers: compact(sparse)?,
    };
    let count = (0..layers).filter(|layer| altup.sparse_layers.contains(*layer)).count();
    let note = "Layers whose feed-forward layer keeps the largest activations alone.";
    file.tell("sparse_layers", &format!("{count} of {layers}"), How::Derived, note);
    let before = config.hybrid.take().unwrap_or_default();
    config.hybrid = Some(Hybrid { altup: Some(altup), ..before });
    Ok(())
}

/// True if a number is more than 0.
fn is_above_0(value: &Value) -> bool {
    match value {
        Value::Whole(number) => *number > 0,
        Value::OtherNumber(text) => text.parse::<f64>().is_ok_and(|number| number > 0.0),
        _ => false,
    }
}
