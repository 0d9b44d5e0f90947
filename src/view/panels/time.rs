//! How long it takes and what it costs: the step's terms with their sources, and the figures of the
//! whole run.

use crate::estimator::time::{Step, Timing};
use crate::scenario::FieldId;
use crate::view::action::Action;
use crate::view::answers::Answers;
use crate::view::explaining;
use crate::view::markup::{Html, html};
use crate::view::timing::{self, ShownTerm};
use crate::view::ui::Opened;
use crate::view::words::per_cent;

/// The section: the ledger of a step beside what follows from it, or one sentence on what is
/// missing.
pub fn time(answers: &Answers, opened: &Opened) -> Html {
    let heading = if answers.job.training().is_some() {
        "How long a step takes"
    } else {
        "How long an answer takes"
    };
    html! {
        section class="section section--screen" id="go-time" tabindex="-1" data-own="time"
            data-testid="time" {
            div class="section__head" {
                h2 { (heading) }
                (notes(answers))
            }
            (body(answers, opened))
        }
    }
}

/// Notes on the figures: their scope, and the inputs that change them.
fn notes(answers: &Answers) -> Html {
    let what = match answers.timing() {
        Timing::Training { .. } => Some(
            "For the slowest pipeline stage. Change price, network and CO₂ under Time and cost.",
        ),
        Timing::Serving(_) => {
            Some("No request waits for another. Change the price under Time and cost.")
        }
        Timing::Unknown(_) => None,
    };
    let caveat = what.and_then(|_| timing::caveat(answers.estimate.verdict()));
    let stated = timing::stated(&answers.job, &answers.estimate);
    let note = |text: &str| html! { p class="section__note" { (text) } };
    [what.map(note), caveat.map(note), stated.as_deref().map(note)].into_iter().flatten().collect()
}

fn body(answers: &Answers, opened: &Opened) -> Html {
    let facts = timing::facts(&answers.job, answers.timing());
    let pack = facts.iter().find(|(name, ..)| *name == timing::PACKED).map(pack);
    let facts: Html =
        facts.iter().map(|(name, value, note)| timing::line(opened, name, value, note)).collect();
    let facts = html! { dl class="facts" data-testid="time-facts" { (facts) } };
    // The button that packs the texts stands under the figures.
    let facts = match pack {
        Some(pack) => html! {
            div {
                (facts)
                div class="fixes" { (pack) }
            }
        },
        None => facts,
    };
    match answers.timing() {
        Timing::Training { step, .. } => html! {
            div class="pair" {
                div { (ledger(step, opened)) }
                (facts)
            }
        },
        Timing::Serving(_) => html! { div class="pair" { (facts) } },
        Timing::Unknown(_) => html! {
            p class="saved__empty" {
                @if let Some(unknown) = timing::unknown(&answers.scenario, answers.timing()) {
                    (unknown)
                }
            }
        },
    }
}

/// The change that packs texts, one click.
fn pack((_, times, of): &timing::Fact) -> Html {
    html! {
        button type="button" class="fix" data-do=(Action::Set(FieldId::Packing, "1".to_owned())) {
            span class="fix__title" { "Pack texts" }
            span class="fix__effect" { (times) " " (of) }
        }
    }
}

/// The terms of a step; they add up to it as printed.
fn ledger(step: &Step, opened: &Opened) -> Html {
    let (terms, total) = timing::terms(step);
    html! {
        table class="table ledger" data-testid="time-ledger" {
            thead {
                tr {
                    th scope="col" { "What takes the time" }
                    th scope="col" class="num" { "Time" }
                    th scope="col" { "Share" }
                    th scope="col" { "Confidence and source" }
                }
            }
            tbody {
                @for term in &terms { (row(term, opened)) }
            }
            tfoot {
                tr class="table__total" {
                    th scope="row" { "One step" }
                    td class="num" data-testid="step-time" { (total) }
                    td class="ledger__share" {}
                    td class="ledger__source" {}
                }
            }
        }
    }
}

