//! Predict, then reveal: any figure of the present scenario, and the questions of a story.

use super::ask::TeachingRequest;
use super::{back, figures, place};
use crate::lessons::answer::check;
use crate::lessons::figure::{Facts, Figure};
use crate::scenario::codec::decode;
use crate::view::action::{Action, Sent, TeachVerb, TeachView};
use crate::view::markup::{Html, html};
use crate::worker::wire::MARK;

/// How far an answer may be off where nothing else is said.
const TOLERANCE: f64 = 0.05;

/// The choice of a figure.
pub(super) fn chooser(asked: &TeachingRequest) -> Html {
    let chosen = Figure::find(asked.form.text("figure")).map_or("per-gpu", |figure| figure.id);
    html! {
        h3 class="teach__head" { "Predict, then reveal" }
        form class="teach__form" data-teach=(Sent::Teach(TeachVerb::Predict)) {
            div class="field" {
                label class="field__label" for="predict-figure" {
                    "A figure of the present scenario"
                }
                div class="field__box field__box--select" {
                    select id="predict-figure" class="field__input" name="figure" {
                        (figures(asked, chosen))
                    }
                }
            }
            div class="teach__tools" {
                button type="submit" class="button" data-testid="predict" { "Ask" }
            }
        }
    }
}

/// A figure of the present scenario, asked for; with `reveal` it is told.
pub(super) fn predict(asked: &TeachingRequest, reveal: bool) -> Html {
    let scenario = decode(&asked.fragment).scenario;
    let (Some(figure), Ok(facts)) = (Figure::find(asked.form.text("figure")), Facts::of(&scenario))
    else {
        return back();
    };
    let answer = asked.text("answer", 60);
    let said = if reveal {
        let value = (figure.of)(&facts).map_or_else(
            || "This scenario has no such figure.".to_owned(),
            |amount| figure.show(amount, &facts),
        );
        html! {
            p class="teach__said" { b class="number" data-testid="revealed" { (value) } }
        }
    } else if answer.is_empty() {
        Html::new()
    } else {
        feedback(&check(&answer, figure, &facts, TOLERANCE))
    };
    html! {
        (back())
        (place(&TeachView::List))
        h3 class="teach__head" { (figure.label) }
        p class="quiet" {
            (crate::view::words::about(&scenario))
            ". An answer counts as right within "
            "5 %"
            " off."
        }
        form class="teach__form" data-teach=(Sent::Teach(TeachVerb::Predict)) data-key={ "predict-" (figure.id) } {
            input type="hidden" name="figure" value=(figure.id);
            div class="field" {
                label class="field__label" for="predict-answer" {
                    "Your answer: "
                    (figure.unit.hint())
                }
                input id="predict-answer" class="field__input" name="answer" autocomplete="off"
                    data-testid="predict-answer";
            }
            div class="teach__tools" {
                button type="submit" class="button button--main" data-testid="predict-check" {
                    "Answer"
                }
                button type="button" class="button" data-do=(Action::Teach(TeachVerb::Reveal))
                    data-testid="predict-reveal" {
                    "Reveal"
                }
            }
        }
        div role="status" { (said) }
    }
}

/// The words about an answer, or why it cannot be read.
pub(super) fn feedback(checked: &Result<crate::lessons::answer::Feedback, String>) -> Html {
    match checked {
        Ok(feedback) if feedback.right => {
            html! {
                p class="teach__said teach__said--right" data-testid="said" { (feedback.text) }
            }
        }
        Ok(feedback) => html! { p class="teach__said" data-testid="said" { (feedback.text) } },
        Err(problem) => html! { p class="teach__said" data-testid="said" { (problem) } },
    }
}

/// True if an answer to a step's question is right, [`MARK`], and what is said about it.
pub(super) fn of_step(asked: &TeachingRequest) -> String {
    let scenario = decode(&asked.fragment).scenario;
    let tolerance = asked.form.text("tolerance").parse().unwrap_or(TOLERANCE);
    let checked = match (Figure::find(asked.form.text("figure")), Facts::of(&scenario)) {
        (Some(figure), Ok(facts)) => check(&asked.text("answer", 60), figure, &facts, tolerance),
        _ => Err("This scenario has no such figure.".to_owned()),
    };
    let right = if checked.as_ref().is_ok_and(|feedback| feedback.right) { "right" } else { "" };
    format!("{right}{MARK}{}", feedback(&checked).as_str())
}

/// A figure of the present scenario as it is written.
pub(super) fn figure_now(id: &str, fragment: &str) -> String {
    let facts = Facts::of(&decode(fragment).scenario).ok();
    let figure = Figure::find(id);
    let shown = figure
        .zip(facts)
        .and_then(|(figure, facts)| Some(figure.show((figure.of)(&facts)?, &facts)));
    let shown = html! { (shown.unwrap_or_else(|| "–".to_owned())) };
    format!("{MARK}{}", shown.as_str())
}
