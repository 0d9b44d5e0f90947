//! The leaves of the page: effects that put what is known in place, and nothing else.

use std::any::Any;
use std::cell::RefCell;

use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement, HtmlElement};

use super::patch::{patch, shown};
use super::{current_fragment, link_is_written, link_rests};
use crate::app::markup::Html;
use crate::app::state::State;

/// How long the answer rests before what stands far below it follows.
const REST_MS: u32 = 120;
/// How long a text rests before screen readers hear it, so that dragging does not talk over itself.
const SAY_MS: u32 = 700;

/// Runs now and whenever what it reads has changed. Boxed, so that the machinery exists once.
fn effect(mut run: Box<dyn FnMut()>) {
    Effect::new(move |_: Option<()>| run());
}

/// Writes a part of the page once.
pub fn put(name: &str, html: &Html) {
    if let Some(element) = place(name) {
        patch(&element, &mut shown(&element), html);
    }
}

/// The element of that part of the page.
fn place(name: &str) -> Option<Element> {
    document().query_selector(&format!("[data-own=\"{name}\"]")).ok().flatten()
}

/// Keeps a part of the page what the HTML says; calls back after each change of it.
pub fn show(name: &'static str, html: Box<dyn Fn() -> Html>, changed: fn(State, &Element), state: State) {
    let Some(element) = place(name) else { return };
    let mut last = shown(&element);
    let mut first = true;
    effect(Box::new(move || {
        let html = html();
        if std::mem::take(&mut first) || html.as_str() != last.as_str() {
            patch(&element, &mut last, &html);
            untrack(|| changed(state, &element));
        }
    }));
}

thread_local! {
    /// Places with the components mounted in them.
    static MOUNTED: RefCell<Vec<(Element, Box<dyn Any>)>> = const { RefCell::new(Vec::new()) };
}

/// Mounts an input in each place below an element that has none yet, and lets go of those that have left the page.
pub fn make_inputs(state: State, element: &Element, make: fn(State, String) -> Option<AnyView>) {
    let gone: Vec<_> = MOUNTED.with_borrow_mut(|mounted| mounted.extract_if(.., |(place, _)| !place.is_connected()).collect());
    drop(gone);
    let Ok(places) = element.query_selector_all("[data-own^=input-]") else { return };
    for place in (0..places.length()).filter_map(|index| places.get(index)?.dyn_into::<HtmlElement>().ok()) {
        let known = MOUNTED.with_borrow(|mounted| mounted.iter().any(|(known, _)| known.is_same_node(Some(&place))));
        let name = place.get_attribute("data-own").unwrap_or_default();
        let Some(key) = name.strip_prefix("input-").filter(|_| !known).map(str::to_owned) else { continue };
        let Some(owner) = &state.owner else { continue };
        // What the HTML showed until here goes.
        place.set_inner_html("");
        let parent = place.clone();
        let handle = owner.with(|| leptos::mount::mount_to(parent, move || make(state, key)));
        MOUNTED.with_borrow_mut(|mounted| mounted.push((place.into(), Box::new(handle))));
    }
}

/// Puts the line of a curve's cursor where it belongs, per cent of the width; away where it belongs nowhere. Not as HTML, because
/// the content security policy allows no inline style.
pub fn place_cursor(name: &'static str, left: Box<dyn Fn() -> Option<f64>>) {
    effect(Box::new(move || {
        let left = left();
        let Some(line) = place(name).and_then(|line| line.dyn_into::<HtmlElement>().ok()) else { return };
        line.set_hidden(left.is_none());
        if let Some(left) = left {
            let _ = line.style().set_property("left", &format!("{left:.2}%"));
        }
    }));
}

/// Once the scenario rests, its link stands in the address bar.
pub fn keep_link(state: State) {
    link_is_written();
    let mut first = true;
    effect(Box::new(move || {
        let link = current_fragment(state);
        if !std::mem::take(&mut first) {
            link_rests(link);
        }
    }));
}

/// Announces a text to screen readers once it rests, unless it is the first or none.
pub fn announce(text: Box<dyn Fn() -> String>) {
    thread_local! {
        static PENDING: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    }
    let mut last = None::<String>;
    effect(Box::new(move || {
        let text = text();
        let new = last.as_ref().is_some_and(|last| *last != text);
        last = Some(text.clone());
        if !new {
            return;
        }
        let timer = Timeout::new(SAY_MS, move || {
            if let Some(place) = document().get_element_by_id("announcer") {
                place.set_text_content(Some(&text));
            }
        });
        PENDING.with_borrow_mut(|pending| *pending = Some(timer));
    }));
}

/// Opens and closes the native dialogs, each with its id, with a condition.
pub fn keep_dialogs(id: Box<dyn Fn() -> String>) {
    effect(Box::new(move || {
        let id = id();
        let Ok(all) = document().query_selector_all("dialog") else { return };
        for dialog in (0..all.length()).filter_map(|index| all.get(index)?.dyn_into::<HtmlDialogElement>().ok()) {
            let wanted = dialog.id() == id;
            if wanted && !dialog.open() {
                let _ = dialog.show_modal();
            } else if !wanted && dialog.open() {
                dialog.close();
            }
        }
    }));
}

/// Counts up once what `watch` reads has rested: what stands far below the answer follows then, so that the answer paints sooner.
pub fn rested(watch: impl Fn() + 'static) -> ReadSignal<u32> {
    thread_local! {
        static PENDING: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    }
    let count = RwSignal::new(0_u32);
    let mut first = true;
    effect(Box::new(move || {
        watch();
        if std::mem::take(&mut first) {
            return;
        }
        let timer = Timeout::new(REST_MS, move || count.update(|count| *count = count.wrapping_add(1)));
        PENDING.with_borrow_mut(|pending| *pending = Some(timer));
    }));
    count.read_only()
}
