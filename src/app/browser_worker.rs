//! The worker's side: answers the page's questions one after the other, and goes on with a search
//! in between.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use gloo_events::EventListener;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent, MessagePort, Worker};

use crate::worker::answer;
use crate::worker::plan::{Desk, Stairway};
use crate::worker::question::WorkerQuestion;
use crate::worker::questions::Questions;
use crate::worker::wire::{Instance, READY, Reply, Request};

/// How often a running search tells how far it is, milliseconds.
const TELL_MS: f64 = 200.0;

/// The page where there is one, and in a worker its questions: the program of the page that is a
/// single file.
pub fn start_here() {
    if js_sys::global().is_instance_of::<DedicatedWorkerGlobalScope>() {
        answer_questions();
    } else {
        super::page::start();
    }
}

/// Listens to the page's questions, and says so.
pub fn answer_questions() {
    console_error_panic_hook::set_once();
    let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() else { return };
    let (Some(answers), Some(planner)) = (Answers::new(&scope), Planner::new(&scope)) else {
        return;
    };
    let listener = EventListener::new(&scope, "message", move |event| {
        let message = event
            .dyn_ref::<MessageEvent>()
            .and_then(|event| event.data().as_string())
            .unwrap_or_default();
        if let Some(request) = Request::read(&message) {
            match request.question.what().instance() {
                Instance::Panels => answers.hear(&request),
                Instance::Searches => planner.hear(&request),
            }
        }
    });
    listener.forget();
    let _ = scope.post_message(&JsValue::from_str(READY));
}

fn tell(scope: &DedicatedWorkerGlobalScope, reply: &Reply) {
    let _ = scope.post_message(&JsValue::from_str(&reply.write()));
}

/// A message to itself, after which a worker goes on: the page's messages pass before. A timer
/// would make it wait.
struct Turns {
    port: MessagePort,
    /// True if a turn is on its way.
    waits: Cell<bool>,
}

impl Turns {
    /// Makes what lives as long as the worker and has turns.
    fn of<T: 'static>(make: impl FnOnce(Self) -> T, turn: fn(&T)) -> Option<Rc<T>> {
        let channel = MessageChannel::new().ok()?;
        Some(Rc::new_cyclic(|all: &Weak<T>| {
            let (all, port) = (all.clone(), channel.port2());
            EventListener::new(&port, "message", move |_| {
                if let Some(all) = all.upgrade() {
                    turn(&all);
                }
            })
            .forget();
            port.start();
            make(Self { port: channel.port1(), waits: Cell::new(false) })
        }))
    }

    /// Asks for a turn, unless one is on its way.
    fn ask(&self) {
        if !self.waits.replace(true) {
            let _ = self.port.post_message(&JsValue::NULL);
        }
    }

    /// Says that the turn has come.
    fn come(&self) {
        self.waits.set(false);
    }
}

/// Questions about panels and texts, one each turn.
struct Answers {
    scope: DedicatedWorkerGlobalScope,
    questions: RefCell<Questions>,
    turns: Turns,
}

impl Answers {
    fn new(scope: &DedicatedWorkerGlobalScope) -> Option<Rc<Self>> {
        Turns::of(
            |turns| Self { scope: scope.clone(), questions: RefCell::default(), turns },
            Self::turn,
        )
    }

    fn hear(&self, request: &Request) {
        self.questions.borrow_mut().add(request.clone());
        self.turns.ask();
    }

    fn turn(&self) {
        self.turns.come();
        let next = self.questions.borrow_mut().take();
        if let Some(request) = next {
            tell(&self.scope, &answer(&request));
            self.turns.ask();
        }
    }
}

/// The searches, a slice each turn.
struct Planner {
    scope: DedicatedWorkerGlobalScope,
    desk: RefCell<Desk>,
    /// The last question for the curve's layouts, as long as it is not answered.
    stairway: RefCell<Option<Stairway>>,
    turns: Turns,
    /// When the page was last told, milliseconds.
    told: Cell<f64>,
    /// A worker with the same program, which takes half of the search where the machine has a core
    /// for it.
    helper: RefCell<Option<Worker>>,
}

impl Planner {
    fn new(scope: &DedicatedWorkerGlobalScope) -> Option<Rc<Self>> {
        let make = |turns| Self {
            scope: scope.clone(),
            desk: RefCell::default(),
            stairway: RefCell::default(),
            turns,
            told: Cell::new(0.0),
            helper: RefCell::default(),
        };
        Turns::of(make, Self::turn)
    }

    fn now(&self) -> f64 {
        self.scope.performance().map_or(0.0, |performance| performance.now())
    }

    fn hear(self: &Rc<Self>, request: &Request) {
        if request.question == WorkerQuestion::Stairs {
            // An earlier question is left off.
            self.stairway.replace(Some(Stairway::of(request)));
            return self.next();
        }
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
            let message = event
                .dyn_ref::<MessageEvent>()
                .and_then(|event| event.data().as_string())
                .unwrap_or_default();
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
        self.turns.come();
        self.climb();
        self.search();
        self.next();
    }

    fn climb(&self) {
        let reply =
            self.stairway.borrow_mut().as_mut().and_then(|stairway| stairway.slice(&|| self.now()));
        if let Some(reply) = reply {
            self.stairway.take();
            tell(&self.scope, &reply);
        }
    }

    fn search(&self) {
        if !self.runs() {
            return;
        }
        self.desk.borrow_mut().slice(&|| self.now());
        if self.desk.borrow().is_helper() || !self.runs() || self.now() - self.told.get() >= TELL_MS
        {
            self.tell();
        }
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
        let searches = self.runs() && !self.desk.borrow().waits();
        if searches || self.stairway.borrow().is_some() {
            self.turns.ask();
        }
    }
}
