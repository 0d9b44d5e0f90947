//! The part of the page in sight, and the part below the window, which is laid out right after the picture of a change instead of before
//! it.
//!
//! The browser leaves out on its own what is further away than a window and a half; what begins just below the window would take a sixth
//! of the time until the answer can be seen. Its words are written with all others. Only what is *below* waits, because nothing in sight
//! moves when it grows; and never what has the focus.

use std::cell::{Cell, RefCell};

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

use super::{LEAF, after, document, focus, on, window};
use crate::view::action::Action;
use crate::view::panels::sections::Section;

/// The attribute of a place whose parts wait; `fields.css` says how.
const WAITS: &str = "data-waits";

/// The place that waits below the window, and the landing that is under way.
pub(super) struct Sight {
    /// The place of all that follows the answer and the form, while it stands below the window.
    below: RefCell<Option<Element>>,
    waiting: RefCell<Option<Element>>,
    /// The number of the landing that is under way: a later one, or a move of the reader's own, ends it.
    landing: Cell<u32>,
    listens: Cell<bool>,
}

impl Sight {
    pub(super) const fn new() -> Self {
        Self { below: RefCell::new(None), waiting: RefCell::new(None), landing: Cell::new(0), listens: Cell::new(false) }
    }
}

fn with<T>(act: impl FnOnce(&Sight) -> T) -> T {
    LEAF.with(|leaf| act(&leaf.sight))
}

/// How often a landing looks whether its heading moved, and for how long: panels are fetched when they come near and grow then.
const LOOK_MS: u32 = 100;
const LOOKS: u32 = 60;

/// True if any of the element with that id is in the window.
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
        with(|sight| sight.below.replace(is_below.then(|| place.clone())));
        if entry.is_intersecting() {
            go_on();
        }
    });
}

/// From now on the bar of sections marks the one that is read: that which crosses the upper third of the window.
pub fn follow_sections() {
    for section in Section::ALL {
        let place = document().get_element_by_id(section.id()).and_then(|place| place.closest("section").ok().flatten());
        if let Some(place) = place {
            let seen = move |entry: IntersectionObserverEntry| {
                if entry.is_intersecting() {
                    mark_section(section);
                }
            };
            let _ = observe(&place, "-25% 0px -70% 0px", seen);
        }
    }
}

/// Marks a section in the bar, and no other.
fn mark_section(section: Section) {
    let Ok(items) = document().query_selector_all(".sections__item") else { return };
    let action = Action::GoTo(section).write();
    for item in (0..items.length()).filter_map(|index| items.get(index)?.dyn_into::<Element>().ok()) {
        let _ = if item.get_attribute("data-do").as_ref() == Some(&action) {
            item.set_attribute("aria-current", "true")
        } else {
            item.remove_attribute("aria-current")
        };
    }
}

/// The part below the window waits from now on.
pub fn wait() {
    let Some(below) = with(|sight| sight.below.borrow().clone()) else { return };
    if !below.contains(document().active_element().as_deref()) && below.set_attribute(WAITS, "").is_ok() {
        with(|sight| sight.waiting.replace(Some(below)));
    }
}

/// Nothing waits any longer.
pub fn go_on() {
    if let Some(below) = with(|sight| sight.waiting.take()) {
        let _ = below.remove_attribute(WAITS);
    }
}

/// Moves the focus into a panel and its section's heading to the top of the window. It stays there while panels above it still grow, until
/// the reader does something.
pub fn land_on(id: &str) {
    focus(id);
    let section = document().get_element_by_id(id).and_then(|place| place.closest("section").ok().flatten());
    let Some(section) = section else { return };
    let number = end_landing();
    if !with(|sight| sight.listens.replace(true)) {
        for kind in ["wheel", "touchmove", "pointerdown", "keydown"] {
            on(kind, |_| _ = end_landing());
        }
    }
    section.scroll_into_view();
    let place = Place::of(&section);
    stay(section, number, LOOKS, (place, false));
}

/// Ends a landing that is under way, and gives the number of the next one.
fn end_landing() -> u32 {
    with(|sight| {
        let next = sight.landing.get().wrapping_add(1);
        sight.landing.set(next);
        next
    })
}

/// Where the window and a section stand on the page, and how high the page is, in CSS pixels.
#[derive(Clone, Copy)]
struct Place {
    window: f64,
    section: f64,
    height: i32,
}

impl Place {
    fn of(section: &Element) -> Self {
        let window = self::window().scroll_y().unwrap_or(0.0);
        Self {
            window,
            section: window + section.get_bounding_client_rect().top(),
            height: document().document_element().map_or(0, |page| page.scroll_height()),
        }
    }

    /// True if the window was moved since then over a page on which nothing else did.
    fn was_scrolled(self, now: Self) -> bool {
        let is_same = |was: f64, is: f64| (is - was).abs() <= 1.0;
        !is_same(self.window, now.window) && is_same(self.section, now.section) && self.height == now.height
    }
}

/// Brings the section back to the top whenever the page above it has grown. A reader who drags the scroll bar, which tells of nothing else,
/// moves the window at two looks in a row; a browser moves it once, where the page is short for a moment.
fn stay(section: Element, number: u32, looks: u32, (was, had_scrolled): (Place, bool)) {
    after(LOOK_MS, move || {
        let has_scrolled = was.was_scrolled(Place::of(&section));
        let is_left = has_scrolled && had_scrolled;
        if looks > 0 && with(|sight| sight.landing.get()) == number && !is_left {
            section.scroll_into_view();
            let place = Place::of(&section);
            stay(section, number, looks - 1, (place, has_scrolled));
        }
    });
}
