//! The page's dialogs: share, paste, save.

pub mod paste;
pub mod save;
pub mod share;

use super::icon::Icon;
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::ui::Dialog;

/// The dialogs with the names of their parts and their headings.
pub const DIALOGS: [(Dialog, &str, &str); 3] = [
    (Dialog::Share, "share", "Share this scenario"),
    (Dialog::Paste, "paste", "Paste a command, file, link or log"),
    (Dialog::Save, "save", "Save this scenario"),
];

/// The dialog of that name.
pub fn of_name(name: &str) -> Option<Dialog> {
    DIALOGS.iter().find(|(_, known, _)| *known == name).map(|(dialog, _, _)| *dialog)
}

/// The name of a dialog.
pub fn name_of(dialog: Dialog) -> &'static str {
    DIALOGS.iter().find(|(known, ..)| *known == dialog).map_or("", |(_, name, _)| name)
}

/// The id of a dialog.
pub fn id_of(dialog: Dialog) -> String {
    format!("dialog-{}", name_of(dialog))
}

/// All three native dialogs, each with its heading, a close button and the place of its content.
pub fn frames() -> Html {
    let frame = |(_, name, heading): &(Dialog, &str, &str)| {
        html! {
            dialog class="dialog" data-key={ "dialog-" (name) } id={ "dialog-" (name) }
                aria-label=(heading) {
                div class="dialog__head" {
                    h2 { (heading) }
                    button type="button" class="button button--plain button--icon"
                        aria-label="Close" data-do=(Action::CloseDialog) {
                        (Icon::Close.html())
                    }
                }
                div data-own={ "in-" (name) } {}
            }
        }
    };
    DIALOGS.iter().map(frame).collect()
}
