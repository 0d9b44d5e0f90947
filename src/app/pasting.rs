//! The paste dialog: text goes to the second program; its report and the model come back.

use leptos::prelude::*;

use super::browser::{after, value_in};
use super::browser_more::{ask, set_text_of, text_of, wake, when_typing_rests};
use super::state::{Dialog, State, StateChange};
use crate::scenario::codec::{decode, encode};
use crate::scenario::{FieldId, Value};
use crate::view::markup::Html;
use crate::view::panels::dialogs::paste::{AREA, FIELD, NAME, PasteState, PastedModel};
use crate::view::slot;
use crate::view::words::model_name;
use crate::worker::question::{PastedInput, WorkerQuestion};
use crate::worker::wire::Reply;

/// Begins with an empty text.
pub fn begin(state: State) {
    state.dialogs.change(|dialogs| dialogs.pasted = PasteState::default());
    wake();
}

/// How often the dialog is looked for until its text area is there, every 20 ms.
pub const MOST_TURNS: u32 = 100;

/// Takes the text out of the field at the top of the form.
pub fn of_field() -> String {
    let text = text_of(FIELD);
    set_text_of(FIELD, "");
    text
}

/// Puts a text into the dialog as soon as it is there, as if it had been typed.
pub fn hand_over(state: State, text: String, turns: u32) {
    set_text_of(AREA, &text);
    if text_of(AREA).is_empty() && !text.is_empty() && turns > 0 {
        after(20, move || hand_over(state, text, turns - 1));
    } else {
        typed(state);
    }
}

/// The text changed: what was found, and what was asked for, belongs to an earlier one.
pub fn typed(state: State) {
    state
        .dialogs
        .change(|dialogs| (dialogs.pasted.found, dialogs.pasted.as_generic) = (None, false));
    when_typing_rests(move || read(state, None));
}

/// A file was chosen instead.
pub fn from_file(state: State, text: Result<String, String>) {
    match text {
        Ok(content) => {
            set_text_of(AREA, &content);
            typed(state);
        }
        Err(problem) => state.tell(problem, true),
    }
}

/// A memory snapshot was chosen: its bytes in base64.
pub fn from_snapshot(state: State, bytes: Result<String, String>) {
    ask_about(state, bytes.map(PastedInput::Snapshot));
}

/// Files of a model were chosen: their names and beginnings.
pub fn from_files(state: State, files: Result<Vec<(String, String)>, String>) {
    ask_about(state, files.map(PastedInput::Files));
}

/// Asks about what is no text; the text area is empty from then on.
fn ask_about(state: State, asked: Result<PastedInput, String>) {
    match asked {
        Ok(asked) => {
            set_text_of(AREA, "");
            state.dialogs.change(|dialogs| {
                dialogs.pasted = PasteState { outcome: slot::fetching(), ..PasteState::default() }
            });
            let before = encode(&state.scenario_now());
            ask(state, before.clone(), WorkerQuestion::Paste(asked), move |reply| {
                understood(state, before.clone(), reply, None);
            });
        }
        Err(problem) => state.tell(problem, true),
    }
}

/// Asks once more after the second program was out of reach.
pub fn again(state: State) {
    state.dialogs.change(|dialogs| dialogs.pasted.outcome = Html::new());
    read(state, None);
}

/// Counts a kind that is not known as a generic decoder.
pub fn as_generic(state: State) {
    state.dialogs.change(|dialogs| dialogs.pasted.as_generic = true);
    read(state, None);
}

/// Reads what stands in the text area, and takes it over at once under that name where that is
/// wanted.
fn read(state: State, take_as: Option<String>) {
    let text = text_of(AREA);
    if text.trim().is_empty() {
        state.dialogs.change(|dialogs| dialogs.pasted.outcome = Html::new());
        return;
    }
    let mut as_generic = false;
    state.dialogs.change(|dialogs| {
        if dialogs.pasted.outcome.is_empty() {
            dialogs.pasted.outcome = slot::fetching();
        }
        as_generic = dialogs.pasted.as_generic;
    });
    let asked = if as_generic { PastedInput::AsGeneric(text) } else { PastedInput::Text(text) };
    let before = encode(&state.scenario_now());
    let mut take_as = take_as;
    ask(state, before.clone(), WorkerQuestion::Paste(asked), move |reply| {
        understood(state, before.clone(), reply, take_as.take());
    });
}

fn understood(state: State, before: String, reply: Option<Reply>, take_as: Option<String>) {
    if state.dialog_now() != Some(Dialog::Paste) {
        return;
    }
    let (outcome, link) = reply.map_or_else(
        || (slot::out_of_reach(), None),
        |reply| (Html::made(reply.html), reply.fragment),
    );
    state.dialogs.change(|dialogs| {
        dialogs.pasted.outcome = outcome;
        dialogs.pasted.found = link.map(|link| PastedModel { before, link });
    });
    if let Some(name) = take_as {
        take_named(state, name);
    }
}

/// Takes the model over, under the name that stands in the dialog.
pub fn take(state: State) {
    take_named(state, value_in(NAME));
}

/// One step of undo. Where the scenario has changed since, by undo say, the text is read once more.
fn take_named(state: State, name: String) {
    let Some(PastedModel { before, link }) = state.dialogs.get_untracked().pasted.found else {
        return;
    };
    if before != encode(&state.scenario_now()) {
        return read(state, Some(name));
    }
    let mut model = decode(&link).scenario;
    // The name that was offered follows the model's size; another one is the reader's own.
    if model_name(&model) != name.trim() {
        model.set(FieldId::ModelName, Value::Text(name));
    }
    let loaded = format!("{} loaded", model_name(&model));
    // The model comes as a link, which states values: what followed before follows the new model.
    state.edit(None, |scenario| {
        model.follow_as(scenario);
        *scenario = model;
    });
    state.say(loaded, None);
    state.show_dialog(None);
}
