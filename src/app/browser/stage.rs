//! The presenter's stage, and the records of lessons in storage.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, KeyboardEvent};

use super::around;
use super::storage::{keep, keys_of, remove, set_aside, storage};
use crate::units::sort_short;

/// The beginning of a record's key, before its name, such as `story:own-1`, in its storage key.
const RECORD: &str = "headroom:v1:";

// ---- stage ----

fn element(id: &str) -> Option<Element> {
    document().get_element_by_id(id)
}

/// Sets an attribute of the whole page, or takes it away.
pub fn mark(name: &str, value: Option<&str>) {
    let Some(root) = document().document_element() else { return };
    let _ = match value {
        Some(value) => root.set_attribute(name, value),
        None => root.remove_attribute(name),
    };
}

/// An attribute of the whole page.
pub fn marked(name: &str) -> Option<String> {
    document().document_element()?.get_attribute(name)
}

/// True on a screen as large as a projector's.
pub fn is_wide() -> bool {
    window().inner_width().ok().and_then(|width| width.as_f64()).is_some_and(|width| width >= 880.0)
}

/// An attribute of the element with that id.
pub fn attribute(id: &str, name: &str) -> Option<String> {
    element(id)?.get_attribute(name)
}

/// Writes the text of the element with that id.
pub fn set_text(id: &str, text: &str) {
    if let Some(place) = element(id) {
        place.set_text_content(Some(text));
    }
}

fn hide(place: &Element, hidden: bool) {
    let _ = place.toggle_attribute_with_force("hidden", hidden);
}

/// Shows or hides the element with that id.
pub fn set_hidden(id: &str, hidden: bool) {
    if let Some(place) = element(id) {
        hide(&place, hidden);
    }
}

/// Every element of that kind, in the page's order.
pub fn all(selector: &str) -> Vec<Element> {
    let Ok(found) = document().query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|index| found.get(index)?.dyn_into().ok()).collect()
}

/// Shows one step of the story on the stage.
pub fn show_step(number: usize) {
    let number = number.to_string();
    for step in all("#present [data-step]") {
        hide(&step, step.get_attribute("data-step").as_deref() != Some(&number));
    }
}

/// The steps of the story on the stage that ask something, counted from 0.
pub fn steps_that_ask() -> Vec<usize> {
    let steps = all("#present [data-step]");
    let asks = |(at, step): (usize, &Element)| step.has_attribute("data-question").then_some(at);
    steps.iter().enumerate().filter_map(asks).collect()
}

/// Opens the folds around the element with that id.
pub fn unfold(id: &str) {
    let fold = element(id).and_then(|place| place.closest("details").ok().flatten());
    if let Some(fold) = fold {
        let _ = fold.set_attribute("open", "");
    }
}

/// Opens the form's folds where one of these inputs is not written yet.
pub fn unfold_for(keys: &str) {
    let missing = |key: &str| element(&format!("f-{key}")).is_none();
    if keys.split(' ').any(|key| !key.is_empty() && missing(key)) {
        for fold in all(".controls details:not([open])") {
            let _ = fold.set_attribute("open", "");
        }
    }
}

/// True if a key was pressed together with Ctrl, Alt or Cmd.
pub fn has_modifier(event: &Event) -> bool {
    event
        .dyn_ref::<KeyboardEvent>()
        .is_some_and(|event| event.ctrl_key() || event.alt_key() || event.meta_key())
}

/// True if an event is about an element of that kind, or one inside it.
pub fn targets(event: &Event, selector: &str) -> bool {
    around(event, selector).is_some()
}

// ---- own stories, progress on worksheets ----

/// Every record of lessons with its name: `story:own-1`, `sheet:algebra`.
pub fn stories() -> Vec<(String, String)> {
    let Some(storage) = storage() else { return Vec::new() };
    let mut keys = keys_of(&storage, RECORD);
    keys.retain(|key| key.contains(":story:") || key.contains(":sheet:"));
    sort_short(&mut keys, |a, b| a < b);
    let of = |key: &String| {
        Some((key.strip_prefix(RECORD)?.to_owned(), storage.get_item(key).ok().flatten()?))
    };
    keys.iter().filter_map(of).collect()
}

/// Writes a record under its own key and reads it back.
///
/// # Errors
/// A sentence for the reader: nothing was stored.
pub fn keep_story(name: &str, record: &str) -> Result<(), String> {
    keep(&format!("{RECORD}{name}"), record)
}

/// Removes a record.
pub fn forget_story(name: &str) {
    remove(&format!("{RECORD}{name}"));
}

/// Moves a record that cannot be read to a key of its own, so that nothing is lost.
pub fn set_story_aside(name: &str) {
    let (key, Some(storage)) = (format!("{RECORD}{name}"), storage()) else { return };
    if let Ok(Some(record)) = storage.get_item(&key) {
        set_aside(&storage, &key, &record);
    }
}
