//! Five documents, five answers: heading and place of what the second program writes.

use crate::app::markup::{Html, html};
use crate::app::more::slot;

/// The section: one table for all, one sheet for each document.
pub fn methods() -> Html {
    html! {
        div class="section__head" {
            h2 { "Five documents, five answers" }
            p class="section__note" {
                "The same scenario by the engine and by the methods of five documents, for one GPU \
                 of this layout. A dash means that nothing of this kind is counted."
            }
        }
        div class="methods" id="methods" tabindex="-1" aria-busy="true" data-testid="methods" {
            (slot::fetching())
        }
    }
}
