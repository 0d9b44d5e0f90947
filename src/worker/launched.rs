//! A pasted command or file, understood: what it starts, whether that fits, what to change in it,
//! and every setting.

use crate::estimator::estimate;
use crate::launch::{Launched, Pasted, Row};
use crate::scenario::codec::encode;
use crate::scenario::{Scenario, field};
use crate::view::anything::understood;
use crate::view::launching::{ToolRemedy, in_order, remedies, summary};
use crate::view::markup::{Html, html};
use crate::view::panels::remarks;
use crate::view::words::{self, Scale, verdict_sentence, verdict_word};

/// The report of commands and files and the link of their scenario; or why they cannot be read, and
/// no link.
pub fn panel(pasted: &[Pasted<'_>], present: &Scenario) -> (Html, Option<String>) {
    let read = match understood(pasted, present) {
        Ok(read) => read,
        Err(sentences) => return (refused(&sentences), None),
    };
    let link = encode(&read.scenario);
    (
        read.launched
            .as_ref()
            .map_or_else(|| of_link(&read.scenario, &link), |launched| report(launched, &link)),
        Some(link),
    )
}

fn refused(sentences: &[String]) -> Html {
    html! {
        div class="refused" role="alert" {
            p data-testid="paste-error" { (sentences.join(" ")) }
        }
    }
}

/// The answer to a link, which states its scenario as a whole.
fn of_link(scenario: &Scenario, link: &str) -> Html {
    html! {
        div class="paste__found" data-key={ "link-" (link) } {
            p data-testid="paste-understood" { "A link: " b { (words::about(scenario)) } "." }
            (answer(scenario))
            (remarks::remarks(scenario))
        }
    }
}

/// The answer in its first words, changes that make it fit, then every setting: what does not count
/// first.
fn report(launched: &Launched, link: &str) -> Html {
    let helps = remedies(&launched.scenario, launched.format);
    html! {
        div class="paste__found" data-key={ "launched-" (link) } {
            p data-testid="paste-understood" { b { (words::about(&launched.scenario)) } ". " (summary(launched)) }
            (answer(&launched.scenario))
            (remarks::remarks(&launched.scenario))
            @if !helps.is_empty() {
                p { "To make it fit:" }
                ul class="paste__helps" data-testid="paste-helps" { @for help in &helps { (remedy(help)) } }
            }
            div class="dialog__scroll" tabindex="0" role="region" aria-label="Settings of the \
                text" {
                table class="table" data-testid="paste-report" {
                    thead { tr { @for head in ["Setting", "Value", "How", "Note"] { th scope="col" { (head) } } } }
                    tbody { @for setting in in_order(launched) { (row(setting)) } }
                }
            }
        }
    }
}

fn answer(scenario: &Scenario) -> Html {
    match scenario.resolve() {
        Ok(job) => {
            let estimate = estimate(&job);
            let scale = Scale::of(scenario.memory_unit(), estimate.total(), estimate.capacity);
            html! {
                p data-testid="paste-answer" {
                    b { (verdict_word(estimate.verdict())) }
                    " "
                    (verdict_sentence(scenario, &estimate, scale))
                }
            }
        }
        Err(errors) => html! {
            @for error in &errors {
                p class="refused" data-testid="paste-answer" { (field(error.field).label) ": " (error.message) }
            }
        },
    }
}

fn remedy(help: &ToolRemedy) -> Html {
    html! {
        li {
            (help.title) ": "
            @for (at, change) in help.changes.iter().enumerate() {
                @if at > 0 { ", " }
                code { (change) }
            }
        }
    }
}

fn row(row: &Row) -> Html {
    html! {
        tr class=[row.way.is_left_out().then_some("paste__open")] {
            th scope="row" { code { (row.flag) } @if let Some(place) = row.place { span class="quiet" { " \
                line " (place.line) } } }
            td { (row.value) }
            td { (row.way.word()) }
            td { (row.note) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::panel;
    use crate::launch::Pasted;
    use crate::scenario::Scenario;

    #[test]
    fn a_command_has_an_answer_and_what_does_not_count_stands_first() {
        let text = "vllm serve Qwen/Qwen2.5-72B-Instruct --frobnicate 3";
        let (html, link) = panel(&[Pasted { name: "", text }], &Scenario::default());
        assert!(link.is_some_and(|link| link.contains("m=qwen2.5-72b")));
        let [first, second] =
            ["frobnicate", "Qwen/Qwen2.5-72B-Instruct"].map(|word| html.as_str().find(word));
        assert!(first.is_some() && first < second, "{}", html.as_str());
        assert!(html.as_str().contains("Serving Qwen2.5 72B"), "{}", html.as_str());
    }

    #[test]
    fn a_link_says_whose_it_is_and_whether_it_fits() {
        let (html, link) =
            panel(&[Pasted { name: "", text: "v2&m=llama3-70b&n=16" }], &Scenario::default());
        assert!(link.is_some_and(|link| link.contains("m=llama3-70b")));
        assert!(
            html.as_str().contains("A link: ") && html.as_str().contains("Does not fit."),
            "{}",
            html.as_str()
        );
    }

    #[test]
    fn a_value_that_is_none_has_its_place() {
        let (html, link) =
            panel(&[Pasted { name: "", text: "vllm serve a/b -tp two" }], &Scenario::default());
        assert_eq!(link, None);
        assert!(html.as_str().contains("Line 1, column 16"), "{}", html.as_str());
    }
}
