//! What every input has around it: label, help, error.

use leptos::prelude::*;

use crate::app::state::state;
use crate::app::ui::memo;
use crate::scenario::{Field, FieldDefault, FieldId, FieldKind, Value, range_text, show};

/// A problem of one field: what is wrong, and a value that would be right.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// One sentence.
    pub message: String,
    /// Button text and value.
    pub way_out: Option<(String, Value)>,
}

/// The problem of that field: text that cannot be read, or a value that does not go with the others.
pub fn problem_of(id: FieldId) -> Memo<Option<Problem>> {
    let state = state();
    memo(move || {
        let unread = state.unread.with(|unread| unread.iter().find(|text| text.field == id).map(|text| text.message.clone()));
        if let Some(message) = unread {
            let value = state.scenario.with(|scenario| scenario.get(id));
            let way_out = Some((format!("Back to {}", show(id, &value)), value));
            return Some(Problem { message, way_out });
        }
        state.problems.with(|problems| {
            let problem = problems.iter().find(|problem| problem.field == id)?;
            Some(Problem { message: problem.message.clone(), way_out: problem.way_out.clone() })
        })
    })
}

/// Ids of the help and error texts that describe an input.
pub fn described_by(field: &Field, problem: Option<&Problem>) -> String {
    if problem.is_some() { format!("e-{0} h-{0}", field.key) } else { format!("h-{}", field.key) }
}

/// Label, help button, the input itself, help and error.
#[component]
pub fn FieldFrame(
    /// The field's entry.
    field: &'static Field,
    /// Its problem.
    problem: Memo<Option<Problem>>,
    /// Whether it takes the whole width.
    #[prop(optional)]
    wide: bool,
    /// Whether the input has its own label.
    #[prop(optional)]
    bare: bool,
    /// Whether only screen readers read the label; the help button then goes too.
    #[prop(optional)]
    spoken: bool,
    /// The input.
    children: Children,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let class = move || {
        format!(
            "field{}{}",
            if wide { " field--wide" } else { "" },
            if problem.with(Option::is_some) { " field--invalid" } else { "" }
        )
    };
    view! {
        <div class=class>
            {spoken.then(|| view! { <label class="sr" for=format!("f-{}", field.key)>{field.label}</label> }.into_any())}
            <div class="field__top" hidden=spoken>
                {(!bare && !spoken).then(|| view! { <label class="field__label" for=format!("f-{}", field.key)>{field.label}</label> }.into_any())}
                {bare.then(|| view! { <span class="field__label"></span> }.into_any())}
                <button
                    type="button"
                    class="field__info"
                    aria-label=format!("About {}", field.label)
                    aria-expanded=move || open.get().to_string()
                    aria-controls=format!("h-{}", field.key)
                    on:click=move |_| open.update(|open| *open = !*open)
                >
                    "?"
                </button>
            </div>
            {children()}
            <Help field open />
            <ErrorLine field problem />
        </div>
    }
    .into_any()
}

/// What the field is, its range and its name in configuration files.
#[component]
fn Help(
    /// The field's entry.
    field: &'static Field,
    /// Whether it is shown; hidden, it still describes the input to screen readers.
    open: RwSignal<bool>,
) -> impl IntoView {
    let state = state();
    let choice_help = move || match (field.kind, state.scenario.with(|scenario| scenario.get(field.id))) {
        (FieldKind::Choice(options), Value::Choice(word)) => {
            options.iter().find(|option| option.value == word).map(|option| format!(" {}: {}", option.label, option.help))
        }
        _ => None,
    };
    let from_preset = field.default == FieldDefault::Preset;
    let changed = move || from_preset && state.scenario.with(|scenario| scenario.is_set(field.id));
    view! {
        <p id=format!("h-{}", field.key) class="field__help" hidden=move || !open.get()>
            {field.help}
            {choice_help}
            " "
            {range_text(field.id)}
            " "
            <code class="field__name">{field.name}</code>
        </p>
        {move || changed().then(|| view! {
            <p class="field__changed">
                "Changed by hand. "
                <button type="button" class="link" on:click=move |_| state.edit(None, |scenario| scenario.clear(field.id))>
                    "Back to the list's value"
                </button>
            </p>
        }.into_any())}
    }
}

/// What is wrong, and a button that puts it right.
#[component]
fn ErrorLine(
    /// The field's entry.
    field: &'static Field,
    /// Its problem.
    problem: Memo<Option<Problem>>,
) -> impl IntoView {
    let state = state();
    let repair = move |value: Value| {
        state.unread.update(|unread| unread.retain(|text| text.field != field.id));
        state.set(field.id, value);
    };
    move || {
        problem.get().map(|problem| {
            view! {
                <p id=format!("e-{}", field.key) class="field__error" role="alert" data-testid=format!("error-{}", field.key)>
                    {problem.message}
                    " "
                    {problem
                        .way_out
                        .map(|(text, value)| {
                            view! {
                                <button type="button" class="link" on:click=move |_| repair(value.clone())>
                                    {text}
                                </button>
                            }
                        })}
                </p>
            }
        })
    }
}
