//! Layouts as rows of a table, each with its figures and what can be done with it.

use super::front::number;
use super::{Leg, layout};
use crate::planner::search::Found;
use crate::scenario::Scenario;
use crate::scenario::codec::encode;
use crate::units::{MemoryUnit, Scale, grouped};
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::words::{duration, whole};

/// A layout with what it is best at.
pub struct Best<'a> {
    /// The name of what it is best at.
    pub name: String,
    /// The layout, where there is one.
    pub found: Option<&'a Found>,
}

impl Best<'_> {
    /// A name alone, for a button.
    pub fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), found: None }
    }
}

/// An amount of money.
pub fn money(amount: f64) -> String {
    format!("${}", grouped(amount, if amount < 99.5 { 2 } else { 0 }))
}

/// The best layouts as a table, each with its buttons.
pub fn layouts(leg: &Leg, best: &[Best<'_>], now: &Scenario, unit: MemoryUnit) -> Html {
    let rows: Html = best
        .iter()
        .filter_map(|best| {
            Some(row(&best.name, leg, best.found?, now, unit, &button(leg, best.found?, now, best)))
        })
        .collect();
    table("Best layouts", "plan-best", unit, &rows)
}

/// A table of layouts with those rows; `name` heads its first column.
pub fn table(name: &str, id: &str, unit: MemoryUnit, rows: &Html) -> Html {
    html! {
        div class="methods__scroll" tabindex="0" role="region" aria-label=(name) {
            table class="table plan__best" data-testid=(id) {
                thead {
                    tr {
                        th scope="col" { (name) }
                        th scope="col" class="num" { "GPUs" }
                        th scope="col" { "Layout" }
                        th scope="col" class="num" { "Memory, " (unit.name()) }
                        th scope="col" class="num" { "One step" }
                        th scope="col" class="num" { "MFU" }
                        th scope="col" class="num" { "Days" }
                        th scope="col" class="num" { "Price" }
                        th scope="col" { span class="sr" { "What to do" } }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// A row: a layout with its figures and buttons.
pub fn row(
    name: &str,
    leg: &Leg,
    found: &Found,
    now: &Scenario,
    unit: MemoryUnit,
    buttons: &Html,
) -> Html {
    let capacity = leg.job.cluster().accelerator.memory;
    let unknown = || "–".to_owned();
    let used = leg.taken(found, now) == *now;
    let scale = Scale::of(unit, found.memory, capacity);
    html! {
        tr class=(if used { "plan__used" } else { "" }) {
            th scope="row" { (name) }
            td class="num" { (whole(found.gpus)) }
            td class="plan__layout" {
                (layout::words(&found.choice))
                @if let Some(in_use) = leg.without_room(found) {
                    " "
                    span class="plan__room" data-testid="plan-no-room" {
                        "Runs out of memory: PyTorch's allocator needs "
                        (scale.show(in_use))
                        " "
                        (unit.name())
                        "."
                    }
                }
            }
            td class="num" { (scale.show(found.memory)) }
            td class="num" { (found.seconds.map_or_else(unknown, duration)) }
            td class="num" {
                (leg.mfu(found).map_or_else(unknown, |share| format!("{} %", grouped(100.0 * share, 1))))
            }
            td class="num" { (found.days.map_or_else(unknown, number)) }
            td class="num" { (found.cost.map_or_else(unknown, money)) }
            td class="plan__do" { (buttons) }
        }
    }
}

/// The buttons that take a layout over and put it beside the present one.
pub fn button(leg: &Leg, found: &Found, now: &Scenario, best: &Best<'_>) -> Html {
    let taken = leg.taken(found, now);
    let (link, used) = (encode(&taken), taken == *now);
    html! {
        button type="button" class="button" data-do=(Action::Take(link.clone()))
            aria-disabled=(used) {
            (if used { "In use" } else { "Use this layout" })
            span class="sr" { ": " (best.name) }
        }
        button type="button" class="button button--plain" data-do=(Action::Beside(link.clone()))
            hidden[used] {
            "Compare"
            span class="sr" { " with the present one: " (best.name) }
        }
    }
}

// ---- several legs ----
