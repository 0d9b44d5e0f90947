//! Messages about the page: links not fully understood, storage that failed, things that can be taken back.

use super::icon::Icon;
use crate::app::markup::{Html, html};
use crate::app::ui::{Notice, Ui};

/// All notices, each with its own button to close it.
pub fn notices(ui: &Ui) -> Html {
    let line = |notice: &Notice| {
        html(
            r#"<div class="{}" data-key="{}"><p class="notice__text">{}</p><button type="button" class="button button--plain button--icon" aria-label="Close this message" data-do="notice:{}">{}</button></div>"#,
            &[
                &if notice.warning { "notice" } else { "notice notice--info" },
                &notice.id.to_string(),
                &notice.text,
                &notice.id.to_string(),
                &Icon::Close.html(),
            ],
        )
    };
    let lines: Html = ui.notices.iter().map(line).collect();
    html(r#"<div class="notices" data-own="notices" data-testid="notices" role="status">{}</div>"#, &[&lines])
}

/// The short message at the bottom.
pub fn toast(ui: &Ui) -> Html {
    let toast = ui.toast.as_ref().map(|toast| {
        let undo = toast.back.as_ref().map(|_| {
            html(r#"<button type="button" class="button" data-testid="toast-undo" data-do="bring-back">Undo</button>"#, &[])
        });
        html(r#"<div class="toast">{} {}</div>"#, &[&toast.text, &undo])
    });
    html(r#"<div role="status" data-own="toast">{}</div>"#, &[&toast])
}
