//! The page's side of its workers: starts each when it is needed, asks it, and puts its answers in
//! place.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_events::{EventListener, EventListenerOptions, EventListenerPhase};
use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    ClipboardEvent, Element, Event, EventInit, HtmlTextAreaElement, IntersectionObserverEntry,
    MessageEvent, Worker,
};

use super::browser::{focus, observe, on_rest, patch_inside, within};
use super::state::State;
use crate::scenario::codec::encode;
use crate::view::answers::Standing;
use crate::view::markup::Html;
use crate::view::panels::unanswered;
use crate::view::slot;
use crate::worker::question::WorkerQuestion;
use crate::worker::wire::{Instance, PROGRAM, READY, Reply, Request, What};

/// How near to the part in sight a panel is when it is asked for.
const NEAR: &str = "300px 0px";
/// How long typing rests before the text is read.
const TYPING_MS: u32 = 150;

/// Takes an answer, or nothing where the worker cannot be reached.
type Done = Box<dyn FnMut(Option<Reply>)>;

/// The worker and what it was asked.
#[derive(Default)]
struct More {
    worker: Option<Worker>,
    /// True once the worker listens; earlier questions wait in `waiting`.
    listens: bool,
    waiting: Vec<(What, String)>,
    asked: Vec<(What, u32, Done)>,
    number: u32,
}

/// Handles of the browser that this file keeps between two events. They may not leave the thread
/// that has the document, so that no signal can hold them.
#[derive(Default)]
struct Held {
    workers: RefCell<[More; 2]>,
    /// The timer that waits for typing to rest.
    typing: RefCell<Option<Timeout>>,
    /// The long text whose beginning is shown, until somebody changes that.
    aside: RefCell<Option<String>>,
    /// True once somebody listens for long texts.
    watches: Cell<bool>,
}

thread_local! {
    static HELD: Held = Held::default();
}

/// Does something with one of the two workers.
fn with<T>(instance: Instance, action: impl FnOnce(&mut More) -> T) -> T {
    HELD.with(|held| {
        let [panels, searches] = &mut *held.workers.borrow_mut();
        action(match instance {
            Instance::Panels => panels,
            Instance::Searches => searches,
        })
    })
}

// ---- the worker ----

/// Starts the worker of the panels, unless it runs.
pub fn wake() {
    watch_long_texts();
    begin(Instance::Panels);
}

/// True if the worker of the panels was started.
pub fn is_awake() -> bool {
    with(Instance::Panels, |more| more.worker.is_some())
}

/// Starts a worker, unless it runs.
fn begin(instance: Instance) {
    if with(instance, |more| more.worker.is_some()) {
        return;
    }
    match start(instance) {
        Ok(worker) => with(instance, |more| more.worker = Some(worker)),
        Err(_) => fail(instance),
    }
}

fn start(instance: Instance) -> Result<Worker, JsValue> {
    let named = document()
        .query_selector(&format!("meta[name={PROGRAM}]"))?
        .and_then(|meta| meta.get_attribute("content"));
    let worker = Worker::new(&named.unwrap_or_else(|| format!("./{PROGRAM}.js")))?;
    EventListener::new(&worker, "message", move |event| {
        let message = event.dyn_ref::<MessageEvent>().and_then(|event| event.data().as_string());
        heard(instance, &message.unwrap_or_default());
    })
    .forget();
    let options = EventListenerOptions::enable_prevent_default();
    EventListener::new_with_options(&worker, "error", options, move |event| {
        // It is told in the panel; the page itself goes on.
        event.prevent_default();
        fail(instance);
    })
    .forget();
    Ok(worker)
}

