//! The page without an answer: a link to an impossible scenario was opened. The card says what is
//! wrong; no other part shows a figure, because there is none but another scenario's.

use super::curves::word;
use crate::planner::Axis;
use crate::scenario::Mode;
use crate::view::answers::{Answers, Standing};
use crate::view::curve_view;
use crate::view::markup::{Html, html};

/// The sentence in the place of figures.
const WHY: &str = "No figures: the scenario has no answer yet. Its card names the problem.";

/// Content of the named part of the page in place of its own: nothing of another scenario's where
/// the scenario has no answer, and no changes to be made where the answer is an earlier one's.
/// `None` where the part's own content is right.
pub fn instead(part: &str, answers: &Answers, standing: Standing) -> Option<Html> {
    match standing {
        Standing::Present => None,
        Standing::Earlier => (part == "fixes").then(fixes),
        Standing::Nothing => without(part, answers.scenario.mode() == Mode::Serve),
    }
}

/// A part that would show figures, without them. Each keeps the element that it is and the places
/// inside it.
fn without(part: &str, serves: bool) -> Option<Html> {
    Some(match part {
        "stack" => html! { figure id="stack" class="stack stack--none" data-own="stack" {} },
        "fixes" => fixes(),
        "curve-seq" => curve(Axis::SeqLength, serves),
        "curve-gpus" => curve(Axis::Gpus, serves),
        "svg-seq" => html! { div class="curve__svg" data-own="svg-seq" {} },
        "svg-gpus" => html! { div class="curve__svg" data-own="svg-gpus" {} },
        "ledger" => html! {
            table class="table ledger" data-own="ledger" data-testid="ledger" {
                tbody { tr { td { (WHY) } } }
            }
        },
        "cost" => html! { div data-own="cost" { (line()) } },
        "time" => html! {
            section class="section section--screen" id="go-time" tabindex="-1" data-own="time"
                data-testid="time" {
                (line())
            }
        },
        _ => return None,
    })
}

/// The line in the place of a panel.
pub fn line() -> Html {
    html! { p class="saved__empty" { (WHY) } }
}

/// No changes are offered.
fn fixes() -> Html {
    html! {
        section class="help" data-own="fixes" data-testid="fixes" aria-label="What would help" {}
    }
}

