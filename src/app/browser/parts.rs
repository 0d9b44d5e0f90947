//! The leaves of the page: effects that put what is known in place, and nothing else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlDialogElement, HtmlElement};

use super::patch::{patch, shown};
use super::{
    LEAF, after, document, fragment_of, link_is_written, mark, now_ms, sight, window, write_link,
};
use crate::app::state::State;
use crate::view::answers::Standing;
use crate::view::markup::Html;
use crate::view::presenter::link_with_lesson;

/// How long after a frame began its picture is surely on its way to the screen, and input that came
/// meanwhile has been taken.
const PAINTED_MS: u32 = 4;
/// How long a picture may be waited for: a page in the background is not painted.
const UNPAINTED_MS: u32 = 200;
/// How long the answer rests before what stands far below it follows.
const REST_MS: u32 = 120;
/// How long the scenario rests before its link is written: Safari allows about 100 writes in 30
/// seconds.
const LINK_REST_MS: u32 = 350;
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
pub fn show(name: &'static str, html: ArcMemo<Html>, changed: fn(&Element)) {
    let Some(element) = place(name) else { return };
    let mut last = shown(&element);
    effect(Box::new(move || {
        html.with(|html| patch(&element, &mut last, html));
        changed(&element);
    }));
}

/// Notes whether a picture is on its way, and tells whether one was.
fn is_painting(now: bool) -> bool {
    LEAF.with(|leaf| leaf.rests.is_painting.replace(now))
}

/// Lets what follows the picture know after every change that it has been painted. To be called
/// before the first part is kept: what stands below the window waits before anything has been
/// written.
pub fn keep_painted(state: State) {
    effect(Box::new(move || {
        state.said.track();
        state.answers.track();
        if !is_painting(true) {
            sight::wait();
            after_paint(move || {
                is_painting(false);
                sight::go_on();
                state.painted.notify();
            });
        }
    }));
}

/// Keeps marked on the whole page whose its answer is: parts that other programs fill step back
/// with it. Calls back when that has changed, because pictures come and go with it.
pub fn keep_standing(state: State, changed: fn(State)) {
    let last = Cell::new(Standing::Present);
    effect(Box::new(move || {
        let standing = state.answers.with(|answers| answers.standing_with(state.unread.get()));
        if last.replace(standing) != standing {
            mark("data-answer", standing.word());
            after(0, move || changed(state));
        }
    }));
}

/// Lets what follows the words know after every change that they stand. Where the reader has opened
/// something, it is what they look at, and nothing waits for the picture.
pub fn keep_worded(state: State) {
    effect(Box::new(move || {
        state.said.track();
        state.answers.track();
        state.worded.notify();
    }));
    effect(Box::new(move || {
        state.opened.track();
        state.dialogs.track();
        sight::go_on();
    }));
}

/// Runs something once what has been written is painted; soon, on a page in the background, which
/// is not painted.
fn after_paint(action: impl FnOnce() + 'static) {
    let action = Cell::new(Some(action));
    let once = Rc::new(move || action.take().into_iter().for_each(|action| action()));
    let unpainted = Rc::clone(&once);
    after(UNPAINTED_MS, move || unpainted());
    let framed = Closure::once_into_js(move || after(PAINTED_MS, move || once()));
    let _ = window().request_animation_frame(framed.unchecked_ref());
}

/// Puts what should stand in the inputs below an element into them. It is a property of theirs,
/// which HTML cannot change.
pub fn fill_inputs(element: &Element) {
    let Ok(inputs) = element.query_selector_all("[data-now]") else { return };
    for input in
        (0..inputs.length()).filter_map(|index| inputs.get(index)?.dyn_into::<Element>().ok())
    {
        let now = JsValue::from_str(&input.get_attribute("data-now").unwrap_or_default());
        let (name, now) = match input.get_attribute("type").as_deref() {
            Some("checkbox") => ("checked", JsValue::from_bool(now == "true")),
            _ => ("value", now),
        };
        let name = JsValue::from_str(name);
        // Writing the same text again would move the caret.
        if js_sys::Reflect::get(&input, &name).is_ok_and(|shown| shown != now) {
            let _ = js_sys::Reflect::set(&input, &name, &now);
        }
    }
}

/// Puts the line of a curve's cursor where it belongs, per cent of the width; away where it belongs
/// nowhere. Not as HTML, because the content security policy allows no inline style.
pub fn place_cursor(name: &'static str, left: Box<dyn Fn() -> Option<f64>>) {
    let last = Cell::new(None);
    effect(Box::new(move || {
        let left = left();
        if last.replace(left) == left {
            return;
        }
        let Some(line) = place(name).and_then(|line| line.dyn_into::<HtmlElement>().ok()) else {
            return;
        };
        line.set_hidden(left.is_none());
        if let Some(left) = left {
            let _ = line.style().set_property("left", &format!("{left:.2}%"));
        }
    }));
}

/// Keeps the name of the browser's tab what is said.
pub fn keep_title(title: Box<dyn Fn() -> String>) {
    effect(Box::new(move || document().set_title(&title())));
}

