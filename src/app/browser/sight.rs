//! What of the page is in sight, and what stands below the window: it is laid out right after the picture of a change instead of before it.
//!
//! The browser leaves out on its own what is further away than a window and a half; what begins just below the window would take a sixth
//! of the time until the answer can be seen. Its words are written with all others. Only what is *below* waits, because nothing in sight
//! moves when it grows; and never what has the focus.

use std::cell::{Cell, RefCell};

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

use super::{document, window};

/// The attribute of a place whose parts wait; `fields.css` says how.
const WAITS: &str = "data-waits";

thread_local! {
    /// Whether all that follows the answer and the form stands below the window.
    static IS_BELOW: Cell<bool> = const { Cell::new(false) };
    static WAITING: RefCell<Option<Element>> = const { RefCell::new(None) };
}

/// Whether any of the element with that id is in the window.
pub fn is_in_sight(id: &str) -> bool {
    let Some(place) = document().get_element_by_id(id).map(|element| element.get_bounding_client_rect()) else { return false };
    let height = window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(0.0);
    place.width() > 0.0 && place.bottom() > 0.0 && place.top() < height
}

/// Calls back now and whenever an element comes into the window or leaves it, so much larger as the margin says.
///
/// # Errors
///
/// In a browser that cannot tell.
pub fn observe(place: &Element, margin: &str, mut seen: impl FnMut(IntersectionObserverEntry) + 'static) -> Result<(), JsValue> {
    let seen = Closure::<dyn FnMut(js_sys::Array)>::new(move |entries: js_sys::Array| {
        entries.iter().last().and_then(|entry| entry.dyn_into().ok()).into_iter().for_each(&mut seen);
    });
    let options = IntersectionObserverInit::new();
    options.set_root_margin(margin);
    let observer = IntersectionObserver::new_with_options(seen.as_ref().unchecked_ref(), &options)?;
    observer.observe(place);
    seen.forget();
    Ok(())
}

/// From now on it is known whether what follows the answer is below the window. The browser tells when it comes or goes, because asking
/// it would make it lay out what has just been written.
pub fn keep_below() {
    if let Some(below) = below() {
        // A browser that cannot tell draws everything at once.
        let _ = observe(&below, "0px", |entry| {
            IS_BELOW.set(!entry.is_intersecting() && entry.bounding_client_rect().top() > 0.0);
            if entry.is_intersecting() {
                go_on();
            }
        });
    }
}

/// What stands below the window waits from now on.
pub fn wait() {
    if !IS_BELOW.get() {
        return;
    }
    let Some(below) = below() else { return };
    if !below.contains(document().active_element().as_deref()) && below.set_attribute(WAITS, "").is_ok() {
        WAITING.replace(Some(below));
    }
}

/// Nothing waits any longer.
pub fn go_on() {
    if let Some(below) = WAITING.take() {
        let _ = below.remove_attribute(WAITS);
    }
}

fn below() -> Option<Element> {
    document().query_selector(".below").ok().flatten()
}
