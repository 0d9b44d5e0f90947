//! The answer: one sentence, the margin, and the two GPU counts.

use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::ui::memo;
use crate::app::words::{Scale, gpus, margin, tone, verdict_sentence, verdict_word};
use crate::estimator::Verdict as Answer;
use crate::planner::GpuCount;

/// All words of the answer.
#[derive(Clone, Debug, PartialEq)]
struct Words {
    tone: &'static str,
    word: &'static str,
    sentence: String,
    number: String,
    unit: &'static str,
    caption: String,
    short: String,
    blocker: Option<String>,
}

impl Words {
    fn of(state: State) -> Self {
        let unit = state.unit.get();
        state.estimate.with(|estimate| {
            let scale = Scale::of(unit, estimate.total(), estimate.capacity);
            let (number, caption) = margin(estimate, scale);
            let answer = estimate.verdict();
            Self {
                tone: tone(answer),
                word: verdict_word(answer),
                sentence: state.answered.with(|scenario| verdict_sentence(scenario, estimate, scale)),
                short: format!("{} of {} {}", scale.show(estimate.total()), scale.show(estimate.capacity), unit),
                number,
                unit: unit.name(),
                caption,
                blocker: (answer == Answer::CannotRun).then(|| estimate.blockers.first().map(ToString::to_string)).flatten(),
            }
        })
    }
}

/// The tinted band with the answer.
#[component]
pub fn Verdict() -> impl IntoView {
    let state = state();
    let words = memo(move || Words::of(state));
    let part = move |pick: fn(&Words) -> String| move || words.with(pick);
    view! {
        <div class=move || format!("verdict tone--{}", words.with(|words| words.tone)) data-testid="verdict">
            <div>
                <h1 class="verdict__sentence">
                    <span class="verdict__word">{part(|words| words.word.to_owned())}</span>
                    " "
                    {part(|words| words.sentence.clone())}
                </h1>
                {move || words.with(|words| words.blocker.clone()).map(|blocker| view! { <p class="verdict__why">{blocker}"."</p> }.into_any())}
                <Counts />
            </div>
            <p class="verdict__margin">
                <span class="verdict__figure">
                    {part(|words| words.number.clone())}
                    " "
                    <span class="verdict__unit">{part(|words| words.unit.to_owned())}</span>
                </span>
                <span class="verdict__caption">{part(|words| words.caption.clone())}</span>
            </p>
            {move || {
                state
                    .is_stale()
                    .then(|| {
                        view! {
                            <p class="verdict__stale" data-testid="stale">
                                "This is the previous answer: an input needs a look first."
                            </p>
                        }
                            .into_any()
                    })
            }}
        </div>
    }
    .into_any()
}

/// The two answers to "how many": a division, and what can really run.
#[component]
fn Counts() -> impl IntoView {
    let state = state();
    let text = move |pick: fn(&GpuCount) -> String| move || state.count.with(pick);
    view! {
        <p class="verdict__more">
            "Arithmetic minimum "
            <b data-testid="gpu-arithmetic">{text(|count| count.arithmetic.map_or_else(|| "none".to_owned(), gpus))}</b>
            ", smallest that runs "
            <b data-testid="gpu-runnable">
                {text(|count| count.runnable.as_ref().map_or_else(|| "none".to_owned(), |run| gpus(run.gpus)))}
            </b>
            ". "
            <span data-testid="gpu-reason">{text(|count| count.reason.clone())}</span>
        </p>
    }
}

/// The answer in one line, for the top of a phone's screen.
#[component]
pub fn Strip() -> impl IntoView {
    let state = state();
    let words = memo(move || Words::of(state));
    view! {
        <div class="strip" aria-hidden="true">
            <div class=move || format!("strip__line tone--{}", words.with(|words| words.tone))>
                <span class="strip__word">{move || words.with(|words| words.word)}</span>
                <span class="strip__rest number">{move || words.with(|words| words.short.clone())}</span>
            </div>
        </div>
    }
    .into_any()
}

/// The answer as screen readers announce it.
pub fn spoken(state: State) -> String {
    let words = Words::of(state);
    let previous = if state.is_stale() { " This is the previous answer." } else { "" };
    format!("{} {} {} {} {}.{previous}", words.word, words.sentence, words.number, words.unit, words.caption)
}
