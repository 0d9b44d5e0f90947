//! Ways out of the page: copies in the clipboard and files to download.

use super::after;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

/// Calls back with what a promise gives, or nothing where it fails.
pub(super) fn settled(promise: js_sys::Promise, done: Box<dyn FnOnce(Option<JsValue>)>) {
    wasm_bindgen_futures::spawn_local(async move {
        done(wasm_bindgen_futures::JsFuture::from(promise).await.ok());
    });
}

/// Copies text; tells whether that worked.
pub fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &JsValue::from_str("clipboard"))
        .unwrap_or(JsValue::UNDEFINED);
    if clipboard.is_undefined() {
        done(false);
        return;
    }
    let promise = window().navigator().clipboard().write_text(text);
    settled(promise.unchecked_into(), Box::new(|copied| done(copied.is_some())));
}

/// Hands a text file to the browser's downloads.
pub fn download(name: &str, mime: &str, text: &str) {
    let _ = try_download(name, mime, text);
}

pub(super) fn try_download(name: &str, mime: &str, text: &str) -> Result<(), JsValue> {
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(mime);
    let parts = js_sys::Array::of1(&JsValue::from_str(text));
    let blob = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options)?;
    let address = web_sys::Url::create_object_url_with_blob(&blob)?;
    let anchor: web_sys::HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    anchor.set_href(&address);
    anchor.set_download(name);
    anchor.click();
    after(10_000, move || {
        let _ = web_sys::Url::revoke_object_url(&address);
    });
    Ok(())
}
