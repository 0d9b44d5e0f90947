//! The browser: the only folder that touches web-sys and storage.
//!
//! Everything here can fail in some browser, and nothing here may stop the page: failures are
//! values or do nothing.

mod events;
mod files;
mod handing;
mod json;
mod parts;
mod patch;
mod sight;
mod stage;
mod storage;

use std::cell::RefCell;

use gloo_events::{EventListener, EventListenerOptions};
use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
pub use web_sys::{Element, Event};
use web_sys::{HtmlElement, KeyboardEvent};

pub use self::events::{
    around, capture_pointer, happen_again, is_captured, is_checked, is_unfolded, key_of, named,
    of_target, on, pointer_share, select_all, value_of, within,
};
pub use self::files::{are_of_a_model, read_beginnings};
use self::handing::settled;
pub use self::handing::{copy, download};
pub use self::json::Json;
pub use self::parts::{
    announce, fill_inputs, keep_dialogs, keep_link, keep_painted, keep_standing, keep_title,
    keep_worded, link_rests, on_rest, place_cursor, put, show,
};
pub use self::patch::patch_inside;
pub use self::sight::{bring_up, follow_sections, is_in_sight, keep_below, land_on, observe};
pub use self::stage::{
    all, attribute, forget_story, has_modifier, is_wide, keep_story, mark, marked, set_hidden,
    set_story_aside, set_text, show_step, steps_that_ask, stories, targets, unfold, unfold_for,
};
pub use self::storage::{
    forget, is_dark, new_id, on_storage_change, save, saved, saved_theme, set_theme, stored,
    switch_theme,
};
use crate::scenario::codec::{encode_all, with_page_parts};
use crate::view::history::UndoStep;

/// The state of the page's leaf between two events: handles of the browser, and the link that it
/// wrote last. They belong to the one thread that has a document and may not leave it, so that no
/// signal can hold them.
struct Leaf {
    /// The link in the address bar.
    written_link: RefCell<String>,
    rests: parts::Rests,
    sight: sight::Sight,
    /// The tone that sounds, and the timer that ends it.
    tone: RefCell<Option<(web_sys::AudioContext, Timeout)>>,
}

thread_local! {
    /// The one place for them, rather than one beside each function.
    static LEAF: Leaf = const {
        Leaf { written_link: RefCell::new(String::new()), rests: parts::Rests::new(),
            sight: sight::Sight::new(), tone: RefCell::new(None) }
    };
}

/// The tone that sounded until now, with its timer; another one takes its place.
pub fn replace_tone(
    tone: Option<(web_sys::AudioContext, Timeout)>,
) -> Option<(web_sys::AudioContext, Timeout)> {
    LEAF.with(|leaf| leaf.tone.replace(tone))
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
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the exact, positive range"
    )]
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

/// The element of the whole page; made where the HTML has none.
pub fn root() -> Option<HtmlElement> {
    let root = document().get_element_by_id("app").or_else(|| {
        let root = document().create_element("div").ok()?;
        root.set_id("app");
        document().body()?.append_child(&root).ok()?;
        Some(root)
    });
    root?.dyn_into().ok()
}

/// True if the page stands inside another one; guard.js says so before the first picture.
pub fn is_embedded() -> bool {
    document().document_element().is_some_and(|root| root.has_attribute("data-embed"))
}

/// Says on the page that its headline is the link's, where guard.js said that the one in the HTML
/// is not.
pub fn headline_stands() {
    if marked("data-link").is_some() {
        mark("data-link", Some("rest"));
    }
}

/// Says on the page that the program runs.
pub fn is_live() {
    if let Some(root) = root() {
        let _ = root.set_attribute("data-live", "true");
    }
}

/// Prints a panic and shows the static overlay of index.html, which needs nothing from this program
/// any more.
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
pub fn fragment_of(said: &UndoStep) -> String {
    encode_all(&said.scenario, &said.compare)
}

/// The link in the address bar is the scenario's.
pub(super) fn link_is_written() {
    LEAF.with(|leaf| leaf.written_link.replace(fragment()));
}

fn write_link(link: &str) {
    let link = &with_page_parts(link, &fragment());
    let same = LEAF.with(|leaf| *leaf.written_link.borrow() == *link);
    if same {
        return;
    }
    let written = window().history().and_then(|history| {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{link}")))
    });
    if written.is_ok() {
        LEAF.with(|leaf| leaf.written_link.replace(link.clone()));
    }
}

