//! What this answer rests on: the place of what the second program writes.

use crate::app::markup::{Html, html};
use crate::app::more::slot;

/// Three lists and the documents' slips; stands below the general assumptions.
pub fn evidence() -> Html {
    html! {
        div class="evidence-place" id="evidence" tabindex="-1" aria-busy="true" {
            (slot::fetching())
        }
    }
}
