//! Sections whose insides the second program writes: their headings, and the places of what it
//! writes.

use crate::view::markup::{Html, html};
use crate::view::slot;

use super::sections::Section;

/// The formulas of five documents: one table for all, one sheet for each document.
pub fn methods() -> Html {
    html! {
        div class="section__head" {
            h2 { "What five published formulas say" }
            p class="section__note" {
                "This scenario by Headroom and by the formulas of five documents, for one GPU of \
                 this layout (– = not counted)."
            }
        }
        div class="methods" id="methods" tabindex="-1" aria-busy="true" data-testid="methods" {
            (slot::fetching())
        }
    }
}

/// The place of what the answer rests on: three lists and the documents' slips; stands below the
/// general assumptions.
pub fn evidence() -> Html {
    html! {
        div class="evidence-place" id="evidence" tabindex="-1" aria-busy="true" {
            (slot::fetching())
        }
    }
}

/// Id of the planner's place, and name of its fold.
pub const PLANNER: &str = "plan";

/// The fold of the search over layouts; closed, it asks for nothing. The search lays out training
/// only: while a model is served, the style sheet hides the fold.
pub fn planner() -> Html {
    html! {
        section class="section section--screen planner" id=(Section::Layouts.id()) tabindex="-1" {
            details class="plan" data-toggle=(PLANNER) data-testid="planner" {
                summary class="plan__summary" {
                    h2 { "Find the best layout" }
                    p class="section__note" {
                        "Tries every valid combination: the fewest GPUs, the fastest and the \
                         cheapest layout, and why not others."
                    }
                }
                div class="plan__place" id=(PLANNER) tabindex="-1" data-testid="plan" {
                    (slot::fetching())
                }
            }
        }
    }
}
