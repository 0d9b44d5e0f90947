//! A searchable list: models and accelerators of the catalog.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::frame::{FieldFrame, described_by, problem_of};
use crate::app::browser;
use crate::app::state::{State, state};
use crate::app::ui::{Views, memo};
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
                id: &row.id,
                name: &row.name,
                note: if row.verified { size(row.published_parameters) } else { "not verified".to_owned() },
                words: format!("{} {} {} {}", row.id, row.name, row.family, row.aliases.join(" ")).to_ascii_lowercase(),
            })
            .collect();
    }
    catalog::accelerators()
        .iter()
        .map(|row| Row {
            id: &row.id,
            name: &row.name,
            note: if row.verified { row.vendor.clone() } else { format!("{}, not verified", row.vendor) },
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
    hits: Memo<Vec<Row>>,
}

impl Picker {
    fn new(state: State, field: &'static Field) -> Self {
        let all = rows(field.kind);
        let search = RwSignal::new(None::<String>);
        let hits = memo(move || search.with(|search| found(&all, search.as_deref())));
        Self { state, field, open: RwSignal::new(false), search, at: RwSignal::new(0), hits }
    }

    fn option_id(self, index: usize) -> String {
        format!("o-{}-{index}", self.field.key)
    }

    /// The marked entry's id while the list is open.
    fn marked(self) -> Option<String> {
        (self.open.get() && self.hits.with(|hits| !hits.is_empty())).then(|| self.option_id(self.at.get()))
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
        let last = self.hits.with_untracked(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" if open => self.at.set(now.saturating_add(1).min(last)),
            "ArrowDown" => self.open.set(true),
            "ArrowUp" => self.at.set(now.saturating_sub(1)),
            "Enter" if open => {
                if let Some(row_id) = self.hits.with_untracked(|hits| hits.get(now).map(|row| row.id)) {
                    self.choose(row_id);
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
#[component]
pub fn PickerField(
    /// The field's entry.
    field: &'static Field,
    /// Whether it takes the whole width.
    #[prop(optional)]
    wide: bool,
    /// Whether the heading above stands for its label, which only screen readers then read.
    #[prop(optional)]
    bare: bool,
) -> impl IntoView {
    let state = state();
    let picker = Picker::new(state, field);
    let name = memo(move || state.scenario.with(|scenario| chosen_name(field, scenario)));
    let problem = problem_of(field.id);
    view! {
        <FieldFrame field problem wide spoken=bare>
            <div class="field__box field__box--select picker">
                <input
                    id=format!("f-{}", field.key)
                    class="field__input"
                    type="text"
                    role="combobox"
                    autocomplete="off"
                    spellcheck="false"
                    aria-autocomplete="list"
                    aria-expanded=move || picker.open.get().to_string()
                    aria-controls=format!("l-{}", field.key)
                    aria-activedescendant=move || picker.marked()
                    aria-describedby=move || problem.with(|problem| described_by(field, problem.as_ref()))
                    prop:value=move || picker.search.get().unwrap_or_else(|| name.get())
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
                >
                    {move || picker.open.get().then(|| options(picker))}
                </div>
            </div>
        </FieldFrame>
    }
}

/// The entries found, or that there are none.
fn options(picker: Picker) -> Vec<AnyView> {
    let rows = picker.hits.get();
    if rows.is_empty() {
        let none = view! {
            <p class="picker__empty" role="option" aria-disabled="true" aria-selected="false">
                "Nothing found. Any shape can be typed below instead."
            </p>
        };
        return vec![none.into_any()];
    }
    rows.into_iter().enumerate().map(|(index, row)| option(picker, index, row)).views()
}

/// One entry.
fn option(picker: Picker, index: usize, row: Row) -> impl IntoView {
    view! {
        <div
            id=picker.option_id(index)
            class="picker__option"
            role="option"
            aria-selected=move || (picker.at.get() == index).to_string()
            on:mousedown=move |event| {
                event.prevent_default();
                picker.choose(row.id);
            }
        >
            <span>{row.name}</span>
            <span class="picker__note">{row.note}</span>
        </div>
    }
}

/// The name of what is chosen.
fn chosen_name(field: &Field, scenario: &crate::scenario::Scenario) -> String {
    if field.kind == FieldKind::Model {
        return model_name(scenario);
    }
    match scenario.get(field.id) {
        Value::Text(id) => catalog::accelerator(&id).map_or(id, |row| row.name.clone()),
        _ => String::new(),
    }
}