fn row(term: &ShownTerm, opened: &Opened) -> Html {
    let path = explaining::figure(term.label);
    let word = term.certainty.word();
    html! {
        tr class="ledger__term" data-key=(term.label) {
            th scope="row" {
                (explaining::behind(term.label, opened, &path, term.label))
                " "
                span class="ledger__note" { (term.formula) }
            }
            td class="num" { (term.time) }
            td class="ledger__share" {
                (per_cent(term.share))
                svg class="term__bar" viewBox="0 0 100 4" preserveAspectRatio="none"
                    aria-hidden="true" focusable="false" {
                    rect width=(timing::width(term.share)) height="4" {}
                }
            }
            td class="ledger__source" {
                span class={ "tag tag--" (word) } { (word) }
                " "
                (term.source.who)
                ", "
                (term.source.locator)
            }
        }
        (explaining::row(opened, &path))
    }
}

#[cfg(test)]
mod tests {
    use super::time;
    use crate::catalog;
    use crate::estimator::time::Timing;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::timing::terms;
    use crate::view::ui::Opened;

    /// A printed time in thousandths of its last digit's unit; the smallest, printed as less than
    /// one digit, count nothing.
    fn digits(text: &str) -> u64 {
        if text.starts_with('<') {
            return 0;
        }
        text.chars().filter(char::is_ascii_digit).collect::<String>().parse().expect("a number")
    }

    const LINKS: [&str; 8] = [
        "v1&m=llama3-8b&n=8",
        "v1&m=llama3-70b&n=64&tp=8&pp=2&z=1&ker=megatron&gb=64&b=1",
        "v1&m=gpt2&n=1&s=128&gb=1&b=1",
        "v1&m=mixtral-8x7b&n=64&ep=8&ker=megatron&z=1",
        "v1&m=deepseek-v3&n=2048&pp=16&ep=64&ker=megatron&z=1&gpu=h800&gb=15360&b=1",
        "v1&m=llama3-8b&n=8&gpu=a100-80&rc=full",
        "v1&m=llama3-405b&n=16384&tp=8&pp=16&ker=megatron&z=1&gb=2048&b=1",
        "v1&m=llama3-8b&n=1&gpu=l4&prec=bf16-pure",
    ];

