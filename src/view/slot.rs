//! Texts of a place that the second program fills, until it does. A file of its own, as both
//! programs write them.

use crate::view::markup::{Html, html};

/// While it is on its way.
pub fn fetching() -> Html {
    html! { p class="quiet" role="status" { "This part of the page is being fetched." } }
}

/// While every model of the list is tried.
pub fn listing() -> Html {
    html! { p class="quiet" role="status" { "Every model of the list is being tried." } }
}

/// When it did not arrive.
pub fn out_of_reach() -> Html {
    html! {
        p class="quiet" role="status" {
            "This part of the page could not be fetched; the answer does not need it."
        }
        button type="button" class="button" data-again { "Try again" }
    }
}
