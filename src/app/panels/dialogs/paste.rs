//! Paste a Hugging Face `config.json`.

use leptos::prelude::*;

use super::DialogFrame;
use crate::app::browser;
use crate::app::state::{Dialog, state};
use crate::app::ui::{Views, memo};
use crate::import::{How, ImportError, Imported, ReportRow, config_json};

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

/// Text, report, and the button that takes it over.
#[component]
fn PasteForm() -> impl IntoView {
    let state = state();
    let text = RwSignal::new(String::new());
    let read = memo(move || {
        let text = text.get();
        if text.trim().is_empty() { None } else { Some(config_json(&text)) }
    });
    let good = move || read.with(|read| matches!(read, Some(Ok(_))));
    let take = move |_| {
        if let Some(Ok(imported)) = read.get_untracked() {
            state.edit(None, |scenario| scenario.apply_imported(&imported));
            state.say("The model's shape was taken over", None);
            state.dialog.set(None);
        }
    };
    let from_file = move |file: Result<String, String>| match file {
        Ok(content) => text.set(content),
        Err(problem) => state.tell(problem, true),
    };
    view! {
        <div class="dialog__body">
            <p class="quiet" id="paste-about">
                "Paste the whole file of a model on Hugging Face, or choose it. It is read here in the browser and sent nowhere."
            </p>
            <textarea
                class="dialog__area"
                aria-label="Text of config.json"
                aria-describedby="paste-about"
                spellcheck="false"
                data-testid="paste-text"
                prop:value=move || text.get()
                on:input:target=move |event| text.set(event.target().value())
            ></textarea>
            <label class="button">
                "Choose a file"
                <input class="sr" type="file" accept="application/json,.json" on:change=move |event| browser::read_file(&event, from_file) />
            </label>
            {move || read.get().map(outcome)}
        </div>
        <div class="dialog__foot">
            <button type="button" class="button" on:click=move |_| state.dialog.set(None)>"Cancel"</button>
            <button type="button" class="button button--main" data-testid="paste-use" disabled=move || !good() on:click=take>
                "Use this model"
            </button>
        </div>
    }
}

/// The report, or why the text cannot be used.
fn outcome(read: Result<Imported, ImportError>) -> AnyView {
    match read {
        Err(problem) => {
            let sentence = problem.to_string();
            view! { <p class="field__error" role="alert" data-testid="paste-error">{sentence}</p> }.into_any()
        }
        Ok(imported) => {
            let name = imported.name.unwrap_or_else(|| imported.model_type.clone());
            view! {
                <h3>{format!("{name} ({})", imported.model_type)}</h3>
                <div class="dialog__scroll" tabindex="0" role="region" aria-label="What was understood">
                    <table class="table" data-testid="paste-report">
                        <thead>
                            <tr>
                                <th scope="col">"Key"</th>
                                <th scope="col">"Value"</th>
                                <th scope="col">"How"</th>
                                <th scope="col">"Note"</th>
                            </tr>
                        </thead>
                        <tbody>{imported.report.into_iter().map(report_row).views()}</tbody>
                    </table>
                </div>
            }
            .into_any()
        }
    }
}

fn report_row(row: ReportRow) -> impl IntoView {
    let (class, how) = match row.how {
        How::Read => ("tag", "read"),
        How::Derived => ("tag tag--modelled", "derived"),
        How::Assumed => ("tag tag--assumed", "assumed"),
        How::Ignored => ("tag", "ignored"),
    };
    view! {
        <tr>
            <th scope="row"><code>{row.key}</code></th>
            <td>{row.value}</td>
            <td><span class=class>{how}</span></td>
            <td class="table__reason">{row.note}</td>
        </tr>
    }
}
