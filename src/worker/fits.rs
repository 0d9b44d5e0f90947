//! “What fits these GPUs?”: the table of models, sorted and narrowed as asked.

use std::sync::{Arc, Mutex};

use crate::scenario::codec::encode;
use crate::scenario::{FieldId, Mode, Scenario, Value};
use crate::units::{MemoryUnit, grouped, to_f64};
use crate::view::action::{Action, FitsList, FitsOrder};
use crate::view::markup::{Html, html};
use crate::view::what_fits::{Fit, SPEED_AT, what_fits};
use crate::view::words::{accelerator_name, whole};

/// The rows of the scenario that was asked about last: another order asks for no new search.
static LAST: Mutex<Option<(String, Arc<Vec<Fit>>)>> = Mutex::new(None);

fn rows(scenario: &Scenario) -> Arc<Vec<Fit>> {
    let link = encode(scenario);
    let kept = LAST.lock().ok().and_then(|last| last.clone()).filter(|(of, _)| *of == link);
    if let Some((_, rows)) = kept {
        return rows;
    }
    let rows = Arc::new(what_fits(scenario));
    if let Ok(mut last) = LAST.lock() {
        *last = Some((link, Arc::clone(&rows)));
    }
    rows
}

/// The table, in an order and of one format or way.
pub fn panel(scenario: &Scenario, list: &FitsList, unit: MemoryUnit) -> Html {
    let (order, way) = (list.order, list.way.as_str());
    let all = rows(scenario);
    let mut shown: Vec<&Fit> = all.iter().filter(|fit| way.is_empty() || fit.way == way).collect();
    if way.is_empty() {
        // The ways of one model stand together, the one with most bits, or in which most learns,
        // first.
        shown.dedup_by_key(|fit| fit.model.id);
    }
    match order {
        FitsOrder::Length => {
            shown.sort_by_key(|fit| std::cmp::Reverse((fit.length, fit.parameters)));
        }
        FitsOrder::Speed => {
            shown.sort_by(|a, b| {
                b.tokens_per_second.unwrap_or(0.0).total_cmp(&a.tokens_per_second.unwrap_or(0.0))
            });
        }
        FitsOrder::Size => shown.sort_by_key(|fit| std::cmp::Reverse(fit.parameters)),
    }
    let serves = scenario.mode() == Mode::Serve;
    html! {
        p data-testid="fits-about" { (about(scenario, shown.len(), serves)) }
        (ways(&all, order, way))
        @if shown.is_empty() {
            p class="quiet" { "No model of the list fits. More GPUs, a larger one, or fewer bits \
                would help." }
        } @else {
            div class="dialog__scroll" tabindex="0" role="region" aria-label="Models that fit" {
                table class="table" data-testid="fits" {
                    (head(order, way, serves, unit))
                    tbody { @for fit in &shown { (row(fit, serves, unit)) } }
                }
            }
        }
    }
}

fn about(scenario: &Scenario, count: usize, serves: bool) -> String {
    let gpus = match scenario.get(FieldId::Gpus) {
        Value::Integer(gpus) => gpus,
        _ => 1,
    };
    let hardware = format!("{} × {}", whole(gpus), accelerator_name(scenario));
    if serves {
        format!(
            "{count} models of the list can be served on {hardware}, one request at a time: the \
             longest context that fits, and the speed with {} tokens in the cache.",
            whole(SPEED_AT)
        )
    } else {
        format!(
            "{count} models of the list can be fine-tuned on {hardware}, one text at a time, every \
             block recomputed."
        )
    }
}

/// Buttons for one format or way alone.
fn ways(all: &[Fit], order: FitsOrder, now: &str) -> Html {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for fit in all {
        if !found.iter().any(|(word, _)| *word == fit.way) {
            found.push((fit.way, &fit.way_label));
        }
    }
    let button = |word: &str, label: &str| {
        html! {
            button type="button" class="button" aria-pressed=(if word == now { "true" } else { "false" })
                data-do=(Action::ListFits(FitsList { order, way: word.to_owned() })) {
                (label)
            }
        }
    };
    html! {
        div class="fits__ways" role="group" aria-label="Which ways are listed" {
            (button("", "The best of each model"))
            @for (word, label) in &found { (button(word, label)) }
        }
    }
}

fn head(order: FitsOrder, way: &str, serves: bool, unit: MemoryUnit) -> Html {
    let sorted = |by: FitsOrder, label: &str| {
        html! {
            th scope="col" aria-sort=[(by == order).then_some("descending")] {
                button type="button" class="link" data-do=(Action::ListFits(FitsList { order: by, way: way.to_owned() })) { (label) }
            }
        }
    };
    html! {
        thead {
            tr {
                th scope="col" { "Model" }
                (sorted(FitsOrder::Size, "Parameters"))
                th scope="col" { (if serves { "Weights" } else { "Trainable weights" }) }
                @if serves { (sorted(FitsOrder::Length, "Longest context")) (sorted(FitsOrder::Speed, "Tokens \
                    per second")) } @else { th scope="col" { "Sequence" } }
                th scope="col" { (unit.name()) }
            }
        }
    }
}

fn row(fit: &Fit, serves: bool, unit: MemoryUnit) -> Html {
    let link = encode(&fit.scenario);
    html! {
        tr {
            th scope="row" { a class="link" href={ "#" (link) } data-do=(Action::Take(link.clone())) { (fit.model.name) } }
            td class="number" { (grouped(to_f64(fit.parameters) / 1e9, 1)) " B" }
            td { (fit.way_label) }
            td class="number" { (whole(fit.length)) }
            @if serves {
                td class="number" { @if let Some(speed) = fit.tokens_per_second { (grouped(speed, 1)) } @else { "–" } }
            }
            td class="number" { (unit.number(fit.memory, 1)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::panel;
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;
    use crate::view::action::{FitsList, FitsOrder};

    #[test]
    fn rows_are_sorted_narrowed_and_open_as_scenarios() {
        let scenario = decode("v2&do=tune&gpu=rtx4090&n=1&s=1024").scenario;
        let list = |way: &str| FitsList { order: FitsOrder::Size, way: way.to_owned() };
        let by_size = panel(&scenario, &list(""), MemoryUnit::Gib);
        let [large, small] = ["Qwen2.5 32B", "Qwen3 0.6B"].map(|name| by_size.as_str().find(name));
        assert!(large.is_some() && large < small);
        assert!(by_size.as_str().contains("href=\"#v2&amp;"), "{}", by_size.as_str());
        let full = panel(&scenario, &list("full"), MemoryUnit::Gib);
        assert!(!full.as_str().contains("Qwen2.5 32B") && full.as_str().contains("Qwen3 0.6B"));
    }
}
