//! Five documents, five answers: heading and place of what the second program writes.

use leptos::prelude::*;

use crate::app::browser_more::keep_panel;
use crate::app::more::slot;
use crate::app::more::wire::What;
use crate::app::state::state;

/// The section: one table for all, one sheet for each document.
#[component]
pub fn Methods() -> impl IntoView {
    keep_panel(state(), What::Methods, "methods");
    view! {
        <div class="section__head">
            <h2>"Five documents, five answers"</h2>
            <p class="section__note">
                "The same scenario by the engine and by the methods of five documents, for one GPU of this layout. "
                "A dash means that nothing of this kind is counted."
            </p>
        </div>
        <div class="methods" id="methods" tabindex="-1" aria-busy="true" data-testid="methods" inner_html=slot::fetching().as_str().to_owned()></div>
    }
    .into_any()
}
