//! A pasted out-of-memory message beside the estimate of the scenario that is shown.

use crate::diagnosis::{self, AmountBeside, Diagnosis, Remedy, ShownAmount};
use crate::import::oom::OomMessage;
use crate::scenario::codec::encode;
use crate::scenario::{FieldId, Scenario, Value};
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::panels::fixes::apply;

/// No more messages are set beside the estimate than this, of those that differ.
const MOST_SHOWN: usize = 8;

/// Every message of a text beside the scenario's estimate; a sentence for a scenario without a job.
pub fn panel(scenario: &Scenario, messages: &[OomMessage]) -> Html {
    let Ok(job) = scenario.resolve() else {
        let sentence = "The message was read, but the scenario has no answer to set beside it: \
            correct its inputs first.";
        return html! {
            div class="refused" role="alert" { p data-testid="paste-error" { (sentence) } }
        };
    };
    let found = diagnosis::of_each(&job, messages);
    let more = found.len().saturating_sub(MOST_SHOWN);
    html! {
        div class="paste__found" data-testid="oom" {
            @for found in found.iter().take(MOST_SHOWN) { (one(scenario, found)) }
            @if more > 0 {
                p class="quiet" { (more) " further messages that differ are not shown." }
            }
        }
    }
}

/// One message: heading, doubts, cause, what was asked for, amounts, and what helps.
fn one(scenario: &Scenario, found: &Diagnosis) -> Html {
    html! {
        section class="paste__found" aria-label="Out-of-memory message" {
            h3 data-testid="oom-heading" { (found.heading()) }
            @if let Some(objections) = objections(found) { (objections) }
            div data-testid="oom-cause" { (paragraphs(&found.explanation())) }
            div data-testid="oom-request" { (paragraphs(&found.request())) }
            @if let Some(amounts) = amounts(&found.amounts) { (amounts) }
            div data-testid="oom-helps" {
                h4 { "What helps" }
                (helps(scenario, found))
            }
        }
    }
}

fn paragraphs(sentences: &[String]) -> Html {
    sentences.iter().map(|sentence| html! { p { (sentence) } }).collect()
}

/// Why the message hardly comes from this scenario; nothing where it may.
fn objections(found: &Diagnosis) -> Option<Html> {
    let sentences = found.objections();
    let (head, rest) = sentences.split_first()?;
    Some(html! {
        div class="refused" role="alert" data-testid="oom-doubts" {
            p class="refused__head" { (head) }
            (paragraphs(rest))
        }
    })
}

/// The amounts side by side; nothing where the message states none.
fn amounts(rows: &[AmountBeside]) -> Option<Html> {
    let show = |measure: Option<ShownAmount>| {
        measure.map_or_else(|| "–".to_owned(), |measure| measure.to_string())
    };
    let row = |row: &AmountBeside| {
        html! {
            tr {
                th scope="row" { (row.label) }
                td class="num" { (show(row.message)) }
                td class="num" { (show(row.estimate)) }
                td class="table__reason" { (row.note) }
            }
        }
    };
    (!rows.is_empty()).then(|| {
        html! {
            div class="dialog__scroll" tabindex="0" role="region"
                aria-label="Amounts side by side" {
                table class="table" data-testid="oom-amounts" {
                    thead {
                        tr {
                            th scope="col" { "Amount" }
                            th scope="col" class="num" { "Message" }
                            th scope="col" class="num" { "Estimate" }
                            th scope="col" { "Meaning" }
                        }
                    }
                    tbody {
                        @for item in rows { (row(item)) }
                    }
                }
            }
        }
    })
}

/// Remedies: a button for each change that the estimator has tried, a sentence for everything else.
fn helps(scenario: &Scenario, found: &Diagnosis) -> Html {
    let buttons: Html =
        found.remedies.iter().filter_map(|remedy| button(scenario, found, remedy)).collect();
    let said = paragraphs(&found.advice_besides_changes());
    if buttons.is_empty() {
        said
    } else {
        html! {
            div class="fixes" { (buttons) }
            (said)
        }
    }
}

/// A remedy that the estimator has tried, as one click; nothing for others.
fn button(scenario: &Scenario, found: &Diagnosis, remedy: &Remedy) -> Option<Html> {
    let mut changed = scenario.clone();
    let (title, [before, after]) = match remedy {
        Remedy::Change(fix) => {
            apply(&mut changed, fix);
            (fix.title.as_str(), [fix.before, fix.after])
        }
        Remedy::Setting { tried: Some(tried), .. } if tried.fits => {
            changed.set(FieldId::ExpandableSegments, Value::Flag(true));
            ("Expandable segments", [found.estimate.in_use, tried.in_use])
        }
        Remedy::Setting { .. } | Remedy::Advice(_) => return None,
    };
    let [before, after] = [before, after].map(|bytes| ShownAmount::exactly(bytes).to_string());
    Some(html! {
        button type="button" class="fix" data-do=(Action::Take(encode(&changed))) {
            span class="fix__title" { (title) }
            span class="fix__effect" { (before) " → " (after) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::panel;
    use crate::import::oom::read;
    use crate::scenario::codec::decode;
    use crate::view::panels::tests::{count, text};

    const RUN: &str = "v1&m=llama3-8b&l=4&n=1&gb=4&b=4&s=2048&rc=full&att=standard&prec=bf16-pure&oi=for-loop&ker=eager&mem=26.5";
    const MESSAGE: &str = "CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total \
        capacity of 26.50 GiB of which 3.12 GiB is free. Of the allocated memory 17.15 GiB is \
        allocated by PyTorch, and 5.73 GiB is reserved by PyTorch but unallocated.";

    #[test]
    fn a_message_stands_beside_the_scenarios_estimate_and_changes_are_buttons() {
        let messages = read(MESSAGE).expect("a message");
        let shown = panel(&decode(RUN).scenario, &messages);
        let words = text(&shown);
        for part in [
            "tried to allocate 3.91 GiB",
            "Fragmentation: ",
            "= fp32 log-probabilities",
            "17.15 GiB17.15 GiB",
            "expandable_segments:True",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(
            count(&shown, "data-do=\"take:v2&amp;") > 1
                && count(&shown, "xs=1") > 0
                && count(&shown, "oom-doubts") == 0,
            "{words}"
        );
        assert!(!words.contains("tried by the estimator"), "changes are buttons: {words}");
    }

    #[test]
    fn a_message_of_another_run_offers_no_changes() {
        let messages = read(MESSAGE).expect("a message");
        let shown = panel(&decode("v1&m=llama3-70b&n=64").scenario, &messages);
        assert!(
            count(&shown, "oom-doubts") == 1 && count(&shown, "take:") == 0,
            "{}",
            text(&shown)
        );
        let without_job = panel(&decode("v1&n=6&tp=4").scenario, &messages);
        assert!(text(&without_job).contains("correct its inputs first"), "{}", text(&without_job));
    }
}
