//! A story's steps as the presenter shows them, all at once: a step then needs no answer of this
//! program.

use super::ask::{Orders, TeachingRequest};
use super::known;
use crate::lessons::figure::Figure;
use crate::lessons::story::{
    LessonStep, Question, Story, Told, ToldStep, packed, story as shipped, unpacked,
};
use crate::scenario::codec::encode;
use crate::scenario::field;
use crate::view::action::{Action, Sent, StageStep, StageVerb};
use crate::view::markup::{Html, html};
use crate::view::words::{accelerator_name, model_name};
use crate::worker::question::StoryQuestion;

/// The presenter's keys, as `presenting` understands them, and what each does.
const KEYS: [(&str, &str); 8] = [
    ("Space, →, Page Down", "next step; at a question, its answer"),
    ("←, Page Up", "back"),
    ("1 … 9", "that step"),
    ("Q", "QR code of this step"),
    ("T", "timer"),
    ("Ctrl+Z", "takes back what you changed in this step"),
    ("?", "these keys"),
    ("Esc", "end, back to what was shown before"),
];

/// All steps of the story that was asked for. Problems become orders.
pub(super) fn steps(story: &StoryQuestion, asked: &TeachingRequest, orders: &mut Orders) -> Html {
    let story = match story {
        StoryQuestion::Named(id) => known(asked, id).ok_or_else(|| {
            "The story of this link is kept in another browser, or its name is wrong. Its scenario \
             is shown."
                .to_owned()
        }),
        StoryQuestion::Packed => {
            unpacked(asked.form.text("story")).map_err(|error| error.to_string())
        }
        StoryQuestion::Answer => return Html::new(),
    };
    let told = story.and_then(|story| match Told::of(&story) {
        Ok(told) => Ok((story, told)),
        Err(problems) => Err(problems.join(" ")),
    });
    match told {
        Ok((story, told)) => show(&story, &told, orders),
        Err(problem) => {
            orders.problem(&problem);
            Html::new()
        }
    }
}

fn show(story: &Story, told: &Told, orders: &mut Orders) -> Html {
    for (step, told) in story.steps.iter().zip(&told.steps) {
        let live: Vec<&str> = step.live.iter().map(|id| field(*id).key).collect();
        orders.step(StageStep {
            link: encode(&told.scenario),
            look: step.look.word().to_owned(),
            live: live.join(" "),
        });
    }
    let count = story.steps.len();
    html! {
        div class="present__steps" aria-live="polite" {
            @for (index, (step, told)) in story.steps.iter().zip(&told.steps).enumerate() {
                (article(&story.title, (index + 1, count), step, told))
            }
        }
        div id="present-qr" class="present__qr" data-story=[whole(story)] hidden {}
        div id="present-keys" class="present__keys" data-testid="present-keys" hidden {
            dl { (keys()) }
        }
        (bar(&story.title))
    }
}

/// The keys of the stage, and what each does.
fn keys() -> Html {
    KEYS.iter()
        .map(|(key, what)| {
            html! {
                div {
                    dt { kbd { (key) } }
                    dd { (what) }
                }
            }
        })
        .collect()
}

/// The buttons below the stage.
fn bar(title: &str) -> Html {
    let button = |verb: StageVerb, name: &str, more: &str, key: &str| {
        html! {
            button type="button" class="button" data-do=(Action::Stage(verb)) title=(key) {
                (name)
                @if !more.is_empty() { span class="present__more" { " " (more) } }
            }
        }
    };
    let tools: Html = [
        button(StageVerb::Keys, "Keys", "", "?"),
        button(StageVerb::Code, "QR code", "", "Q"),
        button(StageVerb::Timer, "Timer", "", "T"),
        button(
            StageVerb::Keep,
            "Keep",
            "this scenario",
            "End the story and stay with what is shown",
        ),
        button(StageVerb::End, "End", "", "Esc"),
    ]
    .into_iter()
    .collect();
    html! {
        nav class="present__bar" aria-label=(format!("Steps of “{}”", title)) {
            button type="button" class="button" data-do=(Action::Stage(StageVerb::Back)) title="Arrow \
                left" { "Back" }
            span class="present__place number" id="present-place" data-testid="present-place" {}
            button type="button" class="button button--main" id="present-next"
                data-do=(Action::Stage(StageVerb::Next)) title="Space or arrow right" {
                "Next"
            }
            span class="number" id="present-timer" role="timer" hidden {}
            span class="present__tools" { (tools) }
        }
    }
}

/// The whole story for its code, where no other browser knows it by name; an empty one says that it
/// is too long for a link.
fn whole(story: &Story) -> Option<String> {
    shipped(&story.id).is_none().then(|| packed(story).unwrap_or_default())
}

/// The question before a step, with a field for the answer.
fn ask(question: &Question, number: &str, prompt: &str) -> Html {
    let hint = Figure::find(&question.figure).map_or_else(String::new, |figure| figure.unit.hint());
    html! {
        div class="present__before" {
            p class="present__text" { (prompt) }
            form id={ "present-ask-" (number) } class="present__ask" data-teach=(Sent::Stage(StageVerb::Answer)) {
                input type="hidden" name="figure" value=(question.figure);
                input type="hidden" name="tolerance" value=(question.tolerance);
                label class="sr" for={ "present-answer-" (number) } { "Your answer: " (hint) }
                input id={ "present-answer-" (number) } class="field__input" name="answer"
                    type="text" autocomplete="off" placeholder=(hint);
                button type="submit" class="button button--main" { "Answer" }
                button type="button" class="button" data-do=(Action::Stage(StageVerb::Reveal)) { "Reveal" }
            }
            p class="present__said" id={ "present-said-" (number) } role="status" {}
        }
    }
}

/// A step on the stage; `story` is the story's title, which stands small above the step's with the
/// model and the GPU.
fn article(
    story: &str,
    (number, count): (usize, usize),
    step: &LessonStep,
    told: &ToldStep,
) -> Html {
    let about = format!("{} · {}", model_name(&told.scenario), accelerator_name(&told.scenario));
    let title = if step.title.is_empty() {
        format!("Step {number} of {count}")
    } else {
        step.title.clone()
    };
    let number = number.to_string();
    let (label, value) = &told.figure;
    let by = told.whose.as_ref().filter(|whose| !whose.is_said_by(label));
    let by = by.map(|whose| {
        html! {
            " "
            i class="present__by" { (whose.figure) }
        }
    });
    let before = step.question.as_ref().map(|question| ask(question, &number, &told.prompt));
    html! {
        article class="present__step" data-step=(number) data-question[before.is_some()] hidden {
            p class="present__about" data-testid="present-about" {
                b { (story) }
                " "
                span { (about) }
                @if let Some(whose) = told.whose.as_ref() {
                    span class="present__whose" { "Picture: " (whose.picture) }
                }
            }
            h2 class="present__title" data-testid="present-title" { (title) }
            @if let Some(before) = &before { (before) }
            div class="present__after" {
                p class="present__figure" {
                    b class="number" id={ "present-figure-" (number) } data-figure=(step.figure)
                        data-testid="present-figure" {
                        (value)
                    }
                    " "
                    span data-testid="present-label" {
                        (label)
                        @if let Some(by) = &by { (by) }
                    }
                }
                p class="present__text" data-testid="present-text" { (told.text) }
            }
        }
    }
}
