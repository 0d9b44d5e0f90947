//! The search over layouts: a fold, and the place of what the second program writes once it is opened.

use super::sections::LAYOUTS;
use crate::app::markup::{Html, html};
use crate::app::more::slot;

/// Id of the place, and name of the fold.
pub const PLACE: &str = "plan";

/// The fold; closed, it asks for nothing. The search lays out training only: while a model is served, the style sheet hides the fold.
pub fn planner() -> Html {
    html! {
        section class="section section--screen planner" id=(LAYOUTS) tabindex="-1" {
            details class="plan" data-toggle=(PLACE) data-testid="planner" {
                summary class="plan__summary" {
                    h2 { "Find the best layout" }
                    p class="section__note" {
                        "Tries every valid combination: the fewest GPUs, the fastest and the \
                         cheapest layout, and why not others."
                    }
                }
                div class="plan__place" id=(PLACE) tabindex="-1" data-testid="plan" {
                    (slot::fetching())
                }
            }
        }
    }
}
