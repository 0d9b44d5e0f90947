//! The input of one field, whatever its kind.
//!
//! What stands in an input is the reader's, so HTML alone cannot change it: `data-now` says what should stand there, and the browser
//! sets the input's property to it.

use super::picker;
use crate::app::markup::{Html, flag, html, word_of};
use crate::app::ui::Ui;
use crate::app::words::model_name;
use crate::scenario::{Choice, Field, FieldId, FieldKind, Scenario, Value};

/// The input; `described` names the texts that describe it, `problem` says whether its value needs a look.
pub fn input(field: &Field, scenario: &Scenario, ui: &Ui, described: &str, problem: bool) -> Html {
    match field.kind {
        FieldKind::Choice(options) => select(field, options, scenario, described, problem),
        FieldKind::Flag => toggle(field, scenario, described),
        FieldKind::Model | FieldKind::Accelerator => searched(field, scenario, ui, described),
        FieldKind::Integer { .. }
        | FieldKind::Decimal { .. }
        | FieldKind::Text { .. }
        | FieldKind::Words { .. }
        | FieldKind::Keys { .. }
        | FieldKind::Layers => typed(field, scenario, &ui.text_of(field.id, scenario), described, problem),
    }
}

/// A number, or a short text. What cannot be read stays visible with its message; the scenario keeps the last valid value.
fn typed(field: &Field, scenario: &Scenario, text: &str, described: &str, problem: bool) -> Html {
    let number =
        !matches!(field.kind, FieldKind::Text { .. } | FieldKind::Words { .. } | FieldKind::Keys { .. } | FieldKind::Layers);
    let hint = hint(field, scenario);
    let hint = (!hint.is_empty()).then(|| html(r#" placeholder="{}""#, &[&hint]));
    let unit = (!field.unit.is_empty()).then(|| html(r#"<span class="field__unit">{}</span>"#, &[&field.unit]));
    html(
        r#"<div class="field__box{}"><input id="f-{}" class="field__input" type="text" inputmode="{}" autocomplete="off" spellcheck="false" aria-describedby="{}" aria-invalid="{}" data-field="{}" data-now="{}"{}>{}</div>"#,
        &[
            &if field.unit.is_empty() { "" } else { " field__box--unit" },
            &field.key,
            &if number { "decimal" } else { "text" },
            &described,
            &word_of(problem),
            &field.key,
            &text,
            &hint,
            &unit,
        ],
    )
}

/// The text in an empty input: the name that a model without one of its own goes by.
pub fn hint(field: &Field, scenario: &Scenario) -> String {
    if field.id == FieldId::ModelName { model_name(scenario) } else { String::new() }
}

/// One of a few choices.
fn select(field: &Field, options: &[Choice], scenario: &Scenario, described: &str, problem: bool) -> Html {
    let chosen = match scenario.get(field.id) {
        Value::Choice(word) => word,
        _ => "",
    };
    let list: Html =
        options.iter().map(|option| html(r#"<option value="{}">{}</option>"#, &[&option.value, &option.label])).collect();
    html(
        r#"<div class="field__box field__box--select"><select id="f-{}" class="field__input" autocomplete="off" aria-describedby="{}" aria-invalid="{}" data-field="{}" data-now="{}">{}</select></div>"#,
        &[&field.key, &described, &word_of(problem), &field.key, &chosen, &list],
    )
}

/// A box to tick.
fn toggle(field: &Field, scenario: &Scenario, described: &str) -> Html {
    let on = scenario.get(field.id) == Value::Flag(true);
    html(
        r#"<label class="field__check"><input id="f-{}" type="checkbox" autocomplete="off" aria-describedby="{}" data-field="{}" data-now="{}">{}</label>"#,
        &[&field.key, &described, &field.key, &word_of(on), &field.label],
    )
}

/// A text input with a list under it; typing narrows the list, Enter or a click chooses.
fn searched(field: &Field, scenario: &Scenario, ui: &Ui, described: &str) -> Html {
    let open = ui.picker.as_ref().filter(|picker| picker.field == field.id);
    let (text, marked, list) = picker::shown(field, open, scenario);
    html(
        r#"<div class="picker"><div class="field__box field__box--select"><input id="f-{}" class="field__input" type="text" role="combobox" autocomplete="off" spellcheck="false" aria-autocomplete="list" aria-expanded="{}" aria-controls="l-{}"{} aria-describedby="{}" data-field="{}" data-now="{}"></div><div id="l-{}" class="picker__list" role="listbox" aria-label="{}"{}>{}</div></div>"#,
        &[
            &field.key,
            &word_of(open.is_some()),
            &field.key,
            &marked.map(|id| html(r#" aria-activedescendant="{}""#, &[&id])),
            &described,
            &field.key,
            &text,
            &field.key,
            &field.label,
            &flag("hidden", open.is_none()),
            &list,
        ],
    )
}
