//! Save under a name.

use leptos::prelude::*;

use super::DialogFrame;
use crate::app::panels::saved::Shelf;
use crate::app::state::{Dialog, state};
use crate::app::words::about;

/// Asks for a name and saves.
#[component]
pub fn SaveDialog() -> impl IntoView {
    view! {
        <DialogFrame which=Dialog::Save heading="Save this scenario">
            <SaveForm />
        </DialogFrame>
    }
    .into_any()
}

/// Name and button.
#[component]
fn SaveForm() -> impl IntoView {
    let state = state();
    let shelf: Shelf = expect_context();
    let suggested = state.scenario.with_untracked(|scenario| {
        let name = scenario.name();
        if name.is_empty() { about(scenario).chars().take(60).collect() } else { name }
    });
    let name = RwSignal::new(suggested);
    let save = move || {
        state.edit(None, |scenario| scenario.set_name(&name.get_untracked()));
        shelf.add(&name.get_untracked());
        state.dialog.set(None);
    };
    view! {
        <form
            on:submit=move |event| {
                event.prevent_default();
                save();
            }
        >
            <div class="dialog__body">
                <div class="field">
                    <label class="field__label" for="save-name">"Name, at most 60 characters"</label>
                    <input
                        id="save-name"
                        class="field__input"
                        type="text"
                        maxlength="60"
                        autocomplete="off"
                        prop:value=move || name.get()
                        on:input:target=move |event| name.set(event.target().value())
                    />
                </div>
                <p class="quiet">
                    "It stays in this browser, on this device. Some browsers clear such data after a week without a visit; a link or the downloaded file lasts."
                </p>
            </div>
            <div class="dialog__foot">
                <button type="button" class="button" on:click=move |_| state.dialog.set(None)>"Cancel"</button>
                <button type="submit" class="button button--main" data-testid="save-confirm">"Save"</button>
            </div>
        </form>
    }
}
