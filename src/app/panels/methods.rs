//! What five published formulas say: heading and place of what the second program writes.

use crate::app::markup::{Html, html};
use crate::app::more::slot;

/// The section: one table for all, one sheet for each document.
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
