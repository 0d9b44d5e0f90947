//! Inputs, built from the field table alone: label, unit, help, range, error with a way out.

pub mod frame;
mod input;
pub mod picker;
pub(super) mod rows;

pub use self::input::{Control, control};
use crate::scenario::{FieldKind, Value};

/// The value one press up or down from `value`, within the field's range; nothing where there is no
/// next one.
pub fn stepped(kind: FieldKind, value: &Value, up: bool) -> Option<Value> {
    match (kind, value) {
        (FieldKind::Integer { min, max, step_hint, .. }, Value::Integer(now)) => {
            let next = match (step_hint, up) {
                (0, true) => now.saturating_mul(2).max(1),
                (0, false) => now / 2,
                (step, true) => now.saturating_add(step),
                (step, false) => now.saturating_sub(step),
            };
            Some(Value::Integer(next.clamp(min, max)))
        }
        (FieldKind::Decimal { min, max, .. }, Value::Decimal(now)) => {
            let step = if *now >= 10.0 { 1.0 } else { 0.1 };
            let next = if up { now + step } else { now - step };
            // Steps of a tenth would otherwise collect the errors of binary fractions.
            let next = (next * 10.0).round() / 10.0;
            Some(Value::Decimal(next.clamp(min, max)))
        }
        (FieldKind::Integer { min, .. }, Value::Empty) if up => Some(Value::Integer(min)),
        _ => None,
    }
}
