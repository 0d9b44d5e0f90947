//! The presenter's stage, and what storage keeps of lessons.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, KeyboardEvent};

use super::around;
use super::parts::link_rests;
use super::storage::{keep, keys_of, remove, set_aside, storage};
use crate::units::sort_short;

/// What stands before the name of a record, such as `story:own-1`, in its storage key.
const RECORD: &str = "headroom:v1:";

thread_local! {
    /// What the address says about a lesson beside the scenario.
    static LESSON: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

// ---- link ----

/// From now on the address says that about a lesson, `&present=zero.3`.
pub fn lesson_in_link(part: &str) {
    let same = LESSON.with_borrow_mut(|lesson| {
        let same = lesson == part;
        part.clone_into(lesson);
        same
    });
    if same {
        return;
    }
    link_rests();
}

/// A scenario's link with what the address says about a lesson. A story that travels in the link leaves no room for a scenario.
pub fn link_with_lesson(link: &str) -> String {
    LESSON.with_borrow(|lesson| {
        let link = if lesson.contains("&story=") { "v1" } else { link };
        format!("{link}{lesson}")
    })
}

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

/// Whether a story is shown on a screen as large as a projector's.
pub fn is_presenting() -> bool {
    let wide = window().inner_width().ok().and_then(|width| width.as_f64()).is_some_and(|width| width >= 880.0);
    wide && marked("data-present").is_some()
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

/// Whether it is hidden, or not there.
pub fn is_hidden(id: &str) -> bool {
    element(id).is_none_or(|place| place.has_attribute("hidden"))
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

/// Whether the step that is shown asks something.
pub fn step_asks() -> bool {
    all("#present [data-step][data-question]").iter().any(|step| !step.has_attribute("hidden"))
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

/// Whether a key was pressed together with Ctrl, Alt or Cmd.
pub fn has_modifier(event: &Event) -> bool {
    event.dyn_ref::<KeyboardEvent>().is_some_and(|event| event.ctrl_key() || event.alt_key() || event.meta_key())
}

/// Whether an event is about an element of that kind, or one inside it.
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
    let of = |key: &String| Some((key.strip_prefix(RECORD)?.to_owned(), storage.get_item(key).ok().flatten()?));
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
