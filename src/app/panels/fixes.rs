//! Up to three changes that the engine has verified, one click each; or what else would fit.

use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::words::{Scale, gpus, whole};
use crate::estimator::{Estimate, Verdict};
use crate::planner::{Change, Fix, Inverse};
use crate::scenario::{FieldId, Mode, Scenario, Value};
use crate::units::MemoryUnit;

/// The buttons, or the room that is left.
#[component]
pub fn Fixes() -> impl IntoView {
    let state = state();
    let content = move || {
        let unit = state.unit.get();
        let answer = state.estimate.with(Estimate::verdict);
        // Less memory does not help where a rule forbids the layout.
        let helps = |fix: &&Fix| fix.fits || answer == Verdict::DoesNotFit;
        state.fixes.with(|fixes| {
            let buttons: Vec<_> = fixes.iter().filter(helps).map(|fix| button(state, fix.clone(), unit)).collect();
            match (buttons.is_empty(), answer) {
                (false, _) => view! { <div class="fixes">{buttons}</div> }.into_any(),
                (true, Verdict::Fits | Verdict::Tight) => view! { <Room /> }.into_any(),
                (true, _) => view! { <p class="room">"No single change makes this run. A smaller model, a shorter sequence or another GPU may."</p> }.into_any(),
            }
        })
    };
    view! {
        <section class="help" data-testid="fixes" aria-label="What would help">
            {content}
        </section>
    }
    .into_any()
}

/// One change as a button.
fn button(state: State, fix: Fix, unit: MemoryUnit) -> impl IntoView {
    let scale = Scale { unit, decimals: 1 };
    let outcome = if fix.fits { format!("fits on {}", gpus(fix.gpus_after)) } else { "closer, still too much".to_owned() };
    let effect = format!("{} → {} {unit}, {outcome}", scale.show(fix.before), scale.show(fix.after));
    let (change, count) = (fix.change, fix.gpus_after);
    view! {
        <button type="button" class="fix" on:click=move |_| state.edit(None, |scenario| apply(scenario, change, count))>
            <span class="fix__title">{fix.title}</span>
            <span class="fix__effect">{effect}</span>
        </button>
    }
}

/// Writes a change into the scenario; another tensor degree comes with its number of GPUs.
fn apply(scenario: &mut Scenario, change: Change, gpus_after: u64) {
    if matches!(change, Change::Tensor(_)) {
        scenario.set(FieldId::Gpus, Value::Integer(gpus_after));
    }
    let (field, value) = match change {
        Change::Recompute(to) => (FieldId::Recompute, Value::choice(to)),
        Change::Sharding(to) => (FieldId::Sharding, Value::choice(to)),
        Change::Attention(to) => (FieldId::Attention, Value::choice(to)),
        Change::MicroBatch(to) => (FieldId::MicroBatchSize, Value::Integer(to)),
        Change::Gpus(to) => (FieldId::Gpus, Value::Integer(to)),
        Change::Optimizer(to) => (FieldId::Optimizer, Value::choice(to)),
        Change::WeightDType(to) => (FieldId::WeightDType, Value::choice(to)),
        Change::KvDType(to) => (FieldId::KvCacheDType, Value::choice(to)),
        Change::ContextLength(to) if scenario.mode() == Mode::Serve => (FieldId::ContextLength, Value::Integer(to)),
        Change::ContextLength(to) => (FieldId::SeqLength, Value::Integer(to)),
        Change::Tensor(to) => (FieldId::TensorParallel, Value::Integer(to)),
    };
    scenario.set(field, value);
}

/// What is the largest that still fits, with everything else as it is.
#[component]
fn Room() -> impl IntoView {
    let state = state();
    let longest =
        move || state.inverse.with(|inverse: &Inverse| inverse.longest_seq.map(|tokens| format!("{} tokens", whole(tokens))));
    let batch = move || {
        let per = if state.mode.get() == Mode::Train { "micro-batch of" } else { "sequences at once:" };
        state.inverse.with(|inverse| inverse.largest_batch.map(|largest| (per, whole(largest))))
    };
    view! {
        <p class="room">
            <span>"With everything else as it is, this still fits:"</span>
            {move || longest().map(|text| view! { <span>"sequences of " <b>{text}</b></span> }.into_any())}
            {move || batch().map(|(per, text)| view! { <span>{per} " " <b>{text}</b></span> }.into_any())}
        </p>
    }
}
