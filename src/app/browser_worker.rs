//! The worker's side: answers the page's questions, one after the other.

use gloo_events::EventListener;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use super::more::answer;
use super::more::wire::READY;

/// Listens, and says so.
pub fn start() {
    console_error_panic_hook::set_once();
    let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() else { return };
    let place = scope.clone();
    let listener = EventListener::new(&scope, "message", move |event| {
        let message = event.dyn_ref::<MessageEvent>().and_then(|event| event.data().as_string());
        if let Some(reply) = message.and_then(|message| answer(&message)) {
            let _ = place.post_message(&JsValue::from_str(&reply));
        }
    });
    listener.forget();
    let _ = scope.post_message(&JsValue::from_str(READY));
}