/// Calls back with the new fragment when somebody pastes another link or goes back; our own writes
/// do not count.
pub fn on_link_change(open: impl Fn(String) + 'static) {
    let check = move || {
        let link = fragment();
        let own = LEAF.with(|leaf| *leaf.written_link.borrow() == link);
        if own {
            return;
        }
        self::parts::link_stays();
        LEAF.with(|leaf| leaf.written_link.replace(link.clone()));
        open(link);
    };
    EventListener::new(&window(), "hashchange", move |_| check()).forget();
}

// ---- keys, focus, print ----

/// Texts whose steps of undo are the browser's own.
const OWN_TEXT: &str =
    "textarea:not(.field__input--paste:placeholder-shown), input:not([data-field])";

/// Undo and redo by keyboard: Ctrl or Cmd with Z, Shift+Z or Y. In a text that is none of the
/// scenario's inputs, such as a story's, the keys are the browser's own; not so in the field for
/// pasting while it is empty, which keeps the focus after its text has changed the scenario.
pub fn on_undo_keys(undo: impl Fn() + 'static, redo: impl Fn() + 'static) {
    let options = EventListenerOptions::enable_prevent_default();
    let listener = EventListener::new_with_options(&document(), "keydown", options, move |event| {
        let own_text = || around(event, OWN_TEXT).is_some();
        let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
        if !(event.ctrl_key() || event.meta_key()) || event.alt_key() || own_text() {
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

/// Calls back before the page is printed, and once it has been.
pub fn around_print(before: impl Fn() + 'static, after: impl Fn() + 'static) {
    EventListener::new(&window(), "beforeprint", move |_| before()).forget();
    EventListener::new(&window(), "afterprint", move |_| after()).forget();
}

/// The size of an element, CSS pixels; nothing while it is not shown.
pub fn size_of(id: &str) -> Option<(u16, u16)> {
    let area = document().get_element_by_id(id)?.get_bounding_client_rect();
    let whole = |length: f64| format!("{length:.0}").parse::<u16>().ok();
    Some((whole(area.width())?, whole(area.height())?))
        .filter(|(width, height)| *width > 0 && *height > 0)
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

/// True if there is an element with that id.
#[must_use]
pub fn is_there(id: &str) -> bool {
    document().get_element_by_id(id).is_some()
}

/// Moves the focus to the element with that id.
pub fn focus(id: &str) {
    sight::go_on();
    if let Some(element) =
        document().get_element_by_id(id).and_then(|element| element.dyn_into::<HtmlElement>().ok())
    {
        let _ = element.focus();
    }
}

/// Scrolls a list so far that the entry with that id is in sight, with its heading where it is the
/// first of a group; the list must be its offset parent.
pub fn reveal(id: &str) {
    let html = |element: Element| element.dyn_into::<HtmlElement>().ok();
    let entry = document().get_element_by_id(id).and_then(html);
    let list = entry
        .as_ref()
        .and_then(|entry| entry.closest("[role=listbox]").ok().flatten())
        .and_then(html);
    let (Some(entry), Some(list)) = (entry, list) else { return };
    fit(&list);
    let heading = entry
        .previous_element_sibling()
        .filter(|before| !before.has_attribute("data-pick"))
        .and_then(html);
    let top = heading.map_or_else(|| entry.offset_top(), |heading| heading.offset_top());
    let bottom = entry.offset_top().saturating_add(entry.offset_height());
    if top < list.scroll_top() {
        list.set_scroll_top(top);
    } else if bottom > list.scroll_top().saturating_add(list.client_height()) {
        list.set_scroll_top(bottom.saturating_sub(list.client_height()));
    }
}

/// Makes a list no higher than the room below it, in the window and in the panel that scrolls
/// around it. Where there is hardly any, its field goes to the top first.
fn fit(list: &HtmlElement) {
    const LEAST: f64 = 220.0;
    let room = || {
        let window =
            window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or(f64::MAX);
        let panel = list
            .closest(".controls")
            .ok()
            .flatten()
            .map_or(f64::MAX, |panel| panel.get_bounding_client_rect().bottom());
        window.min(panel) - list.get_bounding_client_rect().top() - 8.0
    };
    let places = list.parent_element().zip(list.closest(".controls").ok().flatten());
    if let Some((field, panel)) = places.filter(|_| room() < LEAST) {
        // The panel first: where it scrolls by itself, the page need not move.
        let above =
            field.get_bounding_client_rect().top() - panel.get_bounding_client_rect().top() - 40.0;
        panel.scroll_by_with_x_and_y(0.0, above);
        if room() < LEAST {
            field.scroll_into_view_with_bool(true);
        }
    }
    let _ =
        list.style().set_property("max-height", &format!("{:.0}px", room().clamp(LEAST, 420.0)));
}

fn area(id: &str) -> Option<web_sys::HtmlTextAreaElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

/// Selects all text of a text area, for copying by hand.
pub fn select(id: &str) {
    if let Some(area) = area(id) {
        let _ = area.focus();
        area.select();
    }
}

/// The text of the text area with that id.
pub fn text_in(id: &str) -> String {
    area(id).map(|area| area.value()).unwrap_or_default()
}

/// Prints the page.
pub fn print() {
    let _ = window().print();
}

/// The text of the input with that id.
pub fn value_in(id: &str) -> String {
    let input = document()
        .get_element_by_id(id)
        .and_then(|element| element.dyn_into::<web_sys::HtmlInputElement>().ok());
    input.map(|input| input.value()).unwrap_or_default()
}

/// The values of the inputs inside the element with that id: a line `name=value` for each, of boxes
/// for the ticked ones.
pub fn typed_in(id: &str) -> String {
    let Ok(inputs) = document().query_selector_all(&format!("#{id} [name]")) else {
        return String::new();
    };
    let mut lines = String::new();
    for input in
        (0..inputs.length()).filter_map(|index| inputs.get(index)?.dyn_into::<Element>().ok())
    {
        let of =
            |name: &str| js_sys::Reflect::get(&input, &JsValue::from_str(name)).unwrap_or_default();
        let is_box = matches!(input.get_attribute("type").as_deref(), Some("checkbox" | "radio"));
        if !is_box || of("checked").is_truthy() {
            let (name, value) = (
                input.get_attribute("name").unwrap_or_default(),
                of("value").as_string().unwrap_or_default(),
            );
            for part in [&name, "=", &value.replace('\n', " "), "\n"] {
                lines.push_str(part);
            }
        }
    }
    lines
}

// ---- clipboard and files ----

/// The file chosen in an input, unless it is larger than `most` megabytes.
fn chosen(
    event: &web_sys::Event,
    most: f64,
) -> Option<Result<(web_sys::HtmlInputElement, web_sys::File), String>> {
    let input: web_sys::HtmlInputElement = event.target()?.dyn_into().ok()?;
    let file = input.files()?.get(0)?;
    let too_large = || {
        format!(
            "This file is larger than {most} MB, so it is not one of ours. Choose a smaller file."
        )
    };
    Some(if file.size() > most * 1.0e6 { Err(too_large()) } else { Ok((input, file)) })
}

/// True if the file chosen in an input is a pickle, by its name.
pub fn is_pickle(event: &web_sys::Event) -> bool {
    let name = chosen(event, f64::INFINITY)
        .and_then(Result::ok)
        .map(|(_, file)| file.name().to_ascii_lowercase());
    name.is_some_and(|name| [".pickle", ".pkl"].iter().any(|ending| name.ends_with(ending)))
}

/// Reads the bytes of the file chosen in an input as base64, at most 64 MB.
pub fn read_bytes(event: &web_sys::Event, done: impl FnOnce(Result<String, String>) + 'static) {
    let (input, file) = match chosen(event, 64.0) {
        Some(Ok(found)) => found,
        Some(Err(problem)) => return done(Err(problem)),
        None => return,
    };
    let unread = || "The browser could not read this file. Try to choose it again.".to_owned();
    let Ok(reader) = web_sys::FileReader::new() else { return done(Err(unread())) };
    let result = reader.clone();
    gloo_events::EventListener::once(&reader, "loadend", move |_| {
        // `data:application/octet-stream;base64,…`
        let address = result.result().ok().and_then(|address| address.as_string());
        done(
            address
                .and_then(|address| Some(address.split_once(',')?.1.to_owned()))
                .ok_or_else(unread),
        );
    })
    .forget();
    let _ = reader.read_as_data_url(&file); // what fails ends with the event, too
    input.set_value("");
}

/// Reads the text of the file chosen in an input, at most 4 MB.
pub fn read_file(event: &web_sys::Event, done: impl FnOnce(Result<String, String>) + 'static) {
    let (input, file) = match chosen(event, 4.0) {
        Some(Ok(found)) => found,
        Some(Err(problem)) => return done(Err(problem)),
        None => return,
    };
    let promise = file.text();
    input.set_value("");
    settled(
        promise.unchecked_into(),
        Box::new(|text| {
            let text = text.and_then(|text| text.as_string());
            done(text.ok_or_else(|| {
                "The browser could not read this file. Try to choose it again.".to_owned()
            }));
        }),
    );
}
