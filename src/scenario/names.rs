//! Rows of the catalog by their other names, such as `meta-llama/Meta-Llama-3-8B`. The page knows
//! ids alone and asks for the rest: few links carry another name.

use super::FieldId;
use crate::catalog;

/// The subject of questions about other names.
pub const ABOUT_NAMES: &str = "names";

/// The row that goes by some name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// Its id and the name shown to people.
    Row(&'static str, &'static str),
    /// No row goes by it.
    No,
    /// Nobody who knows other names has come.
    NotYet,
}

impl Listed {
    /// Id and name of the row, if there is one.
    pub(super) const fn row(self) -> Option<(&'static str, &'static str)> {
        if let Self::Row(id, name) = self { Some((id, name)) } else { None }
    }
}

/// The row of the models or of the accelerators that goes by that name.
pub(super) fn listed(list: FieldId, name: &str) -> Listed {
    let row = |id: &str| match list {
        FieldId::Model => catalog::model_of_id(id).map(|row| Listed::Row(row.id, row.name)),
        _ => catalog::accelerator_of_id(id).map(|row| Listed::Row(row.id, row.name)),
    };
    row(name).unwrap_or_else(|| {
        ask(list, name).map_or(Listed::NotYet, |id| row(&id).unwrap_or(Listed::No))
    })
}

/// The id of the row with that name; empty where there is none, and nothing while nobody has come
/// who knows.
fn ask(list: FieldId, name: &str) -> Option<String> {
    let question = format!("{} {name}", if list == FieldId::Model { MODELS } else { ACCELERATORS });
    if cfg!(feature = "apart") {
        super::later::ask(&format!("{ABOUT_NAMES} {question}"))
    } else {
        Some(id_of(&question))
    }
}

const MODELS: &str = "model";
const ACCELERATORS: &str = "accelerator";

/// Answers a question about another name: `model meta-llama/Meta-Llama-3-8B`.
pub fn id_of(question: &str) -> String {
    let id = match question.split_once(' ') {
        Some((MODELS, name)) => catalog::model(name).map(|row| row.id),
        Some((ACCELERATORS, name)) => catalog::accelerator(name).map(|row| row.id),
        _ => None,
    };
    id.unwrap_or_default().to_owned()
}