/// The heading of a curve, and an empty picture as large as the curve's, so that one that comes
/// finds its size.
fn curve(axis: Axis, serves: bool) -> Html {
    let word = word(axis);
    html! {
        figure class="curve curve--none" data-own={ "curve-" (word) }
            data-testid={ "curve-" (word) } {
            figcaption class="curve__head" { h2 { (curve_view::title(axis, serves)) } }
            div id={ "plot-" (word) } class="curve__plot" {
                div class="curve__svg" data-own={ "svg-" (word) } {}
                div class="curve__cursor" data-own={ "cursor-" (word) } hidden {}
            }
            p class="curve__readout" { (WHY) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{instead, without};
    use crate::planner::Axis;
    use crate::scenario::codec::decode;
    use crate::view::answers::{Answers, Plots};
    use crate::view::history::UndoStep;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::panels::{bar, compare, cost, curves, fixes, ledger, time, verdict};
    use crate::view::ui::Ui;

    /// Every part of the page that shows figures, with what it would show by itself.
    fn parts(answers: &Answers) -> Vec<(&'static str, Html)> {
        let ui = Ui::default();
        let plots = Plots::of(answers, ui.look.of_curves(), &ui.found, None).0;
        vec![
            ("verdict", verdict::verdict(answers, answers.standing, &ui.found, &ui.opened)),
            ("strip", verdict::strip(answers, answers.standing, &ui.found)),
            ("stack", bar::stack(answers, &ui.look, &ui.opened)),
            ("fixes", fixes::fixes(answers, &ui.found)),
            (
                "curve-seq",
                curves::panel(&plots, Axis::SeqLength, answers.unit, &ui.look, None, &ui.opened),
            ),
            (
                "curve-gpus",
                curves::panel(&plots, Axis::Gpus, answers.unit, &ui.look, None, &ui.opened),
            ),
            ("svg-seq", curves::picture(&plots, Axis::SeqLength)),
            ("svg-gpus", curves::picture(&plots, Axis::Gpus)),
            ("ledger", ledger::ledger(answers, &ui.opened)),
            ("cost", cost::cost(answers, &ui.opened)),
            ("time", time::time(answers, &ui.opened)),
        ]
    }

    #[test]
    fn a_link_without_an_answer_shows_no_figure_of_another_scenario() {
        for link in ["v1&m=llama3-70b&tp=3", "v1&m=llama3-7", "v1&gpu=k80&m=llama2-7b"] {
            let answers = answers(link);
            for (name, own) in parts(&answers) {
                let shown = instead(name, &answers, answers.standing_with(false)).unwrap_or(own);
                let words = text(&shown);
                assert!(
                    !words.contains("GiB") && !words.contains("Llama 3 8B on"),
                    "{link}, {name}: {words}"
                );
                assert!(
                    !words.contains("tone--good") && count(&shown, "<path") == 0,
                    "{link}, {name}: {words}"
                );
                // Amounts, shares and counts; names of models and GPUs and their number hold digits
                // too.
                assert!(
                    matches!(name, "verdict" | "strip")
                        || !words.chars().any(|one| one.is_ascii_digit()),
                    "{name}: {words}"
                );
            }
        }
    }

    #[test]
    fn a_part_without_figures_is_the_same_element_with_the_same_places() {
        let head = |html: &Html| html.as_str().split([' ', '>']).next().map(str::to_owned);
        let places = |html: &Html| {
            html.as_str()
                .match_indices("data-own=\"")
                .map(|(at, _)| html.as_str()[at..].split('"').nth(1).map(str::to_owned))
                .collect::<Vec<_>>()
        };
        for (name, own) in parts(&answers("v1")) {
            let Some(without) = without(name, false) else { continue };
            assert_eq!((head(&without), places(&without)), (head(&own), places(&own)), "{name}");
        }
    }

    #[test]
    fn an_answer_stays_whole_and_an_earlier_one_offers_no_changes() {
        let present = answers("v1&m=llama3-70b&n=8");
        for (name, _) in parts(&present) {
            assert_eq!(instead(name, &present, present.standing_with(false)), None, "{name}");
            assert_eq!(
                instead(name, &present, present.standing_with(true)).is_some(),
                name == "fixes",
                "{name}"
            );
        }
    }

    /// Beside others, the scenario without an answer has inputs and no results.
    #[test]
    fn a_comparison_gives_no_results_to_a_scenario_without_an_answer() {
        let said = |link: &str| UndoStep {
            scenario: decode(link).scenario,
            compare: vec![decode("v1&m=llama2-7b&n=8").scenario],
        };
        let impossible = said("v1&m=llama3-70b&n=8&tp=3");
        let fresh = Answers::of(&impossible, None).0;
        let typed =
            Answers::of(&impossible, Some(Answers::of(&said("v1&m=llama3-70b&n=8"), None).0)).0;
        for answers in [fresh, typed] {
            let table = compare::compare(&impossible, &answers);
            assert!(
                text(&table).contains("A, shownLlama 3 70BIt has an input that needs a look"),
                "{}",
                text(&table)
            );
            let rows: Vec<&str> =
                table.as_str().split("<tr").filter(|row| row.contains("GiB")).collect();
            assert!(rows.len() >= 3, "{}", text(&table));
            for row in rows {
                let mine = row
                    .split("<td class=\"num\">")
                    .nth(1)
                    .and_then(|cell| cell.split("</td>").next());
                assert_eq!((mine, row.contains("compare__more")), (Some("–"), false), "{row}");
            }
        }
    }
}
