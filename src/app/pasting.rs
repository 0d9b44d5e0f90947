//! What happens in the paste dialog: text goes to the second program, its report and the model come back.

use super::browser_more::{ask, set_text_of, text_of, wake, when_typing_rests};
use super::markup::Html;
use super::more::slot;
use super::more::wire::{Reply, What};
use super::panels::dialogs::paste::{AREA, Pasted};
use super::state::{Dialog, State};
use crate::scenario::codec::{decode, encode};

/// Begins with an empty text.
pub fn begin(state: State) {
    state.page(|ui| ui.pasted = Pasted::default());
    wake();
}

/// The text changed: what was found belongs to an earlier one.
pub fn typed(state: State) {
    state.page(|ui| ui.pasted.found = None);
    when_typing_rests(move || read(state, false));
}

/// A file was chosen instead.
pub fn from_file(state: State, text: Result<String, String>) {
    match text {
        Ok(content) => {
            set_text_of(AREA, &content);
            when_typing_rests(move || read(state, false));
        }
        Err(problem) => state.tell(problem, true),
    }
}

/// Asks once more after the second program was out of reach.
pub fn again(state: State) {
    state.page(|ui| ui.pasted.outcome = Html::new());
    read(state, false);
}

/// Reads what stands in the text area, and takes it over at once where that is wanted.
fn read(state: State, take_it: bool) {
    let text = text_of(AREA);
    if text.trim().is_empty() {
        state.page(|ui| ui.pasted.outcome = Html::new());
        return;
    }
    state.page(|ui| {
        if ui.pasted.outcome.is_empty() {
            ui.pasted.outcome = slot::fetching();
        }
    });
    let before = encode(&state.scenario_now());
    ask(state, What::Paste, before.clone(), text, move |reply| understood(state, before.clone(), reply, take_it));
}

fn understood(state: State, before: String, reply: Option<Reply>, take_it: bool) {
    if state.page_now().dialog != Some(Dialog::Paste) {
        return;
    }
    let (outcome, link) = reply.map_or_else(|| (slot::out_of_reach(), None), |reply| (Html::made(reply.html), reply.fragment));
    state.page(|ui| ui.pasted = Pasted { outcome, found: link.map(|link| (before, link)) });
    if take_it {
        take(state);
    }
}

/// Takes the model over as one step of undo. Where the scenario has changed since, by undo say, the text is read once more.
pub fn take(state: State) {
    let Some((before, link)) = state.page_now().pasted.found else { return };
    if before != encode(&state.scenario_now()) {
        return read(state, true);
    }
    state.edit(None, |scenario| *scenario = decode(&link).scenario);
    state.say("The model's shape was taken over", None);
    state.show_dialog(None);
}
