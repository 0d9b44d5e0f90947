//! Up to four scenarios side by side.

use crate::scenario::Scenario;
use crate::scenario::codec::{decode, encode, encode_all};
use crate::view::action::Action;
use crate::view::answers::{Answers, Other, Standing};
use crate::view::compared::{ComparedCell, ComparedLine, LETTERS, labels, lines};
use crate::view::history::UndoStep;
use crate::view::markup::{Html, html};
use crate::view::{later, slot};

/// Pin, swap, and the table of differences.
pub fn compare(said: &UndoStep, answers: &Answers) -> Html {
    let count = said.compare.len();
    html! {
        div data-own="compare" data-testid="compare" {
            div class="section__head" {
                h2 { "Compare" }
                div class="section__tools" {
                    button type="button" class="button" data-do=(Action::Unpin(None)) hidden[count == 0] {
                        "Stop comparing"
                    }
                    button type="button" class="button" data-testid="pin" data-do=(Action::Pin)
                        hidden[count == LETTERS.len()] {
                        "Keep this as "
                        (LETTERS.get(count).copied().unwrap_or_default())
                    }
                }
            }
            p class="saved__empty" hidden[count > 0] {
                "Keep this scenario as B, then change the form. The bar, the curves and this table \
                 show both, and one link holds both."
            }
            @if count > 0 { (table_of(said, answers)) }
        }
    }
}

/// The table of what differs. Few compare, so the later part of the program writes it, from the
/// links of what is shown.
fn table_of(said: &UndoStep, answers: &Answers) -> Html {
    let word = answers.standing.word().unwrap_or_default();
    let (answered, shown) = (encode(&answers.scenario), encode_all(&said.scenario, &said.compare));
    later::ask(later::COMPARE, &format!("{word} {answered} {shown}"))
        .map_or_else(slot::fetching, Html::made)
}

/// Answers the question of `table_of`.
pub fn answer(asked: &str) -> Option<String> {
    let mut words = asked.splitn(3, ' ');
    let (word, answered, shown) = (words.next()?, words.next()?, decode(words.next()?));
    let said = UndoStep { scenario: shown.scenario, compare: shown.compare };
    let of_answer = UndoStep { scenario: decode(answered).scenario, compare: said.compare.clone() };
    let mut answers = Answers::of(&of_answer, None).0;
    answers.standing = [Standing::Earlier, Standing::Nothing]
        .into_iter()
        .find(|standing| standing.word() == Some(word))
        .unwrap_or(Standing::Present);
    Some(differences(&said, &answers).as_str().to_owned())
}

/// The table of differences: inputs first, then results.
fn differences(said: &UndoStep, answers: &Answers) -> Html {
    let all: Vec<&Scenario> = std::iter::once(&said.scenario)
        .chain(answers.others.iter().map(|other| &other.scenario))
        .collect();
    let labels = labels(&all);
    let label = |at: usize| labels.get(at).map(String::as_str).unwrap_or_default();
    let one =
        |(at, (letter, other)): (usize, (&&str, &Other))| head(at, letter, label(at + 1), other);
    let lines = lines(&said.scenario, answers);
    let none = said.compare.iter().all(|other| said.scenario.differences(other).is_empty());
    html! {
        div class="compare__scroll" tabindex="0" role="region" aria-label="What differs" {
            table class="table compare" {
                thead {
                    tr {
                        th scope="col" { "What differs" }
                        th scope="col" class="num" {
                            "A, shown"
                            span class="compare__label" { (label(0)) }
                            @if answers.standing != Standing::Present { (trouble()) }
                        }
                        @for item in LETTERS.iter().zip(&answers.others).enumerate() {
                            (one(item))
                        }
                    }
                }
                tbody {
                    @if none { tr { th scope="row" { "No input differs yet" } } }
                    @for item in &lines { (row(item)) }
                }
            }
        }
    }
}

/// Says in a scenario's head that it has no results.
fn trouble() -> Html {
    html! {
        br;
        "It has an input that needs a look"
    }
}

/// The head of one pinned scenario: its letter, and what can be done with it.
fn head(at: usize, letter: &str, label: &str, other: &Other) -> Html {
    html! {
        th scope="col" class="num" {
            (letter)
            ", kept"
            span class="compare__label" { (label) }
            @if other.answer.is_none() { (trouble()) }
            br;
            button type="button" class="link" aria-label={ "Swap A and " (letter) }
                data-do=(Action::Swap(at)) {
                "Swap"
            }
            " "
            button type="button" class="link" aria-label={ "Remove " (letter) }
                data-do=(Action::Unpin(Some(at))) {
                "Remove"
            }
        }
    }
}

