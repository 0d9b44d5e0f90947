//! The form: what people change often in sight, the rest folded away with a line that says how it stands.

use leptos::prelude::*;

use crate::app::fields::FieldView;
use crate::app::state::{Dialog, state};
use crate::app::ui::{Views, memo};
use crate::scenario::{Field, FieldId, FieldKind, Group, Mode, Scenario, Value, fields, show};

/// What stands under one heading of the form.
const SECTIONS: [(&str, &[Group]); 3] = [
    ("Model", &[Group::Model]),
    ("Run", &[Group::Run, Group::Precision]),
    ("Hardware and layout", &[Group::Hardware, Group::Layout]),
];

/// What folds away, in the order of the form.
const FOLDS: [(&str, &[Group]); 7] = [
    ("Architecture", &[Group::Architecture]),
    ("Experts and special layers", &[Group::Structure]),
    ("Run details", &[Group::Run, Group::Precision]),
    ("GPU and layout details", &[Group::Hardware, Group::Layout]),
    ("Megatron-LM", &[Group::Megatron]),
    ("Reserve", &[Group::Reserve]),
    ("Time and cost", &[Group::Cost]),
];

/// Inputs that the top bar and the dialogs hold instead.
const ELSEWHERE: [FieldId; 3] = [FieldId::Mode, FieldId::Name, FieldId::MemoryUnit];

/// The fields of some groups, in sight or folded.
fn listed(groups: &'static [Group], folded: bool, mode: Mode) -> impl Iterator<Item = &'static Field> {
    fields()
        .iter()
        .filter(move |field| groups.contains(&field.group) && is_folded(field) == folded && field.applies.in_mode(mode))
        .filter(|field| !ELSEWHERE.contains(&field.id))
}

/// Whether a field is folded away: the table says so, or few people change it often.
fn is_folded(field: &Field) -> bool {
    field.folded || field.group == Group::Cost || matches!(field.id, FieldId::Attention | FieldId::PipelineParallel)
}

/// The form on the left.
#[component]
pub fn Controls() -> impl IntoView {
    let state = state();
    let sections = move || {
        let mode = state.mode.get();
        SECTIONS.map(|(name, groups)| view! { <Section name groups mode /> }).views()
    };
    let folds = FOLDS.map(|(name, groups)| view! { <Fold name groups /> }).views();
    view! {
        <form class="controls" aria-label="Scenario" on:submit=|event| event.prevent_default()>
            <ModeSwitch />
            {sections}
            <div class="folds">{folds}</div>
        </form>
    }
    .into_any()
}

/// Train or serve.
#[component]
fn ModeSwitch() -> impl IntoView {
    let state = state();
    let option = move |mode: Mode, label: &'static str| {
        view! {
            <button
                type="button"
                class="switch__option"
                data-testid=format!("mode-{}", label.to_ascii_lowercase())
                aria-pressed=move || (state.mode.get() == mode).to_string()
                on:click=move |_| state.set(FieldId::Mode, Value::choice(mode))
            >
                {label}
            </button>
        }
    };
    view! {
        <div class="switch switch--wide" role="group" aria-label="What to do with the model">
            {option(Mode::Train, "Train")}
            {option(Mode::Serve, "Serve")}
        </div>
    }
}

/// One heading and the fields in sight under it.
#[component]
fn Section(
    /// The heading.
    name: &'static str,
    /// Whose fields.
    groups: &'static [Group],
    /// Train or serve.
    mode: Mode,
) -> impl IntoView {
    let state = state();
    let inputs = listed(groups, false, mode)
        .map(|field| {
            let wide = field.kind == FieldKind::Model;
            view! { <FieldView id=field.id wide bare=wide /> }
        })
        .views();
    view! {
        <section class="group">
            <h2 class="group__name">
                {name}
                {(name == "Model")
                    .then(|| {
                        view! {
                            <button type="button" class="link" data-testid="paste" on:click=move |_| state.dialog.set(Some(Dialog::Paste))>
                                "Paste config.json"
                            </button>
                        }
                    })}
            </h2>
            <div class="group__fields">{inputs}</div>
        </section>
    }
    .into_any()
}

/// Fields behind one line.
#[component]
fn Fold(
    /// The line's name.
    name: &'static str,
    /// Whose fields.
    groups: &'static [Group],
) -> impl IntoView {
    let state = state();
    let mode = state.mode;
    let bad = memo(move || {
        let folded = |id: FieldId| listed(groups, true, mode.get()).any(|field| field.id == id);
        state.problems.with(|problems| problems.iter().any(|problem| folded(problem.field)))
            || state.unread.with(|unread| unread.iter().any(|text| folded(text.field)))
    });
    let line = memo(move || state.scenario.with(|scenario| summary(scenario, groups, mode.get())));
    // The inputs are made when first opened: most people never open most folds.
    let opened = RwSignal::new(false);
    let inputs = move || {
        (opened.get() || bad.get())
            .then(|| listed(groups, true, mode.get()).map(|field| view! { <FieldView id=field.id /> }).views())
    };
    view! {
        <details
            class="fold"
            hidden=move || listed(groups, true, mode.get()).next().is_none()
            open=move || opened.get_untracked() || bad.get()
            on:toggle=move |_| opened.set(true)
        >
            <summary class="fold__summary">
                <span class="fold__name">{name}</span>
                <span class=move || if bad.get() { "fold__state fold__state--bad" } else { "fold__state" }>
                    {move || if bad.get() { "needs a look".to_owned() } else { line.get() }}
                </span>
            </summary>
            <div class="fold__body group__fields">{inputs}</div>
        </details>
    }
    .into_any()
}

/// How a fold stands, in a few words: what was set by hand first, then its first fields.
fn summary(scenario: &Scenario, groups: &'static [Group], mode: Mode) -> String {
    let mut shown: Vec<&Field> = listed(groups, true, mode).filter(|field| scenario.is_set(field.id)).collect();
    shown.extend(listed(groups, true, mode).filter(|field| !scenario.is_set(field.id)));
    let parts: Vec<String> = shown.into_iter().take(3).map(|field| part(scenario, field)).collect();
    parts.join(", ")
}

/// A label inside a sentence: `Layers` becomes `layers`, `GPUs per node` stays.
fn lower_first(label: &str) -> String {
    let mut letters = label.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            [first.to_ascii_lowercase(), second].into_iter().chain(letters).collect()
        }
        _ => label.to_owned(),
    }
}

/// One field in a few words: `layers 32`.
fn part(scenario: &Scenario, field: &Field) -> String {
    let value = scenario.get(field.id);
    let label = lower_first(field.label);
    match value {
        Value::Flag(true) => label,
        Value::Flag(false) => format!("no {label}"),
        Value::Empty if field.group == Group::Structure => format!("no {label}"),
        Value::Empty => format!("{label} unknown"),
        value => format!("{label} {}", show(field.id, &value)),
    }
}
