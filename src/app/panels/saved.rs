//! Scenarios kept in this browser.

use std::sync::Arc;

use leptos::prelude::*;

use crate::app::browser::{self, Saved};
use crate::app::state::{Dialog, State, state};
use crate::app::ui::Views;
use crate::app::words::about;
use crate::scenario::codec::decode;
use crate::scenario::records::{self, SavedScenario};

/// The list of saved scenarios, shared by the panel and the save dialog.
#[derive(Clone, Copy)]
pub struct Shelf {
    state: State,
    /// What storage holds.
    pub saved: RwSignal<Saved>,
}

impl Shelf {
    /// Reads storage, and listens to other tabs.
    pub fn new(state: State) -> Self {
        let shelf = Self { state, saved: RwSignal::new(browser::saved()) };
        browser::on_storage_change(move || shelf.reload());
        shelf.tell();
        shelf
    }

    fn reload(self) {
        self.saved.set(browser::saved());
    }

    fn tell(self) {
        let (available, aside) = self.saved.with_untracked(|saved| (saved.available, saved.set_aside));
        if !available {
            self.state.tell("This browser does not let the page store anything: scenarios cannot be saved on this device. Links and files still work.".to_owned(), true);
        }
        if aside > 0 {
            self.state.tell(format!("{aside} saved scenarios could not be read. They were set aside in this browser's storage; nothing was deleted."), true);
        }
    }

    /// Keeps a record, and says what happened.
    pub fn keep(self, record: &SavedScenario, done: &str) {
        match browser::save(record) {
            Ok(()) => self.state.say(done, None),
            Err(problem) => self.state.tell(problem, true),
        }
        self.reload();
    }

    /// Saves what is shown under a name of its own.
    pub fn add(self, name: &str) {
        let link = untrack(|| browser::current_fragment(self.state));
        let name = if name.trim().is_empty() { self.state.scenario.with_untracked(about) } else { name.trim().to_owned() };
        let record = SavedScenario { id: browser::new_id(), name, saved_at_ms: browser::clock_ms(), revision: 1, link };
        self.keep(&record, "Saved in this browser");
    }

    fn rename(self, id: &str, name: &str) {
        let Some(mut record) = browser::stored(id) else { return self.reload() };
        name.trim().clone_into(&mut record.name);
        record.revision = record.revision.saturating_add(1);
        self.keep(&record, "Renamed");
    }

    fn duplicate(self, record: &SavedScenario) {
        let copy = SavedScenario {
            id: browser::new_id(),
            name: format!("{} (copy)", record.name),
            saved_at_ms: browser::clock_ms(),
            revision: 1,
            link: record.link.clone(),
        };
        self.keep(&copy, "Duplicated");
    }

    fn delete(self, record: SavedScenario) {
        browser::forget(&record.id);
        self.reload();
        let text = format!("Deleted “{}”", record.name);
        self.state.say(text, Some(Arc::new(move || self.keep(&record, "Brought back"))));
    }

    fn open(self, record: &SavedScenario) {
        let decoded = decode(&record.link);
        for notice in decoded.notices {
            self.state.tell(notice, true);
        }
        self.state.open(decoded.scenario, decoded.compare);
    }

    fn import(self, text: Result<String, String>) {
        let records = match text.and_then(|text| records::import_all(&text)) {
            Ok(records) => records,
            Err(problem) => return self.state.tell(problem, true),
        };
        for skipped in records.skipped {
            self.state.tell(skipped, true);
        }
        let mut count = 0_usize;
        for record in &records.records {
            // Of two records with one id, the higher revision is the newer.
            if browser::stored(&record.id).is_some_and(|mine| mine.revision >= record.revision) {
                continue;
            }
            match browser::save(record) {
                Ok(()) => count = count.saturating_add(1),
                Err(problem) => {
                    self.state.tell(problem, true);
                    break;
                }
            }
        }
        self.reload();
        self.state.say(format!("{count} scenarios added from the file"), None);
    }
}