fn row(line: &ComparedLine) -> Html {
    let cell = |ComparedCell { text, more }: &ComparedCell| {
        html! {
            td class="num" {
                (text)
                @if let Some(more) = more.as_ref() {
                    " "
                    span class="compare__more" { (more) }
                }
            }
        }
    };
    html! {
        tr class=(if line.differs() { "compare__differs" } else { "" }) {
            th scope="row" { (line.name) }
            td class="num" { (line.shown) }
            @for item in &line.others { (cell(item)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::scenario::codec::decode;
    use crate::view::answers::Answers;
    use crate::view::history::UndoStep;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{count, text};

    fn table(a: &str, others: &[&str]) -> Html {
        let said = UndoStep {
            scenario: decode(a).scenario,
            compare: others.iter().map(|link| decode(link).scenario).collect(),
        };
        compare(&said, &Answers::of(&said, None).0)
    }

    #[test]
    fn differences_come_with_all_values() {
        let (a, b, c) = ("v1&m=llama3-8b&n=8", "v1&m=llama3-8b&n=16", "v1&m=llama3-8b&n=32");
        let alone = table(a, &[]);
        assert_eq!((count(&alone, "<table"), count(&alone, " hidden")), (0, 1));
        assert!(text(&alone).contains("Keep this as B"));
        let both = table(a, &[b]);
        assert!(text(&both).contains("GPUs816"), "{}", text(&both));
        assert_eq!((count(&both, "<table"), count(&both, " hidden")), (1, 1));
        assert!(text(&both).contains("Keep this as C"));
        let four = table(a, &[b, c, a]);
        assert!(text(&four).contains("GPUs816328"), "{}", text(&four));
        assert_eq!((count(&four, "data-do=\"swap:"), count(&four, " hidden")), (3, 2));
        assert!(text(&table(a, &[a])).contains("No input differs yet"));
    }

    #[test]
    fn gpus_for_the_users_are_compared_where_some_are_stated() {
        let both = text(&table(
            "v1&do=serve&m=llama3-8b&n=1&usr=10",
            &["v1&do=serve&m=llama3-8b&n=1&usr=100"],
        ));
        assert!(both.contains("GPUs that carry the users12"), "{both}");
        let (first, second) = ("v1&do=serve&m=llama3-8b&n=1", "v1&do=serve&m=llama3-8b&n=2");
        assert!(!text(&table(first, &[second])).contains("carry the users"));
    }

    #[test]
    fn printed_differences_are_those_of_the_printed_values() {
        let four = table(
            "v1&m=llama3-8b&n=8",
            &["v1&m=llama3-8b&n=16", "v1&m=llama3-70b&n=64&rc=full", "v1&do=serve&m=llama3-8b"],
        );
        let amount =
            |words: &str| words.split(' ').next().unwrap_or_default().parse::<f64>().unwrap_or(0.0);
        let mut checked = 0;
        for row in four
            .as_str()
            .split("<tr")
            .filter(|row| row.contains("compare__more") && !row.contains('×'))
        {
            let cells: Vec<&str> = row
                .split("<td class=\"num\">")
                .skip(1)
                .filter_map(|cell| cell.split("</td>").next())
                .collect();
            let mine = amount(cells[0]);
            for cell in cells.iter().skip(1) {
                let more = cell
                    .split("compare__more\">")
                    .nth(1)
                    .and_then(|rest| rest.split('<').next())
                    .unwrap_or("0");
                let more: f64 =
                    more.replace('−', "-").replace(['+', '\u{202f}'], "").parse().unwrap();
                assert!((amount(cell) - mine - more).abs() < 0.051, "{row}");
                checked += 1;
            }
        }
        assert!(checked > 10, "{checked}");
    }

    #[test]
    fn what_fits_units_and_differences_are_said() {
        let words = text(&table("v1&m=llama3-8b&n=8", &["v1&m=llama3-70b&n=8&s=4096&price=4"]));
        for said in [
            "Fits",
            "Does not fit",
            "Sequence length8192 tokens4096 tokens",
            "Cost of the run$",
            " ×",
        ] {
            assert!(words.contains(said), "{said}: {words}");
        }
    }

    #[test]
    fn an_other_that_cannot_be_resolved_says_so() {
        let words = text(&table("v1&m=llama3-8b&n=8", &["v1&m=llama3-8b&n=8&tp=3"]));
        assert!(
            words.contains("B, keptLlama 3 8B, tensor parallel 3It has an input that needs a look"),
            "{words}"
        );
    }
}
