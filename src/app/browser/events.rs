//! Events of the page: what they are about, their keys and values, and pointers.

use gloo_events::{EventListener, EventListenerOptions, EventListenerPhase};
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, Event, KeyboardEvent};

/// Calls back for every event of that kind on the page, also for those that do not bubble.
pub fn on(kind: &'static str, handle: impl Fn(&Event) + 'static) {
    let options = EventListenerOptions { phase: EventListenerPhase::Capture, passive: false };
    EventListener::new_with_options(&document(), kind, options, move |event| handle(event))
        .forget();
}

/// The element that an event is about, or the one around it, that has that attribute.
pub fn within(event: &Event, attribute: &str) -> Option<Element> {
    around(event, &format!("[{attribute}]"))
}

/// The element of that kind that an event is about, or the one around it.
pub fn around(event: &Event, selector: &str) -> Option<Element> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest(selector).ok().flatten()
}

/// An event of that kind happens to an element again; the browser itself does nothing then.
pub fn happen_again(kind: &str, element: &Element) {
    let init = web_sys::EventInit::new();
    init.set_bubbles(true);
    if let Ok(event) = Event::new_with_event_init_dict(kind, &init) {
        let _ = element.dispatch_event(&event);
    }
}

/// That attribute of the element that an event is about, or of the one around it.
pub fn named(event: &Event, attribute: &str) -> Option<String> {
    within(event, attribute)?.get_attribute(attribute)
}

/// That attribute of the very element that an event is about.
pub fn of_target(event: &Event, attribute: &str) -> Option<String> {
    event.target()?.dyn_into::<Element>().ok()?.get_attribute(attribute)
}

/// The key that was pressed.
pub fn key_of(event: &Event) -> Option<String> {
    event.dyn_ref::<KeyboardEvent>().map(KeyboardEvent::key)
}

/// A property of the element that an event is about.
pub(super) fn property(event: &Event, name: &str) -> JsValue {
    let target = event.target().map(JsValue::from).unwrap_or_default();
    js_sys::Reflect::get(&target, &JsValue::from_str(name)).unwrap_or_default()
}

/// The text of the input that an event is about.
pub fn value_of(event: &Event) -> String {
    property(event, "value").as_string().unwrap_or_default()
}

/// True if the box that an event is about is ticked.
pub fn is_checked(event: &Event) -> bool {
    property(event, "checked").is_truthy()
}

/// Selects everything in the input that an event is about.
pub fn select_all(event: &Event) {
    if let Some(input) =
        event.target().and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok())
    {
        input.select();
    }
}

/// True if the `details` that an event is about is open.
pub fn is_unfolded(event: &Event) -> bool {
    of_target(event, "open").is_some()
}

/// How far into an element a pointer is: 0 left, 1 right.
pub fn pointer_share(element: &Element, event: &Event) -> Option<f64> {
    let event = event.dyn_ref::<web_sys::PointerEvent>()?;
    let area = element.get_bounding_client_rect();
    (area.width() > 0.0).then(|| (f64::from(event.client_x()) - area.left()) / area.width())
}

/// True if the pointer was pressed on this element and not released since.
pub fn is_captured(element: &Element, event: &Event) -> bool {
    event
        .dyn_ref::<web_sys::PointerEvent>()
        .is_some_and(|event| element.has_pointer_capture(event.pointer_id()))
}

/// Keeps pointer events on this element until the button is released.
pub fn capture_pointer(element: &Element, event: &Event) {
    if let Some(event) = event.dyn_ref::<web_sys::PointerEvent>() {
        let _ = element.set_pointer_capture(event.pointer_id());
    }
}