/// The panel.
#[component]
pub fn SavedPanel() -> impl IntoView {
    let shelf: Shelf = expect_context();
    let state = state();
    let export = move |_| {
        let file = shelf.saved.with_untracked(|saved| records::export_all(&saved.scenarios));
        browser::download("headroom-scenarios.json", "application/json", &file);
    };
    let none = move || shelf.saved.with(|saved| saved.scenarios.is_empty());
    view! {
        <div data-testid="saved">
            <div class="section__head">
                <h2>"Saved scenarios"</h2>
                <div class="section__tools">
                    <button type="button" class="button" on:click=move |_| state.dialog.set(Some(Dialog::Save))>"Save this one"</button>
                    <button type="button" class="button" disabled=none on:click=export>"Download all"</button>
                    <label class="button" tabindex="-1">
                        "Add from a file"
                        <input
                            class="sr"
                            type="file"
                            accept="application/json,.json"
                            on:change=move |event| browser::read_file(&event, move |text| shelf.import(text))
                        />
                    </label>
                </div>
            </div>
            <p class="saved__empty" hidden=move || !none()>
                "Nothing saved on this device yet. Saved scenarios stay in this browser; a link or a downloaded file keeps them for longer."
            </p>
            <ul>
                {move || shelf.saved.with(|saved| saved.scenarios.clone()).into_iter().map(|record| view! { <SavedRow record /> }).views()}
            </ul>
        </div>
    }
    .into_any()
}

/// One saved scenario.
#[component]
fn SavedRow(
    /// Its record.
    record: SavedScenario,
) -> impl IntoView {
    let shelf: Shelf = expect_context();
    let state = state();
    let renaming = RwSignal::new(false);
    let (field_id, button_id) = (format!("name-{}", record.id), format!("rename-{}", record.id));
    let (field, button) = (StoredValue::new(field_id.clone()), StoredValue::new(button_id.clone()));
    // The focus follows: into the name, and back to the button.
    let begin = move |_| {
        renaming.set(true);
        let id = field.get_value();
        browser::after(0, move || browser::focus(&id));
    };
    let end = move || {
        renaming.set(false);
        let id = button.get_value();
        browser::after(0, move || browser::focus(&id));
    };
    let date = browser::local_date(record.saved_at_ms);
    let shown = record.name.clone();
    let record = StoredValue::new(record);
    let rename = move |name: String| {
        // Given up with Escape: the browser reports the change all the same, when the input goes.
        if !renaming.get_untracked() {
            return;
        }
        end();
        record.with_value(|record| {
            if record.name != name && !name.trim().is_empty() {
                shelf.rename(&record.id, &name);
            }
        });
    };
    let compare = move |_| state.compare_with(Some(record.with_value(|record| decode(&record.link).scenario)));
    let name = move || {
        if renaming.get() {
            let now = record.with_value(|record| record.name.clone());
            view! {
                <input
                    id=field_id.clone()
                    class="field__input"
                    type="text"
                    maxlength="60"
                    aria-label="New name"
                    prop:value=now
                    on:keydown=move |event| {
                        if event.key() == "Escape" {
                            end();
                        }
                    }
                    on:change:target=move |event| rename(event.target().value())
                />
            }
            .into_any()
        } else {
            view! {
                <button type="button" class="link" on:click=move |_| record.with_value(|record| shelf.open(record))>
                    {shown.clone()}
                </button>
            }
            .into_any()
        }
    };
    view! {
        <li class="saved__row">
            <span class="saved__name">{name} <span class="saved__date">{date}</span></span>
            <span class="saved__tools">
                <button type="button" class="button button--plain" on:click=compare>"Compare"</button>
                <button type="button" class="button button--plain" id=button_id on:click=begin>"Rename"</button>
                <button type="button" class="button button--plain" on:click=move |_| record.with_value(|record| shelf.duplicate(record))>
                    "Duplicate"
                </button>
                <button type="button" class="button button--plain" on:click=move |_| shelf.delete(record.get_value())>"Delete"</button>
            </span>
        </li>
    }
    .into_any()
}
