//! What this answer rests on: the place of what the second program writes.

use leptos::prelude::*;

use crate::app::browser_more::keep_panel;
use crate::app::more::slot;
use crate::app::more::wire::What;
use crate::app::state::state;

/// Three lists and the documents' slips; stands below the general assumptions.
#[component]
pub fn Evidence() -> impl IntoView {
    keep_panel(state(), What::Evidence, "evidence");
    view! { <div class="evidence-place" id="evidence" tabindex="-1" aria-busy="true" inner_html=slot::fetching().as_str().to_owned()></div> }
        .into_any()
}
