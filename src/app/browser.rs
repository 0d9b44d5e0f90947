//! The browser: the only file that touches web-sys and storage.
//!
//! Everything here can fail in some browser, and nothing here may stop the page: failures are values or do nothing.

use std::cell::RefCell;

use gloo_events::{EventListener, EventListenerOptions};
use gloo_storage::{LocalStorage, Storage as _};
use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{HtmlElement, KeyboardEvent, StorageEvent};

use super::state::State;
use crate::scenario::codec::{encode, encode_pair};
use crate::scenario::records::{self, KEY_PREFIX, RecordError, SavedScenario};

/// How long the scenario rests before its link is written: Safari allows about 100 writes in 30 seconds.
const LINK_REST_MS: u32 = 350;
/// How long the answer rests before what stands far below it follows.
const REST_MS: u32 = 120;
const THEME: &str = "headroom:theme";

thread_local! {
    static PENDING_LINK: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    static WRITTEN_LINK: RefCell<String> = const { RefCell::new(String::new()) };
}

// ---- time ----

/// Milliseconds since the page was opened.
pub fn now_ms() -> f64 {
    window().performance().map_or(0.0, |performance| performance.now())
}

/// Milliseconds since 1970.
pub fn clock_ms() -> u64 {
    let now = js_sys::Date::now();
    // A date before the year 300 000 fits in a u64 and is exact as a float.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the exact, positive range")]
    let whole = now.clamp(0.0, 9.0e15) as u64;
    whole
}

/// A moment as the reader's own date and time.
pub fn local_date(ms: u64) -> String {
    let date = js_sys::Date::new(&JsValue::from_f64(crate::units::to_f64(ms)));
    date.to_locale_string("en-GB", &JsValue::UNDEFINED).into()
}

/// Runs something later, once.
pub fn after(ms: u32, action: impl FnOnce() + 'static) {
    Timeout::new(ms, action).forget();
}

// ---- start ----

thread_local! {
    /// The place where the app is built, until it takes the frame's place.
    static HOST: RefCell<Option<HtmlElement>> = const { RefCell::new(None) };
}

/// A place to build the app beside the frame that the HTML shows until then; nothing on a page without frame.
pub fn host_beside_frame() -> Option<HtmlElement> {
    document().get_element_by_id("app")?;
    let host: HtmlElement = document().create_element("div").ok()?.dyn_into().ok()?;
    HOST.with(|place| place.replace(Some(host.clone())));
    Some(host)
}

/// Puts the app in the frame's place.
pub fn replace_frame() {
    let host = HOST.with(RefCell::take);
    let (Some(host), Some(frame)) = (host, document().get_element_by_id("app")) else { return };
    host.set_id("app");
    let _ = host.set_attribute("data-live", "true");
    let _ = frame.replace_with_with_node_1(&host);
}

/// Prints a panic and shows the static overlay of index.html, which needs nothing from this program any more.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        if let Some(overlay) = document().get_element_by_id("stopped") {
            let _ = overlay.remove_attribute("hidden");
        }
    }));
}

// ---- link ----

/// The fragment of the address, without `#`.
pub fn fragment() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.strip_prefix('#').map(str::to_owned).unwrap_or_default()
}

/// The full address of that fragment.
pub fn link_to(fragment: &str) -> String {
    let address = window().location().href().unwrap_or_default();
    let page = address.split('#').next().unwrap_or_default();
    format!("{page}#{fragment}")
}

/// The link of what is shown.
pub fn current_fragment(state: State) -> String {
    state.scenario.with(|scenario| {
        state.compare.with(|other| match other {
            Some(other) => encode_pair(scenario, other),
            None => encode(scenario),
        })
    })
}

/// The one effect of the page: once the scenario rests, its link stands in the address bar.
pub fn keep_link(state: State) {
    WRITTEN_LINK.with_borrow_mut(|written| *written = fragment());
    Effect::new(move |first: Option<()>| {
        let link = current_fragment(state);
        if first.is_none() {
            return;
        }
        // Replacing the timer cancels the one before.
        let timer = Timeout::new(LINK_REST_MS, move || write_link(&link));
        PENDING_LINK.with_borrow_mut(|pending| *pending = Some(timer));
    });
}