/// Once the scenario rests, its link stands in the address bar.
pub fn keep_link(state: State) {
    link_is_written();
    let write = move || {
        let lesson = state.lessons.with_value(|lessons| lessons.address.clone());
        write_link(&link_with_lesson(&fragment_of(&state.said_now()), &lesson));
    };
    Rest::follows(LINK, || {}, Rc::new(write));
    let last = RefCell::new(state.said_now());
    let rests = move || {
        let now = state.said_now();
        // Everything is drawn anew when the program with keys and help has come; a link that was
        // opened then stays as it is.
        if last.replace(now.clone()) != now {
            link_rests();
        }
    };
    after_first(move || state.said.track(), rests);
}

/// From now on the scenario's link, once it rests, stands in the address bar.
pub fn link_rests() {
    Rest::begins(LINK);
}

/// The link in the address bar stays what it is.
pub fn link_stays() {
    with(LINK, |rest| rest.due.set(None));
}

/// Announces a text to screen readers once it rests, unless it is the first or none.
pub fn announce(state: State, text: impl Fn() -> String + 'static) {
    let last = RefCell::new(untrack(&text));
    let say = move || {
        let text = untrack(&text);
        if *last.borrow() != text
            && !text.is_empty()
            && let Some(place) = document().get_element_by_id("announcer")
        {
            place.set_text_content(Some(&text));
        }
        last.replace(text);
    };
    let track = move || {
        state.worded.track();
        state.unread.with(|_| ());
        state.found.track();
        for cursor in &state.cursors {
            cursor.track();
        }
    };
    Rest::follows(VOICE, track, Rc::new(say));
}

/// Opens and closes the native dialogs, each with its id, with a condition.
pub fn keep_dialogs(id: Box<dyn Fn() -> String>) {
    let last = RefCell::new(String::new());
    effect(Box::new(move || {
        let id = id();
        if *last.borrow() == id {
            return;
        }
        last.replace(id.clone());
        let Ok(all) = document().query_selector_all("dialog") else { return };
        for dialog in (0..all.length())
            .filter_map(|index| all.get(index)?.dyn_into::<HtmlDialogElement>().ok())
        {
            let wanted = dialog.id() == id;
            if wanted && !dialog.open() {
                let _ = dialog.show_modal();
            } else if !wanted && dialog.open() {
                dialog.close();
            }
        }
    }));
}

/// Calls back once the answer has rested after a change: what stands far below it follows then, so
/// that the answer paints sooner.
pub fn on_rest(state: State, action: Rc<dyn Fn()>) {
    Rest::follows(FAR, move || state.answers.track(), action);
}

/// Runs whenever what is tracked has changed, but not now.
fn after_first(track: impl Fn() + 'static, run: impl Fn() + 'static) {
    let mut first = true;
    effect(Box::new(move || {
        track();
        if !std::mem::take(&mut first) {
            run();
        }
    }));
}

/// Actions for when changes have rested: one timer for all, which a further change does not replace
/// but finds running, because starting timers would take longer than most of what follows a change.
struct Rest {
    ms: u32,
    /// When it is long enough; nothing where nothing waits.
    due: Cell<Option<f64>>,
    timer: RefCell<Option<Timeout>>,
    actions: RefCell<Vec<Rc<dyn Fn()>>>,
}

/// The three rests of the page, and whether a picture is on its way.
pub(super) struct Rests {
    far: Rest,
    link: Rest,
    voice: Rest,
    is_painting: Cell<bool>,
}

impl Rests {
    pub(super) const fn new() -> Self {
        Self {
            far: Rest::of(REST_MS),
            link: Rest::of(LINK_REST_MS),
            voice: Rest::of(SAY_MS),
            is_painting: Cell::new(false),
        }
    }
}

/// One of them.
type Which = fn(&Rests) -> &Rest;
const FAR: Which = |rests| &rests.far;
const LINK: Which = |rests| &rests.link;
const VOICE: Which = |rests| &rests.voice;

fn with<T>(which: Which, act: impl FnOnce(&Rest) -> T) -> T {
    LEAF.with(|leaf| act(which(&leaf.rests)))
}

impl Rest {
    const fn of(ms: u32) -> Self {
        Self {
            ms,
            due: Cell::new(None),
            timer: RefCell::new(None),
            actions: RefCell::new(Vec::new()),
        }
    }

    /// Adds an action; the first one makes what is tracked, the same for all of them, begin the
    /// rest.
    fn follows(which: Which, track: impl Fn() + 'static, action: Rc<dyn Fn()>) {
        let first = with(which, |rest| {
            rest.actions.borrow_mut().push(action);
            rest.actions.borrow().len() == 1
        });
        if first {
            after_first(track, move || Self::begins(which));
        }
    }

    /// The rest begins anew.
    fn begins(which: Which) {
        with(which, |rest| {
            rest.due.set(Some(now_ms() + f64::from(rest.ms)));
            if rest.timer.borrow().is_none() {
                rest.waits(which, rest.ms);
            }
        });
    }

    fn waits(&self, which: Which, ms: u32) {
        self.timer.replace(Some(Timeout::new(ms, move || Self::ends(which))));
    }

    /// The timer has run: acts, unless a change has come meanwhile.
    fn ends(which: Which) {
        let actions = with(which, |rest| {
            rest.timer.replace(None);
            let left = rest.due.get()? - now_ms();
            if left >= 1.0 {
                // The browser's timers count whole milliseconds.
                rest.waits(which, u32::try_from(crate::units::ceil_u64(left)).unwrap_or(rest.ms));
                return None;
            }
            rest.due.set(None);
            Some(rest.actions.borrow().clone())
        });
        for action in actions.into_iter().flatten() {
            action();
        }
    }
}
