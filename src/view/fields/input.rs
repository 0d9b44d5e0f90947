//! The input of one field, whatever its kind.
//!
//! The text in an input is the reader's, so HTML alone cannot change it: `data-now` holds the text
//! that should stand there, and the browser sets the input's property to it.

use super::picker;
use crate::scenario::{Field, FieldId, FieldKind, FieldOption, Scenario, Value};
use crate::view::markup::{Html, html};
use crate::view::ui::Drafts;
use crate::view::words::model_name;

/// How a field is edited.
#[derive(Clone, Copy, Debug)]
pub enum Control {
    /// A list that is searched by typing.
    Search,
    /// A list of a few choices.
    Select(&'static [FieldOption]),
    /// A box to tick.
    Tick,
    /// A number or a short text, read while it is typed.
    Text,
}

/// How fields of that kind are edited.
pub const fn control(kind: FieldKind) -> Control {
    match kind {
        FieldKind::Model | FieldKind::Accelerator => Control::Search,
        FieldKind::Choice(options) => Control::Select(options),
        FieldKind::Flag => Control::Tick,
        FieldKind::Integer { .. }
        | FieldKind::Decimal { .. }
        | FieldKind::Text { .. }
        | FieldKind::Words { .. }
        | FieldKind::Keys { .. }
        | FieldKind::Layers => Control::Text,
    }
}

/// The input; `described` names the texts that describe it, `problem` says whether its value needs
/// a look.
pub fn input(
    field: &Field,
    scenario: &Scenario,
    drafts: &Drafts,
    described: &str,
    problem: bool,
) -> Html {
    match control(field.kind) {
        Control::Select(options) => select(field, options, scenario, described, problem),
        Control::Tick => toggle(field, scenario, described),
        Control::Search => searched(field, scenario, drafts, described),
        Control::Text => {
            typed(field, scenario, &drafts.text_of(field.id, scenario), described, problem)
        }
    }
}

/// A number, or a short text. What cannot be read stays visible with its message; the scenario
/// keeps the last valid value.
fn typed(field: &Field, scenario: &Scenario, text: &str, described: &str, problem: bool) -> Html {
    let number = !matches!(
        field.kind,
        FieldKind::Text { .. }
            | FieldKind::Words { .. }
            | FieldKind::Keys { .. }
            | FieldKind::Layers
    );
    let hint = Some(hint(field, scenario)).filter(|hint| !hint.is_empty());
    html! {
        div class={ "field__box" (if field.unit.is_empty() { "" } else { " field__box--unit" }) } {
            input id={ "f-" (field.key) } class="field__input" type="text"
                inputmode=(if number { "decimal" } else { "text" }) autocomplete="off"
                spellcheck="false" aria-describedby=(described) aria-invalid=(problem)
                data-field=(field.key) data-now=(text) placeholder=[hint];
            @if !field.unit.is_empty() { span class="field__unit" { (field.unit) } }
        }
    }
}

/// The text in an empty input: the name that a model without one of its own goes by.
pub fn hint(field: &Field, scenario: &Scenario) -> String {
    if field.id == FieldId::ModelName { model_name(scenario) } else { String::new() }
}

/// One of a few choices.
fn select(
    field: &Field,
    options: &[FieldOption],
    scenario: &Scenario,
    described: &str,
    problem: bool,
) -> Html {
    let chosen = match scenario.get(field.id) {
        Value::Choice(word) => word,
        _ => "",
    };
    let list: Html = options
        .iter()
        .map(|option| html! { option value=(option.value) { (option.label) } })
        .collect();
    html! {
        div class="field__box field__box--select" {
            select id={ "f-" (field.key) } class="field__input" autocomplete="off"
                aria-describedby=(described) aria-invalid=(problem)
                data-field=(field.key) data-now=(chosen) {
                (list)
            }
        }
    }
}

/// A box to tick.
fn toggle(field: &Field, scenario: &Scenario, described: &str) -> Html {
    let on = scenario.get(field.id) == Value::Flag(true);
    html! {
        label class="field__check" {
            input id={ "f-" (field.key) } type="checkbox" autocomplete="off"
                aria-describedby=(described) data-field=(field.key) data-now=(on);
            (field.label)
        }
    }
}

/// A text input with a list under it; typing narrows the list, Enter or a click chooses.
fn searched(field: &Field, scenario: &Scenario, drafts: &Drafts, described: &str) -> Html {
    let open = drafts.picker.as_ref().filter(|picker| picker.field == field.id);
    let (text, marked, list) = picker::shown(field, open, scenario);
    html! {
        div class="picker" {
            div class="field__box field__box--select" {
                input id={ "f-" (field.key) } class="field__input" type="text" role="combobox"
                    autocomplete="off" spellcheck="false" aria-autocomplete="list"
                    aria-expanded=(open.is_some()) aria-controls={ "l-" (field.key) }
                    aria-activedescendant=[marked]
                    aria-describedby=(described) data-field=(field.key) data-now=(text);
            }
            div id={ "l-" (field.key) } class="picker__list" role="listbox"
                aria-label=(field.label) hidden[open.is_none()] {
                (list)
            }
        }
    }
}