fn heard(instance: Instance, message: &str) {
    if message == READY {
        with(instance, |more| {
            more.listens = true;
            for (_, message) in std::mem::take(&mut more.waiting) {
                more.send(&message);
            }
        });
        return;
    }
    let Some(reply) = Reply::read(message) else { return fail(instance) };
    let asked = with(instance, |more| {
        // An answer to an earlier question of the same kind is dropped.
        let at = more
            .asked
            .iter()
            .position(|(what, number, _)| *what == reply.what && *number == reply.number)?;
        Some(more.asked.swap_remove(at))
    });
    let Some((what, number, mut done)) = asked else { return };
    let streams = reply.more;
    done(Some(reply));
    if streams {
        with(instance, |more| {
            // Unless it was asked anew meanwhile.
            if more.asked.iter().all(|(other, ..)| *other != what) {
                more.asked.push((what, number, done));
            }
        });
    }
}

/// Gives the worker up and tells everybody who waits for it; the next question starts another one.
fn fail(instance: Instance) {
    let more = with(instance, |more| {
        let number = more.number;
        std::mem::replace(more, More { number, ..More::default() })
    });
    if let Some(worker) = more.worker {
        worker.terminate();
    }
    for (_, _, mut done) in more.asked {
        done(None);
    }
}

impl More {
    fn send(&self, message: &str) {
        if let Some(worker) = &self.worker {
            let _ = worker.post_message(&JsValue::from_str(message));
        }
    }
}

/// Asks about the scenario that the page answers; an earlier question of that kind is forgotten.
/// Called back with each answer that comes.
pub fn ask(
    state: State,
    fragment: String,
    question: WorkerQuestion,
    done: impl FnMut(Option<Reply>) + 'static,
) {
    let what = question.what();
    with(what.instance(), |more| {
        more.number = more.number.wrapping_add(1);
        let request = Request {
            number: more.number,
            unit: state.answers.with_untracked(|answers| answers.unit),
            fragment,
            question,
        };
        more.asked.retain(|(other, ..)| *other != what);
        more.asked.push((what, more.number, Box::new(done)));
        if more.listens {
            more.send(&request.write());
        } else {
            more.waiting.retain(|(other, _)| *other != what);
            more.waiting.push((what, request.write()));
        }
    });
    watch_long_texts();
    begin(what.instance());
}

// ---- panels ----

/// A panel that the worker fills.
struct Panel {
    state: State,
    question: WorkerQuestion,
    id: &'static str,
    /// True if the panel is in sight, or nearly.
    near: Cell<bool>,
    /// True if the panel shows an earlier scenario, or none.
    due: Cell<bool>,
}

/// Fills the element with that id, and keeps it up to date while it is near the part in sight.
pub fn keep_panel(state: State, question: WorkerQuestion, id: &'static str) {
    let panel =
        Rc::new(Panel { state, question, id, near: Cell::new(false), due: Cell::new(true) });
    Rc::clone(&panel).watch();
    on_rest(
        state,
        Rc::new(move || {
            panel.is_due();
            Rc::clone(&panel).follow();
        }),
    );
}

impl Panel {
    fn place(&self) -> Option<Element> {
        document().get_element_by_id(self.id)
    }

    fn watch(self: Rc<Self>) {
        let Some(place) = self.place() else { return };
        let panel = Rc::clone(&self);
        EventListener::new(&place, "click", move |event| {
            if is_again(event) {
                panel.put(&slot::fetching());
                panel.is_due();
                focus(panel.id);
                Rc::clone(&panel).follow();
            }
        })
        .forget();
        let panel = Rc::clone(&self);
        let seen = move |entry: IntersectionObserverEntry| {
            panel.near.set(entry.is_intersecting());
            Rc::clone(&panel).follow();
        };
        if observe(&place, NEAR, seen).is_err() {
            self.near.set(true);
            self.follow();
        }
    }

    /// Notes that the panel shows an earlier scenario.
    fn is_due(&self) {
        self.due.set(true);
        is_busy(self.id);
    }

