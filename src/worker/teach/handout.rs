//! A story as a sheet of paper, with and without answers.

use super::ask::TeachingRequest;
use super::{back, known, place, problems};
use crate::lessons::story::{LessonStep, Told, ToldStep, story};
use crate::scenario::codec::encode;
use crate::view::action::{Action, TeachVerb, TeachView};
use crate::view::markup::{Html, html};
use crate::view::panels::dialogs::share;

/// The sheet.
pub(super) fn handout(asked: &TeachingRequest, id: &str, answers: bool) -> Html {
    let Some(story) = known(asked, id) else { return back() };
    let all = match Told::of(&story) {
        Ok(told) => told,
        Err(sentences) => {
            return html! {
                (back())
                (problems(&sentences))
            };
        }
    };
    let steps: Html = story
        .steps
        .iter()
        .zip(&all.steps)
        .enumerate()
        .map(|(index, (step, told))| {
            let sheet = if answers {
                told_in_full(step, told)
            } else {
                without_answers(&story.steps, &all, index)
            };
            row(asked, id, index, told, &sheet)
        })
        .collect();
    // Only who writes on it needs the lines.
    let asks = all.steps.iter().any(|step| !step.prompt.is_empty());
    let (with, without) = (TeachView::Answers(id.to_owned()), TeachView::Handout(id.to_owned()));
    let (view, other, name) =
        if answers { (with, without, "Without answers") } else { (without, with, "With answers") };
    html! {
        (back())
        (place(&view))
        div class="teach__tools" {
            button type="button" class="button" data-do=(Action::Teach(TeachVerb::View(other))) {
                (name)
            }
            button type="button" class="button button--main" data-do=(Action::PrintHandout) {
                "Print this sheet"
            }
        }
        div class="handout" data-testid="handout" {
            h3 class="handout__title" { (story.title) }
            p class="quiet" { (story.audience) }
            @if asks && !answers {
                p class="handout__name" {
                    span { "Name:" }
                    span { "Date:" }
                }
            }
            ol { (steps) }
        }
    }
}

/// One step on a sheet.
struct Sheet {
    title: String,
    /// The line under a question: the answer, or room for one.
    line: Option<Html>,
    text: Option<String>,
    /// The figure: what it is, and its value.
    figure: Option<(String, String)>,
    /// True if something waits for the sheet with answers.
    waits: bool,
}

/// Everything, with the answer.
fn told_in_full(step: &LessonStep, told: &ToldStep) -> Sheet {
    Sheet {
        title: step.title.clone(),
        line: (!told.prompt.is_empty()).then(|| html! { p { b { "Answer: " (told.answer) } } }),
        text: Some(told.text.clone()),
        figure: Some(told.figure.clone()),
        waits: false,
    }
}

/// A text that tells the answer to no question of the story: a class reads the whole sheet before
/// it answers the first one.
fn without_answers(steps: &[LessonStep], all: &Told, index: usize) -> Sheet {
    let (title, told) = (steps.get(index).map_or("", |step| &step.title), all.steps.get(index));
    let asks = told.is_some_and(|told| !told.prompt.is_empty());
    let text =
        told.map(|told| told.text.clone()).filter(|text| !asks && !all.tells_an_answer(text));
    let figure =
        told.map(|told| told.figure.clone()).filter(|_| !asks && !all.figure_tells(steps, index));
    Sheet {
        title: if all.tells_an_answer(title) { String::new() } else { title.to_owned() },
        line: asks.then(|| html! { p class="handout__line" { "Answer:" } }),
        waits: !asks && (text.is_none() || figure.is_none()),
        text,
        figure,
    }
}

fn row(asked: &TeachingRequest, id: &str, index: usize, told: &ToldStep, sheet: &Sheet) -> Html {
    let scenario = encode(&told.scenario);
    let scenario = scenario.trim_start_matches("v1&");
    // An own story is known by name in this browser alone: on paper stands what opens everywhere.
    let part = match story(id) {
        Some(_) => format!("{scenario}&present={id}.{}", index + 1),
        None => scenario.to_owned(),
    };
    let number = (index + 1).to_string();
    let title = if sheet.title.is_empty() {
        format!("Step {number}")
    } else {
        format!("{number}. {}", sheet.title)
    };
    let by = told
        .whose
        .as_ref()
        .filter(|whose| sheet.figure.as_ref().is_some_and(|(label, _)| !whose.is_said_by(label)));
    let by = by.map_or_else(String::new, |whose| format!(" {}", whose.figure));
    html! {
        li class="handout__step" {
            h4 { (title) }
            @if let Some(line) = sheet.line.as_ref() {
                p { (told.prompt) }
                (line)
            }
            @if let Some(text) = sheet.text.as_ref() { p { (text) } }
            @if let Some((label, value)) = sheet.figure.as_ref() {
                p class="quiet" {
                    (label)
                    (by)
                    ": "
                    span class="number" { (value) }
                }
            }
            @if sheet.waits { p class="quiet" { "More about it is on the sheet with answers." } }
            p class="handout__link" { (asked.link(&part)) }
            // A link on paper is long to type: a phone reads it.
            div class="handout__code" { (share::code_at_once(&asked.link(&part))) }
        }
    }
}
