//! Paste a Hugging Face `config.json`; the second program reads it.

use leptos::prelude::*;

use super::DialogFrame;
use crate::app::browser;
use crate::app::browser_more::{ask, is_again, set_text_of, text_of, wake, when_typing_rests};
use crate::app::more::slot;
use crate::app::more::wire::{Reply, What};
use crate::app::state::{Dialog, State, state};
use crate::scenario::codec::{decode, encode};

/// The text area's id.
const AREA: &str = "paste-area";

/// A text area, and what was understood of it.
#[component]
pub fn PasteDialog() -> impl IntoView {
    view! {
        <DialogFrame which=Dialog::Paste heading="A model from its config.json">
            <PasteForm />
        </DialogFrame>
    }
    .into_any()
}

/// What came of the text so far.
#[derive(Clone, Copy)]
struct Read {
    state: State,
    /// The report, or why there is none, as HTML.
    outcome: RwSignal<String>,
    /// The link of a scenario, and the link of it with the model in the text.
    found: RwSignal<Option<(String, String)>>,
}

impl Read {
    /// Reads what stands in the text area, and takes it over at once where that is wanted.
    fn now(self, take: bool) {
        let text = text_of(AREA);
        if text.trim().is_empty() {
            self.outcome.set(String::new());
            return;
        }
        if self.outcome.with_untracked(String::is_empty) {
            self.outcome.set(slot::fetching().as_str().to_owned());
        }
        let before = self.state.scenario.with_untracked(encode);
        ask(self.state, What::Paste, before.clone(), text, move |reply| self.understood(before, reply, take));
    }

    fn understood(self, before: String, reply: Option<Reply>, take: bool) {
        if self.state.dialog.get_untracked() != Some(Dialog::Paste) {
            return;
        }
        let out_of_reach = || slot::out_of_reach().as_str().to_owned();
        let (html, link) = reply.map_or_else(|| (out_of_reach(), None), |reply| (reply.html, reply.fragment));
        self.outcome.set(html);
        self.found.set(link.map(|link| (before, link)));
        if take {
            self.take();
        }
    }

    /// Takes the model over as one step of undo. Where the scenario has changed since, by undo say, the text is read once more.
    fn take(self) {
        let Some((before, link)) = self.found.try_get_untracked().flatten() else { return };
        if before != self.state.scenario.with_untracked(encode) {
            return self.now(true);
        }
        self.state.edit(None, |scenario| *scenario = decode(&link).scenario);
        self.state.say("The model's shape was taken over", None);
        self.state.dialog.set(None);
    }
}

/// Text, report, and the button that takes it over.
#[component]
fn PasteForm() -> impl IntoView {
    let state = state();
    let read = Read { state, outcome: RwSignal::new(String::new()), found: RwSignal::new(None) };
    wake();
    let from_file = move |text: Result<String, String>| match text {
        Ok(content) => {
            set_text_of(AREA, &content);
            when_typing_rests(move || read.now(false));
        }
        Err(problem) => state.tell(problem, true),
    };
    let typed = move || {
        read.found.set(None);
        when_typing_rests(move || read.now(false));
    };
    view! {
        <div class="dialog__body">
            <p class="quiet" id="paste-about">
                "Paste the whole file of a model on Hugging Face, or choose it. It is read here in the browser and sent nowhere."
            </p>
            <textarea
                class="dialog__area"
                id=AREA
                aria-label="Text of config.json"
                aria-describedby="paste-about"
                spellcheck="false"
                data-testid="paste-text"
                on:input=move |_| typed()
            ></textarea>
            <label class="button">
                "Choose a file"
                <input class="sr" type="file" accept="application/json,.json" on:change=move |event| browser::read_file(&event, from_file) />
            </label>
            <div
                inner_html=move || read.outcome.get()
                on:click=move |event| {
                    if is_again(&event) {
                        read.outcome.set(String::new());
                        read.now(false);
                    }
                }
            ></div>
        </div>
        <div class="dialog__foot">
            <button type="button" class="button" on:click=move |_| state.dialog.set(None)>"Cancel"</button>
            <button
                type="button"
                class="button button--main"
                data-testid="paste-use"
                disabled=move || read.found.with(Option::is_none)
                on:click=move |_| read.take()
            >
                "Use this model"
            </button>
        </div>
    }
}