    #[test]
    fn printed_terms_add_up_to_the_printed_step() {
        for link in LINKS {
            let Timing::Training { step, .. } = answers(link).timing().clone() else {
                panic!("{link} takes time")
            };
            let (terms, total) = terms(&step);
            let sum: u64 = terms.iter().map(|term| digits(&term.time)).sum();
            assert_eq!(sum, digits(&total), "{link}: {terms:#?}");
            let unit = total.rsplit(' ').next().expect("a unit");
            assert!(terms.iter().all(|term| term.time.ends_with(unit)), "{link}");
            let shares: f64 = terms.iter().map(|term| term.share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{link}");
        }
    }

    #[test]
    fn every_term_has_a_bar_a_tag_and_a_source() {
        for link in LINKS {
            let answers = answers(link);
            let Timing::Training { step, .. } = answers.timing() else {
                panic!("{link} takes time")
            };
            let html = time(&answers, &Opened::default());
            for what in ["ledger__term", "class=\"term__bar\"", "class=\"tag "] {
                assert_eq!(count(&html, what), step.lines.len(), "{link}: {what}");
            }
            for (term, line) in terms(step).0.iter().zip(&step.lines) {
                let width: f64 = crate::view::timing::width(term.share).parse().expect("a number");
                assert!(
                    (width - 100.0 * line.seconds.0 / step.seconds.0).abs() <= 0.05 + 1e-9,
                    "{link}"
                );
                assert_eq!(count(&html, &format!("data-key=\"{}\"", line.label)), 1, "{link}");
            }
        }
    }

    #[test]
    fn every_accelerator_gives_a_time_or_a_sentence() {
        for row in catalog::accelerators() {
            for run in ["n=8", "n=8&prec=fp16-mixed", "do=serve&n=1"] {
                let answers = answers(&format!("v1&m=llama3-8b&gpu={}&{run}", row.id));
                let words = text(&time(&answers, &Opened::default()));
                match answers.timing() {
                    Timing::Training { step, cost } => {
                        assert!(
                            step.seconds.0.is_finite() && step.mfu > 0.0 && step.hfu < 1.0,
                            "{}: {step:?}",
                            row.id
                        );
                        assert!(
                            words.contains("GPU-hours") && words.contains("One step"),
                            "{}",
                            row.id
                        );
                        assert_eq!(
                            words.contains("Energy of the GPUs"),
                            cost.energy_kwh.is_some(),
                            "{}",
                            row.id
                        );
                    }
                    Timing::Serving(_) => {
                        assert!(words.contains("Cost of a million tokens"), "{}: {words}", row.id);
                    }
                    Timing::Unknown(_) => {
                        assert!(
                            words.contains("No time and cost") && words.contains(row.name),
                            "{}: {words}",
                            row.id
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_missing_peak_can_be_typed() {
        assert!(
            text(&time(&answers("v1&m=llama3-8b&n=8&gpu=m3-ultra"), &Opened::default()))
                .contains("Enter it under GPU and layout details")
        );
        assert!(
            text(&time(&answers("v1&m=llama3-8b&n=8&gpu=m3-ultra&pk=50"), &Opened::default()))
                .contains("GPU-hours")
        );
    }

    #[test]
    fn a_stated_utilisation_is_one_line_of_its_own() {
        let said = |link: &str| text(&time(&answers(link), &Opened::default()));
        assert!(
            !said("v1&m=llama3-8b&n=8").contains("stated")
                && !said("v1&m=llama3-8b&n=8&mfu=40").contains("stated")
        );
        assert!(
            said("v1&m=llama3-8b&n=8&mfu=50")
                .contains("At your stated utilisation of 50 %: one step")
        );
    }

    #[test]
    fn padded_texts_are_offered_packing() {
        let said = |link: &str| time(&answers(link), &Opened::default());
        let padded = said("v1&do=tune&m=llama3-8b&n=1&gb=8&txt=600");
        assert_eq!(count(&padded, "data-do=\"set:pack:1\""), 1);
        for what in [
            "Share of padding",
            "texts of 600 tokens padded to 8192",
            "Pack texts",
            "as many useful tokens",
        ] {
            assert!(text(&padded).contains(what), "{what}: {}", text(&padded));
        }
        let packed = said("v1&do=tune&m=llama3-8b&n=1&gb=8&txt=600&pack=1");
        assert!(
            count(&packed, "set:pack") == 0 && text(&packed).contains("packed without gaps"),
            "{}",
            text(&packed)
        );
        assert!(!text(&said("v1&do=tune&m=llama3-8b&n=1&gb=8")).contains("Useful tokens"));
    }

    #[test]
    fn messages_of_serving_are_lines() {
        let said = |link: &str| text(&time(&answers(link), &Opened::default()));
        assert!(!said("v1&do=serve&m=mixtral-8x7b&n=1&w=awq").contains("Messages"));
        let whole = said("v1&do=serve&m=mixtral-8x7b&n=4&tp=4&eep=1");
        assert!(
            whole.contains("sums over tensor ranks") && !whole.contains("tokens to experts"),
            "{whole}"
        );
        assert!(
            said("v1&do=serve&m=mixtral-8x7b&n=4&tp=4&eep=1&ata=1")
                .contains("asked as often: assumed")
        );
    }

    #[test]
    fn a_layout_that_cannot_run_says_so() {
        assert!(
            text(&time(&answers("v1&m=llama3-70b&n=8"), &Opened::default()))
                .contains("It does not fit")
        );
        assert!(
            !text(&time(&answers("v1&m=llama3-8b&n=8"), &Opened::default()))
                .contains("It does not fit")
        );
    }
}
