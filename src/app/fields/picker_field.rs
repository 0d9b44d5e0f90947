//! A searchable list: models and accelerators of the catalog.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use crate::app::browser;
use crate::app::markup::{Html, html, word_of};
use crate::app::state::State;
use crate::app::words::{billions, model_name};
use crate::catalog;
use crate::scenario::{Field, FieldKind, Value};

/// One row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    id: &'static str,
    name: &'static str,
    note: String,
    /// Everything that finds it, in lower case.
    words: String,
}

/// All rows of that kind of list.
fn rows(kind: FieldKind) -> Vec<Row> {
    if kind == FieldKind::Model {
        let size = |published: Option<u64>| published.map(billions).unwrap_or_default();
        return catalog::models()
            .iter()
            .map(|row| Row {
                id: row.id,
                name: row.name,
                note: if row.verified { size(row.published_parameters) } else { "not verified".to_owned() },
                words: format!("{} {} {} {}", row.id, row.name, row.family, row.aliases.join(" ")).to_ascii_lowercase(),
            })
            .collect();
    }
    catalog::accelerators()
        .iter()
        .map(|row| Row {
            id: row.id,
            name: row.name,
            note: if row.verified { row.vendor.to_owned() } else { format!("{}, not verified", row.vendor) },
            words: format!("{} {} {} {}", row.id, row.name, row.vendor, row.aliases.join(" ")).to_ascii_lowercase(),
        })
        .collect()
}

/// The rows that contain every word of the search.
fn found(rows: &[Row], search: Option<&str>) -> Vec<Row> {
    let search = search.unwrap_or_default().to_ascii_lowercase();
    rows.iter().filter(|row| search.split_whitespace().all(|word| row.words.contains(word))).cloned().collect()
}

/// The state of one list, and what its keys do.
#[derive(Clone, Copy)]
struct Picker {
    state: State,
    field: &'static Field,
    open: RwSignal<bool>,
    /// What is typed to search; nothing typed shows the chosen name and the whole list.
    search: RwSignal<Option<String>>,
    /// The entry that Enter would take.
    at: RwSignal<usize>,
    all: StoredValue<Vec<Row>>,
}

impl Picker {
    fn new(state: State, field: &'static Field) -> Self {
        let all = StoredValue::new(rows(field.kind));
        Self { state, field, open: RwSignal::new(false), search: RwSignal::new(None), at: RwSignal::new(0), all }
    }

    /// The rows found.
    fn hits(self) -> Vec<Row> {
        self.search.with(|search| self.all.with_value(|all| found(all, search.as_deref())))
    }

    fn option_id(self, index: usize) -> String {
        format!("o-{}-{index}", self.field.key)
    }

    /// The marked entry's id while the list is open.
    fn marked(self) -> Option<String> {
        (self.open.get() && !self.hits().is_empty()).then(|| self.option_id(self.at.get()))
    }

    /// The entries found, or that there are none; nothing while the list is closed.
    fn options(self) -> String {
        let at = self.at.get();
        if !self.open.get() {
            return String::new();
        }
        let option = |(index, row): (usize, &Row)| {
            html(
                r#"<div id="{}" class="picker__option" role="option" aria-selected="{}" data-pick="{}"><span>{}</span><span class="picker__note">{}</span></div>"#,
                &[&self.option_id(index), &word_of(index == at), &row.id, &row.name, &row.note],
            )
        };
        let list: Html = self.hits().iter().enumerate().map(option).collect();
        if list.is_empty() {
            let none = r#"<p class="picker__empty" role="option" aria-disabled="true" aria-selected="false">Nothing found. Any shape can be typed below instead.</p>"#;
            return none.to_owned();
        }
        list.as_str().to_owned()
    }

    fn close(self) {
        self.open.set(false);
        self.search.set(None);
    }

    fn narrow(self, text: String) {
        self.at.set(0);
        self.open.set(true);
        self.search.set(Some(text));
    }

    fn choose(self, row_id: &str) {
        self.state.edit(None, |scenario| scenario.set(self.field.id, Value::Text(row_id.to_owned())));
        self.close();
    }

    fn key(self, event: &KeyboardEvent) {
        let (open, now) = (self.open.get_untracked(), self.at.get_untracked());
        let hits = untrack(|| self.hits());
        let last = hits.len().saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" if open => self.at.set(now.saturating_add(1).min(last)),
            "ArrowDown" => self.open.set(true),
            "ArrowUp" => self.at.set(now.saturating_sub(1)),
            "Enter" if open => {
                if let Some(row) = hits.get(now) {
                    self.choose(row.id);
                }
            }
            "Escape" if open => self.close(),
            _ => return,
        }
        event.prevent_default();
        let marked = self.option_id(self.at.get_untracked());
        browser::after(0, move || browser::reveal(&marked));
    }
}

/// A text input with a list under it; typing narrows the list, Enter or a click chooses.
pub fn picker_field(state: State, field: &'static Field, described: Memo<String>) -> AnyView {
    let picker = Picker::new(state, field);
    let text =
        Memo::new(move |_| picker.search.get().unwrap_or_else(|| state.scenario.with(|scenario| chosen_name(field, scenario))));
    view! {
        <input
            id=format!("f-{}", field.key)
            class="field__input"
            type="text"
            role="combobox"
            autocomplete="off"
            spellcheck="false"
            aria-autocomplete="list"
            aria-expanded=move || word_of(picker.open.get())
            aria-controls=format!("l-{}", field.key)
            aria-activedescendant=move || picker.marked()
            aria-describedby=move || described.get()
            prop:value=move || text.get()
            on:focus:target=move |event| event.target().select()
            on:click=move |_| picker.open.set(true)
            on:input:target=move |event| picker.narrow(event.target().value())
            on:keydown=move |event| picker.key(&event)
            on:blur=move |_| picker.close()
        />
        <div
            id=format!("l-{}", field.key)
            class="picker__list"
            role="listbox"
            aria-label=field.label
            hidden=move || !picker.open.get()
            inner_html=move || picker.options()
            on:mousedown=move |event| {
                event.prevent_default();
                if let Some(row_id) = browser::named(&event, "data-pick") {
                    picker.choose(&row_id);
                }
            }
        ></div>
    }
    .into_any()
}

/// The name of what is chosen.
fn chosen_name(field: &Field, scenario: &crate::scenario::Scenario) -> String {
    if field.kind == FieldKind::Model {
        return model_name(scenario);
    }
    match scenario.get(field.id) {
        Value::Text(id) => catalog::accelerator(&id).map_or(id, |row| row.name.to_owned()),
        _ => String::new(),
    }
}