fn write_link(link: &str) {
    let same = WRITTEN_LINK.with_borrow(|written| written == link);
    if same {
        return;
    }
    let written =
        window().history().and_then(|history| history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{link}"))));
    if written.is_ok() {
        WRITTEN_LINK.with_borrow_mut(|last| link.clone_into(last));
    }
}

/// Calls back with the new fragment when somebody pastes another link or goes back; our own writes do not count.
pub fn on_link_change(open: impl Fn(String) + 'static) {
    let check = move || {
        let link = fragment();
        let own = WRITTEN_LINK.with_borrow(|written| *written == link);
        if own {
            return;
        }
        PENDING_LINK.with_borrow_mut(Option::take);
        WRITTEN_LINK.with_borrow_mut(|written| written.clone_from(&link));
        open(link);
    };
    EventListener::new(&window(), "hashchange", move |_| check()).forget();
}

// ---- keys, focus, print ----

/// Undo and redo by keyboard: Ctrl or Cmd with Z, Shift+Z or Y.
pub fn on_undo_keys(undo: impl Fn() + 'static, redo: impl Fn() + 'static) {
    let options = EventListenerOptions::enable_prevent_default();
    let listener = EventListener::new_with_options(&document(), "keydown", options, move |event| {
        let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
        if !(event.ctrl_key() || event.meta_key()) || event.alt_key() {
            return;
        }
        match (event.key().to_ascii_lowercase().as_str(), event.shift_key()) {
            ("z", false) => undo(),
            ("z", true) | ("y", false) => redo(),
            _ => return,
        }
        event.prevent_default();
    });
    listener.forget();
}

/// Announces a text to screen readers once it rests, so that dragging does not talk over itself.
pub fn announce(text: Memo<String>) {
    thread_local! {
        static PENDING: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    }
    Effect::new(move |first: Option<()>| {
        let text = text.get();
        if first.is_none() {
            return;
        }
        let timer = Timeout::new(700, move || {
            if let Some(place) = document().get_element_by_id("announcer") {
                place.set_text_content(Some(&text));
            }
        });
        PENDING.with_borrow_mut(|pending| *pending = Some(timer));
    });
}

/// Opens and closes a native dialog with a condition.
pub fn keep_dialog(node: NodeRef<leptos::html::Dialog>, open: impl Fn() -> bool + 'static) {
    Effect::new(move |_| {
        let open = open();
        let Some(dialog) = node.get() else { return };
        if open && !dialog.open() {
            let _ = dialog.show_modal();
        } else if !open && dialog.open() {
            dialog.close();
        }
    });
}

/// Counts up once what `watch` reads has rested: what stands far below the answer follows then, so that the answer paints sooner.
pub fn rested(watch: impl Fn() + 'static) -> ReadSignal<u32> {
    thread_local! {
        static PENDING: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    }
    let count = RwSignal::new(0_u32);
    Effect::new(move |first: Option<()>| {
        watch();
        if first.is_none() {
            return;
        }
        let timer = Timeout::new(REST_MS, move || count.update(|count| *count = count.wrapping_add(1)));
        PENDING.with_borrow_mut(|pending| *pending = Some(timer));
    });
    count.read_only()
}

/// Calls back before the page is printed.
pub fn before_print(prepare: impl Fn() + 'static) {
    EventListener::new(&window(), "beforeprint", move |_| prepare()).forget();
}

/// The size of an element, CSS pixels; nothing while it is not shown.
pub fn size_of(id: &str) -> Option<(u16, u16)> {
    let area = document().get_element_by_id(id)?.get_bounding_client_rect();
    let whole = |length: f64| format!("{length:.0}").parse::<u16>().ok();
    Some((whole(area.width())?, whole(area.height())?)).filter(|(width, height)| *width > 0 && *height > 0)
}

/// Calls back when the window has another size and has rested.
pub fn on_resize(changed: impl Fn() + Clone + 'static) {
    let pending = RefCell::new(None);
    let listener = EventListener::new(&window(), "resize", move |_| {
        let changed = changed.clone();
        *pending.borrow_mut() = Some(Timeout::new(150, changed));
    });
    listener.forget();
}

/// Moves the focus to the element with that id.
pub fn focus(id: &str) {
    if let Some(element) = document().get_element_by_id(id).and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = element.focus();
    }
}

/// Scrolls a list so far that the entry with that id is in sight; the list must be its offset parent.
pub fn reveal(id: &str) {
    let entry = document().get_element_by_id(id).and_then(|element| element.dyn_into::<HtmlElement>().ok());
    let Some((entry, list)) = entry.and_then(|entry| Some((entry.clone(), entry.parent_element()?))) else { return };
    let (top, bottom) = (entry.offset_top(), entry.offset_top().saturating_add(entry.offset_height()));
    if top < list.scroll_top() {
        list.set_scroll_top(top);
    } else if bottom > list.scroll_top().saturating_add(list.client_height()) {
        list.set_scroll_top(bottom.saturating_sub(list.client_height()));
    }
}

/// Selects all text of a text area, for copying by hand.
pub fn select(id: &str) {
    if let Some(area) = document().get_element_by_id(id).and_then(|area| area.dyn_into::<web_sys::HtmlTextAreaElement>().ok()) {
        let _ = area.focus();
        area.select();
    }
}

/// Prints the page.
pub fn print() {
    let _ = window().print();
}

/// How far into an element a pointer is: 0 left, 1 right.
pub fn pointer_share(event: &web_sys::PointerEvent) -> Option<f64> {
    let element: web_sys::Element = event.current_target()?.dyn_into().ok()?;
    let area = element.get_bounding_client_rect();
    (area.width() > 0.0).then(|| (f64::from(event.client_x()) - area.left()) / area.width())
}

/// Keeps pointer events on this element until the button is released.
pub fn capture_pointer(event: &web_sys::PointerEvent) {
    if let Some(element) = event.current_target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) {
        let _ = element.set_pointer_capture(event.pointer_id());
    }
}

// ---- clipboard and files ----

