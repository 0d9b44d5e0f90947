//! The worker's side: answers the page's questions one after the other, and goes on with a search in between.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_events::EventListener;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent, MessagePort, Worker};

use super::more::answer;
use super::more::plan::{Desk, stairs};
use super::more::wire::{Program, READY, Reply, Request, What};

/// How often a running search tells how far it is, milliseconds.
const TELL_MS: f64 = 200.0;

/// Answers questions about panels and texts.
pub fn answer_questions() {
    listen(|scope| {
        let scope = scope.clone();
        move |request| tell(&scope, &answer(request))
    });
}

/// Searches over layouts.
pub fn search_layouts() {
    listen(|scope| {
        let (scope, planner) = (scope.clone(), Planner::new(scope));
        move |request| hear_search(&scope, planner.as_ref(), request)
    });
}

/// All of it, in one program: the page where there is one, and in a worker whatever that is asked.
pub fn start_here() {
    if js_sys::global().is_instance_of::<DedicatedWorkerGlobalScope>() {
        listen(|scope| {
            let (scope, planner) = (scope.clone(), Planner::new(scope));
            move |request| hear_any(&scope, planner.as_ref(), request)
        });
    } else {
        super::start();
    }
}

fn hear_any(scope: &DedicatedWorkerGlobalScope, planner: Option<&Rc<Planner>>, request: &Request) {
    match request.what.program() {
        Program::Plan => hear_search(scope, planner, request),
        Program::More => tell(scope, &answer(request)),
    }
}

fn hear_search(scope: &DedicatedWorkerGlobalScope, planner: Option<&Rc<Planner>>, request: &Request) {
    match planner {
        Some(planner) if request.what == What::Plan => planner.hear(request),
        _ => tell(scope, &stairs(request)),
    }
}

/// Listens, and says so.
fn listen<Hear: Fn(&Request) + 'static>(hear: impl FnOnce(&DedicatedWorkerGlobalScope) -> Hear) {
    console_error_panic_hook::set_once();
    let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() else { return };
    let hear = hear(&scope);
    let listener = EventListener::new(&scope, "message", move |event| {
        let message = event.dyn_ref::<MessageEvent>().and_then(|event| event.data().as_string()).unwrap_or_default();
        if let Some(request) = Request::read(&message) {
            hear(&request);
        }
    });
    listener.forget();
    let _ = scope.post_message(&JsValue::from_str(READY));
}

fn tell(scope: &DedicatedWorkerGlobalScope, reply: &Reply) {
    let _ = scope.post_message(&JsValue::from_str(&reply.write()));
}

/// The search: a message to itself after each slice lets the page's messages pass between two of them. A timer would make it wait.
struct Planner {
    scope: DedicatedWorkerGlobalScope,
    desk: RefCell<Desk>,
    turns: MessagePort,
    /// Whether a turn is on its way.
    waits: Cell<bool>,
    /// When the page was last told, milliseconds.
    told: Cell<f64>,
    /// A worker with the same program, which takes half of the search where the machine has a core for it.
    helper: RefCell<Option<Worker>>,
}

impl Planner {
    fn new(scope: &DedicatedWorkerGlobalScope) -> Option<Rc<Self>> {
        let channel = MessageChannel::new().ok()?;
        let planner = Rc::new(Self {
            scope: scope.clone(),
            desk: RefCell::default(),
            turns: channel.port1(),
            waits: Cell::new(false),
            told: Cell::new(0.0),
            helper: RefCell::default(),
        });
        let port = channel.port2();
        let own = Rc::clone(&planner);
        EventListener::new(&port, "message", move |_| own.turn()).forget();
        port.start();
        Some(planner)
    }

    fn now(&self) -> f64 {
        self.scope.performance().map_or(0.0, |performance| performance.now())
    }

    fn hear(self: &Rc<Self>, request: &Request) {
        self.desk.borrow_mut().hear(request);
        self.tell();
        self.next();
        // A helper needs none.
        if !self.desk.borrow().is_helper() {
            self.find_help();
        }
    }

    /// Starts a helper, unless there is one or no core is free for it. Nothing depends on it.
    fn find_help(self: &Rc<Self>) {
        if self.helper.borrow().is_some() || self.scope.navigator().hardware_concurrency() < 2.0 {
            return;
        }
        let Ok(worker) = Worker::new(&self.scope.location().href()) else { return };
        let own = Rc::clone(self);
        EventListener::new(&worker, "message", move |event| {
            let message = event.dyn_ref::<MessageEvent>().and_then(|event| event.data().as_string()).unwrap_or_default();
            if message == READY {
                own.desk.borrow_mut().has_help();
            } else {
                own.desk.borrow_mut().take_in(&message);
                own.next();
            }
        })
        .forget();
        let own = Rc::clone(self);
        EventListener::new(&worker, "error", move |_| {
            own.desk.borrow_mut().lost_help();
            own.next();
        })
        .forget();
        *self.helper.borrow_mut() = Some(worker);
    }

    /// Goes on for a slice.
    fn turn(&self) {
        self.waits.set(false);
        if !self.runs() {
            return;
        }
        self.desk.borrow_mut().slice(&|| self.now());
        if self.desk.borrow().is_helper() || !self.runs() || self.now() - self.told.get() >= TELL_MS {
            self.tell();
        }
        self.next();
    }

    fn runs(&self) -> bool {
        self.desk.borrow().is_running()
    }

    /// Tells the page how things are; a helper tells who asked it, when it has something to tell.
    fn tell(&self) {
        let letters = self.desk.borrow_mut().letters();
        if self.desk.borrow().is_helper() {
            for letter in &letters {
                self.post(letter);
            }
            return;
        }
        if let Some(helper) = self.helper.borrow().as_ref() {
            for letter in &letters {
                let _ = helper.post_message(&JsValue::from_str(letter));
            }
        }
        self.post(&self.desk.borrow().reply());
        self.told.set(self.now());
    }

    fn post(&self, message: &str) {
        let _ = self.scope.post_message(&JsValue::from_str(message));
    }

    fn next(&self) {
        if self.runs() && !self.desk.borrow().waits() && !self.waits.replace(true) {
            let _ = self.turns.post_message(&JsValue::NULL);
        }
    }
}
