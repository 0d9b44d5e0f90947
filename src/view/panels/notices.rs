//! Messages about the page: links not fully understood, storage that failed, things that can be
//! taken back.

use super::icon::Icon;
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::ui::{Notice, PageMessages};

/// All notices, each with its own button to close it.
pub fn notices(messages: &PageMessages) -> Html {
    let line = |notice: &Notice| {
        html! {
            div class=(if notice.warning { "notice" } else { "notice notice--info" })
                data-key=(notice.id) {
                p class="notice__text" { (notice.text) }
                button type="button" class="button button--plain button--icon"
                    aria-label="Close this message" data-do=(Action::CloseNotice(notice.id)) {
                    (Icon::Close.html())
                }
            }
        }
    };
    html! {
        div class="notices" data-own="notices" data-testid="notices" role="status" {
            @for item in &messages.notices { (line(item)) }
        }
    }
}

/// The short message at the bottom.
pub fn toast(messages: &PageMessages) -> Html {
    let toast = messages.toast.as_ref().map(|toast| {
        html! {
            div class="toast" {
                (toast.text)
                " "
                @if let Some(_) = toast.back.as_ref() {
                    button type="button" class="button" data-testid="toast-undo"
                        data-do=(Action::BringBack) {
                        "Undo"
                    }
                }
            }
        }
    });
    html! {
        div role="status" data-own="toast" {
            @if let Some(toast) = &toast { (toast) }
        }
    }
}
