//! A searchable list: models and accelerators of the catalog.

use leptos::ev::KeyboardEvent;
use leptos::prelude::*;

use super::frame::{FieldFrame, described_by, problem_of};
use crate::app::browser;
use crate::app::state::state;
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
    let id = field.id;
    let all = StoredValue::new(rows(field.kind));
    let open = RwSignal::new(false);
    // What is typed to search; nothing typed shows the chosen name and the whole list.
    let search = RwSignal::new(None::<String>);
    let at = RwSignal::new(0_usize);
    let hits = memo(move || search.with(|search| all.with_value(|rows| found(rows, search.as_deref()))));
    let name = memo(move || state.scenario.with(|scenario| chosen_name(field, scenario)));
    let problem = problem_of(id);
    let close = move || {
        open.set(false);
        search.set(None);
    };
    let choose = move |row: &Row| {
        let row_id = row.id;
        state.edit(None, |scenario| scenario.set(id, Value::Text(row_id.to_owned())));
        close();
    };
    let option_id = move |index: usize| format!("o-{}-{index}", field.key);
    let on_key = move |event: KeyboardEvent| {
        let last = hits.with(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" if open.get_untracked() => at.update(|at| *at = at.saturating_add(1).min(last)),
            "ArrowDown" => open.set(true),
            "ArrowUp" => at.update(|at| *at = at.saturating_sub(1)),
            "Enter" if open.get_untracked() => hits.with(|hits| hits.get(at.get_untracked()).iter().for_each(|row| choose(row))),
            "Escape" if open.get_untracked() => close(),
            _ => return,
        }
        event.prevent_default();
        let marked = option_id(at.get_untracked());
        browser::after(0, move || browser::reveal(&marked));
    };
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
                    aria-expanded=move || open.get().to_string()
                    aria-controls=format!("l-{}", field.key)
                    aria-activedescendant=move || (open.get() && hits.with(|hits| !hits.is_empty())).then(|| option_id(at.get()))
                    aria-describedby=move || problem.with(|problem| described_by(field, problem.as_ref()))
                    prop:value=move || search.get().unwrap_or_else(|| name.get())
                    on:focus:target=move |event| event.target().select()
                    on:click=move |_| open.set(true)
                    on:input:target=move |event| {
                        at.set(0);
                        open.set(true);
                        search.set(Some(event.target().value()));
                    }
                    on:keydown=on_key
                    on:blur=move |_| close()
                />
                <div id=format!("l-{}", field.key) class="picker__list" role="listbox" aria-label=field.label hidden=move || !open.get()>
                    {move || {
                        open.get()
                            .then(|| {
                                let rows = hits.get();
                                if rows.is_empty() {
                                    return view! { <p class="picker__empty" role="option" aria-disabled="true" aria-selected="false">"Nothing found. Any shape can be typed below instead."</p> }.into_any();
                                }
                                rows.into_iter()
                                    .enumerate()
                                    .map(|(index, row)| {
                                        let (name, note) = (row.name, row.note.clone());
                                        view! {
                                            <div
                                                id=option_id(index)
                                                class="picker__option"
                                                role="option"
                                                aria-selected=move || (at.get() == index).to_string()
                                                on:mousedown=move |event| {
                                                    event.prevent_default();
                                                    choose(&row);
                                                }
                                            >
                                                <span>{name}</span>
                                                <span class="picker__note">{note}</span>
                                            </div>
                                        }
                                    })
                                    .views()
                                    .into_any()
                            })
                    }}
                </div>
            </div>
        </FieldFrame>
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
