//! Explanations that unfold beside a figure: the button and its place on the page, and what the second program writes there.

use super::markup::{Html, html, word_of};
use super::more::slot;
use super::ui::Ui;

/// What names of open explanations begin with among all that is open.
pub const WHY: &str = "why/";

/// The button that unfolds the explanation of the figure with that path.
pub fn button(ui: &Ui, path: &str, label: &str) -> Html {
    html(
        r#"<button type="button" class="why" aria-expanded="{}" aria-label="Explain {}" title="Formula, numbers, source" data-do="open:why/{}"></button>"#,
        &[&word_of(is_open(ui, path)), &label, &path],
    )
}

/// The place of the explanation; nothing while it is folded.
pub fn place(ui: &Ui, path: &str) -> Option<Html> {
    is_open(ui, path).then(|| {
        html(
            r#"<div class="why__place" data-own="why/{}" data-why="{}" tabindex="-1">{}</div>"#,
            &[&path, &path, &slot::fetching()],
        )
    })
}

/// The same as a row of a table with four columns.
pub fn row(ui: &Ui, path: &str) -> Option<Html> {
    let place = place(ui, path)?;
    Some(html(r#"<tr class="why__row" data-key="why/{}"><td colspan="4">{}</td></tr>"#, &[&path, &place]))
}

/// The same as the last part of a figure in a list.
pub fn under(ui: &Ui, path: &str) -> Option<Html> {
    Some(html(r#"<dd class="why__under">{}</dd>"#, &[&place(ui, path)?]))
}

/// The path of a figure of time, cost or model by its printed name.
pub fn figure(name: &str) -> String {
    format!("time/{name}")
}

/// The paths of all open explanations, one a line.
pub fn paths(ui: &Ui) -> String {
    ui.open.iter().filter_map(|name| name.strip_prefix(WHY)).collect::<Vec<_>>().join("\n")
}

fn is_open(ui: &Ui, path: &str) -> bool {
    ui.open.iter().any(|known| known.strip_prefix(WHY) == Some(path))
}
