//! Files of classes that predict no text: their task, and how many classes it has.
//!
//! Both stand beside the other keys of the file once [`beside`] has put them there; so a scenario
//! and a link carry them.

use super::ImportError;
use super::reader::Reader;
use super::sizes::MAX_SIZE;
use super::value::{Object, Value, class_of};
use crate::config::{ModelConfig, Task, TaskKind};
use crate::models::{self, FamilySpec};

/// The key of the task.
const TASK: &str = "task_of";
/// The key of the number of classes.
const LABELS: &str = "num_labels";
/// The key that says how tokens become one state.
const POOLING: &str = "classifier_pooling";
/// The numbers that a head gives where its file says nothing: of two classes, or of both ends of a
/// span.
const TWO: u64 = 2;

/// The task of a file of that kind; none where it predicts text, or its task's layers are not
/// described.
pub(super) fn of_file(file: &Object, kind: &FamilySpec) -> Option<TaskKind> {
    models::task_of_class(class_of(file.get("architectures"))?, kind)
}

/// Puts the task of a file, and the number of its classes, beside its keys.
pub(super) fn beside(base: &mut Object, model_type: &str) {
    let Some(task) = models::of(model_type).and_then(|kind| of_file(base, kind)) else { return };
    base.insert(TASK.to_owned(), Value::Text(task.word().to_owned()));
    let named = match base.get("id2label") {
        Some(Value::Object(names)) => u64::try_from(names.len()).unwrap_or(TWO),
        _ => TWO,
    };
    if task == TaskKind::States {
        base.remove(LABELS);
    } else {
        base.entry(LABELS.to_owned()).or_insert(Value::Whole(named.max(1)));
    }
}

/// The task that the keys speak of, in the place of text: a head of its own, and no pooler beside
/// it.
pub(super) fn task(file: &mut Reader<'_>, config: &mut ModelConfig) -> Result<(), ImportError> {
    let kind = match file.peek(TASK) {
        Some(Value::Text(word)) => TaskKind::named(word),
        _ => None,
    };
    let Some(kind) = kind else { return Ok(()) };
    file.done_with(&[TASK]);
    let labels = if kind == TaskKind::States { 0 } else { file.size_or(&[LABELS], MAX_SIZE, TWO)? };
    config.task = Some(Task { kind, labels });
    // Classes of a text are made of its first token; other ways to pool tokens have the same
    // layers, and are not described.
    let first = Value::Text("cls".to_owned());
    if kind == TaskKind::Sequence && file.peek(POOLING).is_some_and(|pooling| *pooling != first) {
        file.disagrees(POOLING);
    }
    (config.pooler, config.lm_head_bias, config.tie_word_embeddings) = (false, false, true);
    if let Some(encoder) = &mut config.encoder {
        encoder.head_transform = false;
    }
    Ok(())
}
