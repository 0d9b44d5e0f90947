//! Explanations that unfold beside a figure: the button and its place on the page, and what the second program writes there.

use super::markup::{Html, html};
use super::more::slot;
use super::ui::Ui;

/// What names of open explanations begin with among all that is open.
pub const WHY: &str = "why/";

/// The button that unfolds the explanation of the figure with that path.
pub fn button(ui: &Ui, path: &str, label: &str) -> Html {
    html! {
        button type="button" class="why" aria-expanded=(is_open(ui, path))
            aria-label={ "Explain " (label) } title="Formula, numbers, source"
            data-do={ "open:why/" (path) } {}
    }
}

/// The place of the explanation; empty while it is folded.
pub fn place(ui: &Ui, path: &str) -> Html {
    html! {
        @if is_open(ui, path) {
            div class="why__place" data-own={ "why/" (path) } data-why=(path) tabindex="-1" {
                (slot::fetching())
            }
        }
    }
}

/// The place as a row of a table with four columns.
pub fn row(ui: &Ui, path: &str) -> Html {
    html! {
        @if is_open(ui, path) {
            tr class="why__row" data-key={ "why/" (path) } { td colspan="4" { (place(ui, path)) } }
        }
    }
}

/// The place as the last part of a figure in a list.
pub fn under(ui: &Ui, path: &str) -> Html {
    html! {
        @if is_open(ui, path) { dd class="why__under" { (place(ui, path)) } }
    }
}

/// The path of a figure of time, cost or model by its printed name.
pub fn figure(name: &str) -> String {
    format!("time/{name}")
}

/// The paths of all open explanations, one a line.
pub fn paths(ui: &Ui) -> String {
    ui.open.iter().filter_map(|name| name.strip_prefix(WHY)).collect::<Vec<_>>().join("\n")
}

/// True if the explanation with that path is unfolded.
pub fn is_open(ui: &Ui, path: &str) -> bool {
    ui.open.iter().any(|known| known.strip_prefix(WHY) == Some(path))
}
