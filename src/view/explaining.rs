//! Explanations that unfold beside a figure: the button, and the place that the second program
//! writes.

use super::action::Action;
use super::markup::{Html, html};
use super::ui::Opened;
use crate::view::slot;

/// The beginning of an explanation's name among all that is open.
pub const WHY: &str = "why/";

/// The button that unfolds the explanation of the figure with that path.
pub fn button(opened: &Opened, path: &str, label: &str) -> Html {
    html! {
        button type="button" class="why" aria-expanded=(is_open(opened, path))
            aria-label={ "Explain " (label) } title="Formula, numbers, source"
            data-do=(unfold(path)) {}
    }
}

/// Words with that button behind them: it stays on the line of the last one.
pub fn behind(words: &str, opened: &Opened, path: &str, label: &str) -> Html {
    let start = words.trim_end_matches(" %").rfind(' ').map_or(0, |space| space + 1);
    html! {
        (words[..start])
        span class="joined" { (words[start..]) " " (button(opened, path, label)) }
    }
}

/// The place of the explanation; empty while it is folded.
pub fn place(opened: &Opened, path: &str) -> Html {
    html! {
        @if is_open(opened, path) {
            div class="why__place" data-own={ "why/" (path) } data-why=(path) tabindex="-1" {
                (slot::fetching())
            }
        }
    }
}

/// The place as a row of a table with four columns.
pub fn row(opened: &Opened, path: &str) -> Html {
    html! {
        @if is_open(opened, path) {
            tr class="why__row" data-key={ "why/" (path) } { td colspan="4" { (place(opened, path)) } }
        }
    }
}

/// The place as the last part of a figure in a list.
pub fn under(opened: &Opened, path: &str) -> Html {
    html! {
        @if is_open(opened, path) { dd class="why__under" { (place(opened, path)) } }
    }
}

/// Unfolds the explanation with that path, or folds it.
pub fn unfold(path: &str) -> Action {
    Action::Toggle([WHY, path].concat())
}

/// The path of a figure of time, cost or model by its printed name.
pub fn figure(name: &str) -> String {
    format!("time/{name}")
}

/// The paths of all open explanations, one a line.
pub fn paths(opened: &Opened) -> String {
    opened.open.iter().filter_map(|name| name.strip_prefix(WHY)).collect::<Vec<_>>().join("\n")
}

/// True if the explanation with that path is unfolded.
pub fn is_open(opened: &Opened, path: &str) -> bool {
    opened.open.iter().any(|known| known.strip_prefix(WHY) == Some(path))
}
