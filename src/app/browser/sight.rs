//! What of the page is in sight, and what stands below the window: it is laid out right after the picture of a change instead of before it.
//!
//! The browser leaves out on its own what is further away than a window and a half; what begins just below the window would take a sixth
//! of the time until the answer can be seen. Its words are written with all others. Only what is *below* waits, because nothing in sight
//! moves when it grows; and never what has the focus.

use std::cell::RefCell;

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

use super::{document, window};

/// The attribute of a place whose parts wait; `fields.css` says how.
const WAITS: &str = "data-waits";

thread_local! {
    /// The place of all that follows the answer and the form, while it stands below the window.
    static BELOW: RefCell<Option<Element>> = const { RefCell::new(None) };
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
        if let Some(entry) = entries.iter().last().and_then(|entry| entry.dyn_into().ok()) {
            seen(entry);
        }
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
    let Some(place) = document().query_selector(".below").ok().flatten() else { return };
    // A browser that cannot tell draws everything at once.
    let _ = observe(&place.clone(), "0px", move |entry| {
        let is_below = !entry.is_intersecting() && entry.bounding_client_rect().top() > 0.0;
        BELOW.set(is_below.then(|| place.clone()));
        if entry.is_intersecting() {
            go_on();
        }
    });
}

/// What stands below the window waits from now on.
pub fn wait() {
    let Some(below) = BELOW.with_borrow(Clone::clone) else { return };
    if !below.contains(document().active_element().as_deref()) && below.set_attribute(WAITS, "").is_ok() {
        WAITING.set(Some(below));
    }
}

/// Nothing waits any longer.
pub fn go_on() {
    if let Some(below) = WAITING.take() {
        let _ = below.remove_attribute(WAITS);
    }
}
