//! How much a model drops in training, by the keys of its family.

use super::How;
use super::reader::Reader;
use super::value::Value;
use crate::config::{DropKey, Modules};

const COUNTED: &str = "Training keeps masks for it, which are counted.";
const SILENT: &str = "The library's default; training keeps masks for it, which are counted.";

/// The shares behind the embedding, behind both halves of a block, and within attention.
pub(super) fn shares(file: &mut Reader<'_>, modules: &Modules) -> [Option<Value>; 3] {
    modules.drops.keys().map(|key| key.map(|key| share(file, key)))
}

fn share(file: &mut Reader<'_>, DropKey { key, default }: DropKey) -> Value {
    let stated = file.peek(key).cloned();
    file.without_effect(&[key]);
    let how = if stated.is_some() { How::Read } else { How::Assumed };
    let share = stated.unwrap_or_else(|| Value::OtherNumber(default.to_string()));
    if number(&share) > 0.0 {
        let note = if how == How::Read { COUNTED } else { SILENT };
        file.tell(key, &share.brief(), how, note);
    }
    share
}

/// A share as a number; 0 for what is none.
pub(super) fn number(share: &Value) -> f64 {
    match share {
        Value::OtherNumber(text) => {
            text.parse().ok().filter(|share| (0.0..1.0).contains(share)).unwrap_or_default()
        }
        Value::Null
        | Value::Bool(_)
        | Value::Whole(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Object(_) => 0.0,
    }
}