    /// Asks the worker if the panel shows an earlier scenario and is near the part in sight.
    fn follow(self: Rc<Self>) {
        if !self.near.get() || !self.due.replace(false) {
            return;
        }
        // How well the engine is checked follows from no scenario.
        let unanswered =
            self.state.answers.with_untracked(|answers| answers.standing == Standing::Nothing);
        if unanswered && self.question != WorkerQuestion::Accuracy {
            return self.put(&unanswered::line());
        }
        let fragment = self.state.answers.with_untracked(|answers| encode(&answers.scenario));
        let (state, question) = (self.state, self.question.clone());
        ask(state, fragment, question, move |reply| {
            // Without one it is asked again when the scenario changes, when it comes in sight
            // again, and with the button.
            self.due.set(self.due.get() || reply.is_none());
            self.put(&reply.map_or_else(slot::out_of_reach, Reply::made));
        });
    }

    fn put(&self, html: &Html) {
        fill(self.id, html);
    }
}

/// Says of the element with that id that it shows an earlier scenario until it is written anew.
pub fn is_busy(id: &str) {
    if let Some(place) = document().get_element_by_id(id) {
        let _ = place.set_attribute("aria-busy", "true");
    }
}

/// Writes the inside of the element with that id.
pub fn fill(id: &str, html: &Html) {
    if let Some(place) = document().get_element_by_id(id) {
        patch_inside(&place, html);
        let _ = place.remove_attribute("aria-busy");
    }
}

/// True if a click was on the button that tries again.
pub fn is_again(event: &Event) -> bool {
    within(event, "data-again").is_some()
}

// ---- typing ----

/// Runs something once typing rests.
pub fn when_typing_rests(action: impl FnOnce() + 'static) {
    let timer = Timeout::new(TYPING_MS, action);
    HELD.with(|held| held.typing.replace(Some(timer)));
}

fn area(id: &str) -> Option<HtmlTextAreaElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

/// The text in the text area with that id, or the long text whose beginning it shows.
pub fn text_of(id: &str) -> String {
    let aside = HELD.with(|held| held.aside.borrow().clone());
    aside.or_else(|| area(id).map(|area| area.value())).unwrap_or_default()
}

/// Puts a text into the text area with that id.
pub fn set_text_of(id: &str, text: &str) {
    if let Some(area) = area(id) {
        area.set_value(text);
        shorten(&area);
    }
}

// ---- long texts ----

/// From this length on (UTF-16 units) a text area shows the beginning only: the browser would lay
/// out megabytes for seconds.
const LONG: u32 = 100_000;
/// How much it shows then, characters.
const SHOWN: usize = 2_000;

/// Looks after long texts before the browser lays them out.
fn watch_long_texts() {
    if HELD.with(|held| held.watches.replace(true)) {
        return;
    }
    // Ahead of everybody else who listens.
    let options = EventListenerOptions { phase: EventListenerPhase::Capture, passive: false };
    let area_of = |event: &Event| {
        event.target().and_then(|target| target.dyn_into::<HtmlTextAreaElement>().ok())
    };
    EventListener::new_with_options(&document(), "input", options, move |event| {
        if let Some(area) = area_of(event) {
            shorten(&area);
        }
    })
    .forget();
    EventListener::new_with_options(&document(), "paste", options, move |event| {
        let text = event.dyn_ref::<ClipboardEvent>().and_then(ClipboardEvent::clipboard_data);
        let text = text.and_then(|data| data.get_data("text/plain").ok()).unwrap_or_default();
        let Some(area) = area_of(event)
            .filter(|_| text.encode_utf16().count() > usize::try_from(LONG).unwrap_or(usize::MAX))
        else {
            return;
        };
        event.prevent_default();
        area.set_value(&text);
        let bubbles = EventInit::new();
        bubbles.set_bubbles(true);
        let _ = Event::new_with_event_init_dict("input", &bubbles)
            .and_then(|input| area.dispatch_event(&input));
    })
    .forget();
}

/// Sets a long text aside and shows its beginning; a text that is not long is what it is.
fn shorten(area: &HtmlTextAreaElement) {
    let long = (area.text_length() > LONG).then(|| area.value());
    if let Some(text) = &long {
        let beginning: String = text.chars().take(SHOWN).collect();
        area.set_value(&format!("{beginning}\n…"));
    }
    HELD.with(|held| *held.aside.borrow_mut() = long);
}