/// Copies text; tells whether that worked.
pub fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &JsValue::from_str("clipboard")).unwrap_or(JsValue::UNDEFINED);
    if clipboard.is_undefined() {
        done(false);
        return;
    }
    let promise = window().navigator().clipboard().write_text(text);
    wasm_bindgen_futures::spawn_local(async move {
        done(wasm_bindgen_futures::JsFuture::from(promise).await.is_ok());
    });
}

/// Hands a text file to the browser's downloads.
pub fn download(name: &str, mime: &str, text: &str) {
    let _ = try_download(name, mime, text);
}

fn try_download(name: &str, mime: &str, text: &str) -> Result<(), JsValue> {
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

/// Reads the text of the file chosen in an input, at most 4 MB.
pub fn read_file(event: &web_sys::Event, done: impl FnOnce(Result<String, String>) + 'static) {
    let input: Option<web_sys::HtmlInputElement> = event.target().and_then(|target| target.dyn_into().ok());
    let Some(input) = input else { return };
    let Some(file) = input.files().and_then(|files| files.get(0)) else { return };
    if file.size() > 4.0e6 {
        done(Err("This file is larger than 4 MB, so it is not one of ours. Choose a smaller file.".to_owned()));
        return;
    }
    let promise = file.text();
    input.set_value("");
    wasm_bindgen_futures::spawn_local(async move {
        let text = wasm_bindgen_futures::JsFuture::from(promise).await.ok().and_then(|text| text.as_string());
        done(text.ok_or_else(|| "The browser could not read this file. Try to choose it again.".to_owned()));
    });
}

// ---- theme ----

/// The theme the reader chose: `light`, `dark`, or nothing to follow the system.
pub fn saved_theme() -> Option<String> {
    storage()?.get_item(THEME).ok().flatten().filter(|theme| theme == "light" || theme == "dark")
}

/// Whether the page is dark now.
pub fn is_dark() -> bool {
    saved_theme().map_or_else(
        || window().match_media("(prefers-color-scheme: dark)").ok().flatten().is_some_and(|query| query.matches()),
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

/// All that local storage holds of ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Readable scenarios, the newest first.
    pub scenarios: Vec<SavedScenario>,
    /// How many unreadable ones were set aside.
    pub set_aside: usize,
    /// Whether the browser lets us store anything.
    pub available: bool,
}

fn storage() -> Option<web_sys::Storage> {
    // Asking the window first: gloo throws where storage is forbidden.
    window().local_storage().ok().flatten().map(|_| LocalStorage::raw())
}

/// Reads all saved scenarios. What cannot be read moves to a key of its own, so that nothing is lost.
pub fn saved() -> Saved {
    let Some(storage) = storage() else { return Saved::default() };
    let count = storage.length().unwrap_or_default();
    let keys: Vec<String> = (0..count).filter_map(|index| storage.key(index).ok().flatten()).collect();
    let mut saved = Saved { available: true, ..Saved::default() };
    for key in keys.iter().filter(|key| key.starts_with(KEY_PREFIX)) {
        // What cannot be fetched now may be there next time: it stays where it is.
        let Ok(Some(text)) = storage.get_item(key) else {
            saved.available = false;
            continue;
        };
        match records::from_json(&text) {
            Ok(record) => saved.scenarios.push(record),
            Err(problem) => {
                saved.set_aside = saved.set_aside.saturating_add(1);
                // A newer version's record is not corrupt: it stays where that version finds it.
                if matches!(problem, RecordError::Malformed(_))
                    && storage.set_item(&records::quarantine_key(key, clock_ms()), &text).is_ok()
                {
                    let _ = storage.remove_item(key);
                }
            }
        }
    }
    saved.scenarios.sort_by(|a, b| b.saved_at_ms.cmp(&a.saved_at_ms).then_with(|| a.id.cmp(&b.id)));
    saved
}

/// Writes one scenario under its own key and reads it back.
///
/// # Errors
/// A sentence for the reader: nothing was stored.
pub fn save(record: &SavedScenario) -> Result<(), String> {
    const FORBIDDEN: &str = "This browser does not let the page store anything. Download the scenarios, or keep the link.";
    const FULL: &str = "The browser's storage is full, so this was not saved. Download the scenarios, or delete some.";
    let storage = storage().ok_or(FORBIDDEN)?;
    let key = record.storage_key();
    let text = records::to_json(record);
    storage.set_item(&key, &text).map_err(|_| FULL)?;
    let kept = storage.get_item(&key).ok().flatten();
    if kept.as_deref() == Some(text.as_str()) { Ok(()) } else { Err(FULL.to_owned()) }
}

/// The scenario stored under that id now; another tab may have changed it.
pub fn stored(id: &str) -> Option<SavedScenario> {
    let text = storage()?.get_item(&format!("{KEY_PREFIX}{id}")).ok().flatten()?;
    records::from_json(&text).ok()
}

/// Removes one scenario.
pub fn forget(id: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(&format!("{KEY_PREFIX}{id}"));
    }
}

/// A new id that no other tab has: the time, and 32 random bits for two tabs saving in the same millisecond.
pub fn new_id() -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "random() is at least 0 and below 1")]
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
