//! Storage of this browser: the theme and the saved scenarios.

use gloo_events::EventListener;
use gloo_storage::{LocalStorage, Storage as _};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::StorageEvent;

use super::clock_ms;
use super::json::Json;
use crate::scenario::records::{self, KEY_PREFIX, RecordError, SavedScenario};
use crate::units::sort_short;
use crate::view::ui::Saved;

const THEME: &str = "headroom:theme";

// ---- theme ----

/// The theme the reader chose: `light`, `dark`, or nothing to follow the system.
pub fn saved_theme() -> Option<String> {
    storage()?.get_item(THEME).ok().flatten().filter(|theme| theme == "light" || theme == "dark")
}

/// True if the page is dark now.
pub fn is_dark() -> bool {
    saved_theme().map_or_else(
        || {
            window()
                .match_media("(prefers-color-scheme: dark)")
                .ok()
                .flatten()
                .is_some_and(|query| query.matches())
        },
        |theme| theme == "dark",
    )
}

/// From light to dark, or back.
pub fn switch_theme() {
    set_theme(if is_dark() { "light" } else { "dark" });
}

/// Shows that theme, and keeps it where the browser allows.
pub fn set_theme(theme: &str) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-theme", theme);
    }
    if let Some(storage) = storage() {
        let _ = storage.set_item(THEME, theme);
    }
}

// ---- saved scenarios ----

pub(super) fn storage() -> Option<web_sys::Storage> {
    // Asking the window first: gloo throws where storage is forbidden.
    window().local_storage().ok().flatten().map(|_| LocalStorage::raw())
}

/// The keys that begin like that.
pub(super) fn keys_of(storage: &web_sys::Storage, prefix: &str) -> Vec<String> {
    let count = storage.length().unwrap_or_default();
    let keys = (0..count).filter_map(|index| storage.key(index).ok().flatten());
    keys.filter(|key| key.starts_with(prefix)).collect()
}

/// Moves a text that cannot be read to a key of its own, so that nothing is lost.
pub(super) fn set_aside(storage: &web_sys::Storage, key: &str, text: &str) {
    if storage.set_item(&records::quarantine_key(key, clock_ms()), text).is_ok() {
        let _ = storage.remove_item(key);
    }
}

/// Removes what stands under a key.
pub(super) fn remove(key: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(key);
    }
}

/// Reads all saved scenarios. What cannot be read moves to a key of its own, so that nothing is
/// lost.
pub fn saved() -> Saved {
    let Some(storage) = storage() else { return Saved::default() };
    let mut saved = Saved { available: true, ..Saved::default() };
    for key in keys_of(&storage, KEY_PREFIX) {
        // A record that cannot be fetched now may be there next time: it stays where it is.
        let Ok(Some(text)) = storage.get_item(&key) else {
            saved.available = false;
            continue;
        };
        match records::read_record::<Json>(&text) {
            Ok(record) => saved.scenarios.push(record),
            Err(problem) => {
                saved.set_aside = saved.set_aside.saturating_add(1);
                // A newer version's record is not corrupt: it stays where that version finds it.
                if matches!(problem, RecordError::Malformed(_)) {
                    set_aside(&storage, &key, &text);
                }
            }
        }
    }
    sort_short(&mut saved.scenarios, |a, b| (b.saved_at_ms, &a.id) < (a.saved_at_ms, &b.id));
    saved
}

/// Writes one scenario under its own key and reads it back.
///
/// # Errors
/// A sentence for the reader: nothing was stored.
pub fn save(record: &SavedScenario) -> Result<(), String> {
    keep(&record.storage_key(), &records::to_json(record))
}

/// Writes a text under a key and reads it back.
///
/// # Errors
/// A sentence for the reader: nothing was stored.
pub(super) fn keep(key: &str, text: &str) -> Result<(), String> {
    const FORBIDDEN: &str =
        "This browser does not let the page store anything. Download it, or keep the link.";
    const FULL: &str = "The browser's storage is full, so this was not saved. Download it, or \
        delete something that was saved.";
    let storage = storage().ok_or(FORBIDDEN)?;
    storage.set_item(key, text).map_err(|_| FULL)?;
    let kept = storage.get_item(key).ok().flatten();
    if kept.as_deref() == Some(text) { Ok(()) } else { Err(FULL.to_owned()) }
}

/// The scenario stored under that id now; another tab may have changed it.
pub fn stored(id: &str) -> Option<SavedScenario> {
    let text = storage()?.get_item(&format!("{KEY_PREFIX}{id}")).ok().flatten()?;
    records::read_record::<Json>(&text).ok()
}

/// Removes one scenario.
pub fn forget(id: &str) {
    remove(&format!("{KEY_PREFIX}{id}"));
}

/// A new id that no other tab has: the time, and 32 random bits for two tabs saving in the same
/// millisecond.
pub fn new_id() -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "random() is at least 0 and below 1"
    )]
    let random = (js_sys::Math::random() * 4_294_967_296.0) as u32;
    records::new_id(clock_ms(), random)
}

/// Calls back when another tab changed the saved scenarios.
pub fn on_storage_change(changed: impl Fn() + 'static) {
    let listener = EventListener::new(&window(), "storage", move |event| {
        let key = event.dyn_ref::<StorageEvent>().and_then(StorageEvent::key);
        if key.is_none_or(|key| key.starts_with(KEY_PREFIX)) {
            changed();
        }
    });
    listener.forget();
}
