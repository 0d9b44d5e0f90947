//! The answers to what the page asks its program for later: keys of models, other names of rows,
//! help about inputs, rows by what is typed, QR codes of links.

use super::fields::rows;
use super::panels::compare;
use super::panels::dialogs::share;
use crate::catalog::Finder;
use crate::scenario::{FieldKind, field_of_key, help, id_of, option_help, read_keys};

/// The subjects of questions.
const KEYS: &str = crate::scenario::ABOUT_KEYS;
const NAMES: &str = crate::scenario::ABOUT_NAMES;
const HELP: &str = "help";
const CODE: &str = "code";
/// Scenarios side by side.
pub const COMPARE: &str = "compare";
/// Typed words that shall find a model.
pub const MODELS: &str = "models";
/// Typed words that shall find an accelerator.
pub const ACCELERATORS: &str = "accelerators";

/// Answers a question: its subject, a blank, and what that is asked about.
pub fn answer(question: &str) -> Option<String> {
    match question.split_once(' ')? {
        (KEYS, question) => read_keys(question),
        (NAMES, question) => Some(id_of(question)),
        (HELP, about) => help_text(about),
        (CODE, asked) => share::answer(asked),
        (COMPARE, asked) => compare::answer(asked),
        (MODELS, typed) => Some(rows::answer(Finder::of_models(), typed)),
        (ACCELERATORS, typed) => Some(rows::answer(Finder::of_accelerators(), typed)),
        _ => None,
    }
}

/// The help of an input, and of the option that is chosen where it has some; nothing while it has
/// not come.
pub fn help_of(key: &str, chosen: &str) -> Option<String> {
    ask(HELP, &format!("{key} {chosen}"))
}

/// The help of an input by its key, and of one of its options by its word.
fn help_text(about: &str) -> Option<String> {
    let (key, word) = about.split_once(' ')?;
    let field = field_of_key(key)?;
    let option = match field.kind {
        FieldKind::Choice(options) => options.iter().find(|option| option.value == word),
        _ => None,
    };
    let of_option =
        option.map(|option| format!(" {}: {}", option.label, option_help(field.id, word)));
    Some(format!("{}{}", help(field.id), of_option.unwrap_or_default()))
}

/// A QR code as [`share::answer`] writes it; `None` while it has not come.
pub fn code_of(asked: &str) -> Option<String> {
    ask(CODE, asked)
}

/// The answer about that subject; `None` while it has not come.
pub fn ask(subject: &str, about: &str) -> Option<String> {
    let question = format!("{subject} {about}");
    if cfg!(feature = "apart") { crate::scenario::later::ask(&question) } else { answer(&question) }
}
