//! Keys of models, help, rows by what is typed, QR codes, and whatever a click or a form sets going
//! (dialogs, saved scenarios, planner, stories) are a part of the program that comes later: the page
//! begins without it. What happens before it has come is kept and happens again then.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_events::EventListener;
use leptos::prelude::*;

use super::browser::{Element, Event};
use super::state::{Dialog, State, StateChange};
use super::{actions, browser, browser_modules, page, planning, presenting, stairs, teaching};
use crate::estimator::EnginePart;
use crate::scenario::Scenario;
use crate::scenario::codec::{Decoded, decode};
#[cfg(feature = "apart")]
use crate::scenario::later::Answerer;
use crate::view::history::UndoStep;

/// The event that tells the page that the part has come.
const CAME: &str = "HeadroomLaterCame";
/// The event on which the part is fetched, unless it was. The start script tells it, too, at the
/// first sign of somebody.
const WANTED: &str = "HeadroomLaterWanted";
/// The event that tells the page that the part could not be fetched.
const FAILED: &str = "HeadroomLaterFailed";
/// How long a page that opens with changed keys waits for the part, milliseconds; then it says that
/// it waits.
const PATIENCE_MS: u32 = 3000;
/// How long a link waits whose model or accelerator may go by another name, milliseconds; then it
/// is refused as one that is not listed.
const PATIENCE_FOR_NAMES_MS: u32 = 8000;

/// The functions of the part that the page calls.
pub struct LaterPart {
    /// Answers questions.
    #[cfg(feature = "apart")]
    answer: Answerer,
    /// Listens to clicks, forms, files and the presenter's keys.
    listen: fn(State),
    /// Opens a dialog, or closes the one that is open.
    pub open_dialog: fn(State, Option<Dialog>),
    /// Opens what a link says besides the scenario: a story at a step, or a worksheet.
    pub follow: fn(State, &str),
    /// Writes the code of the step that is presented.
    write_code: fn(State),
}

static LATER: LaterPart = LaterPart {
    #[cfg(feature = "apart")]
    answer: crate::view::later::answer,
    listen: listen_to_all,
    open_dialog: actions::open_dialog,
    follow: teaching::follow,
    write_code: presenting::write_code,
};

fn listen_to_all(state: State) {
    actions::listen(state);
    presenting::listen(state);
    planning::keep(state);
    stairs::keep(state);
}

/// The part in a program that has it inside.
#[cfg(not(feature = "apart"))]
mod access {
    use super::{LATER, LaterPart};

    /// There is nothing to fetch.
    pub const fn listen() {}

    #[allow(clippy::unnecessary_wraps, reason = "a program that fetches it may lack it")]
    pub const fn part() -> Option<&'static LaterPart> {
        Some(&LATER)
    }
}

/// The part in a program that fetches it.
#[cfg(feature = "apart")]
mod access {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::OnceLock;

    use gloo_events::EventListener;
    use leptos::prelude::window;
    use wasm_bindgen_futures::spawn_local;

    use super::{CAME, FAILED, LATER, LaterPart, WANTED, tell};
    use crate::scenario::later::answered_by;

    static PART: OnceLock<&'static LaterPart> = OnceLock::new();

    /// The part, once it has come.
    pub fn part() -> Option<&'static LaterPart> {
        PART.get().copied()
    }

    #[allow(
        clippy::unnecessary_wraps,
        reason = "the macro adds the failure of a fetch to the function that it marks"
    )]
    #[wasm_split_helpers::wasm_split(later, fallible)]
    fn later() -> Result<&'static LaterPart, wasm_split_helpers::SplitLoaderError> {
        Ok(&LATER)
    }

    /// Fetches the part when somebody wants it. Where it does not come, the next one who wants it
    /// asks again.
    pub fn listen() {
        let asked = Rc::new(Cell::new(false));
        let fetch = move |_: &_| {
            if asked.replace(true) {
                return;
            }
            let asked = Rc::clone(&asked);
            spawn_local(async move {
                if let Ok(part) = later().await {
                    answered_by(part.answer);
                    let _ = PART.set(part);
                    tell(CAME);
                } else {
                    asked.set(false);
                    tell(FAILED);
                }
            });
        };
        EventListener::new(&window(), WANTED, fetch).forget();
    }
}

pub use access::listen;
use access::part;

/// Does something with the part: at once, or once it has come.
pub fn with_part(act: impl FnOnce(&'static LaterPart) + 'static) {
    match part() {
        Some(part) => act(part),
        None => once_there(PATIENCE_FOR_NAMES_MS, move || {
            if let Some(part) = part() {
                act(part);
            }
        }),
    }
}

/// True if the part has come.
pub fn is_there() -> bool {
    part().is_some()
}

/// The kinds of events that the part carries out.
const KINDS: [&str; 5] = ["click", "change", "input", "submit", "toggle"];
/// Elements whose click is carried out.
const CLICKED: &str = "[data-do],[data-again]";
/// Elements that are carried out when something else happens to them.
const SETTLED: &str =
    "[data-change],[data-submit],[data-teach],[data-plan],[data-toggle],[data-testid^=paste]";

/// Carries out clicks and forms from now on. Before the part is there, they are kept, it is fetched,
/// and they happen again.
pub fn carry_out(state: State) {
    if let Some(part) = part() {
        return (part.listen)(state);
    }
    let kept: Rc<RefCell<Vec<(&str, Element)>>> = Rc::default();
    for kind in KINDS {
        let kept = Rc::clone(&kept);
        browser::on(kind, move |event| {
            // From then on the part listens itself.
            if is_there() {
                return;
            }
            if let Some(element) = concerned(event, kind) {
                kept.borrow_mut().push((kind, element));
                tell(WANTED);
            }
        });
    }
    EventListener::new(&window(), FAILED, {
        let kept = Rc::clone(&kept);
        move |_| {
            if !kept.take().is_empty() {
                let problem =
                    "A part of this page could not be fetched. Try again when the network is back.";
                state.tell(problem.to_owned(), true);
            }
        }
    })
    .forget();
    EventListener::once(&window(), CAME, move |_| {
        let Some(part) = part() else { return };
        state.as_owner(|| (part.listen)(state));
        for (kind, element) in kept.take() {
            browser::happen_again(kind, &element);
        }
        // Whoever stays may ask about serving.
        browser_modules::fetch_ahead(EnginePart::Serving);
    })
    .forget();
}

/// The element with which an event of that kind is carried out. The browser goes nowhere.
fn concerned(event: &Event, kind: &str) -> Option<Element> {
    if kind == "submit" {
        event.prevent_default();
    }
    if kind != "click" {
        return browser::around(event, SETTLED)
            .filter(|element| event.target().as_ref() == Some(element));
    }
    let element = browser::around(event, CLICKED)?;
    if element.has_attribute("href") {
        event.prevent_default();
    }
    Some(element)
}

/// Reads a link and hands on what it says: at once, or where the link needs the part, once that is
/// there.
pub fn read(link: &str, then: impl FnOnce(Decoded) + 'static) {
    let then = |decoded| browser_modules::once_there(decoded, then);
    let decoded = decode(link);
    let any = |waits: fn(&Scenario) -> bool| {
        std::iter::once(&decoded.scenario).chain(&decoded.compare).any(waits)
    };
    let patience = if any(Scenario::waits_for_names) {
        PATIENCE_FOR_NAMES_MS
    } else if any(Scenario::waits_for_keys) {
        PATIENCE_MS
    } else {
        return then(decoded);
    };
    let link = link.to_owned();
    once_there(patience, move || then(decode(&link)));
}

/// Runs something once the part is there, or does not come in time.
fn once_there(patience: u32, action: impl FnOnce() + 'static) {
    let action = Rc::new(Cell::new(Some(action)));
    let run = move || {
        if let Some(action) = action.take() {
            action();
        }
    };
    EventListener::new(&window(), CAME, {
        let run = run.clone();
        move |_| run()
    })
    .forget();
    browser::after(patience, run);
    tell(WANTED);
}

/// Reads the keys of what is shown as soon as they can be, and whenever scenarios come from before
/// that.
pub fn keep(state: State) {
    // Everything is written anew: inputs have their help now, links their codes, and what is being
    // typed finds its rows.
    let come = move |_: &Event| {
        state.said.update(|_| {});
        if let Some(part) = part() {
            (part.write_code)(state);
        }
        page::write_printed_code(state);
        let scenario = state.scenario_now();
        state.drafts.change(|drafts| {
            drafts.picker = drafts.picker.take().map(|picker| picker.again(&scenario));
        });
    };
    EventListener::new(&window(), CAME, come).forget();
    Effect::new(move || {
        if state.said.with(|said| all(said).any(Scenario::waits_for_keys)) {
            tell(WANTED);
        }
        read_again(state);
    });
}

fn read_again(state: State) {
    let mut said = state.said_now();
    let mut news = false;
    for scenario in std::iter::once(&mut said.scenario)
        .chain(&mut said.compare)
        .filter(|scenario| scenario.lacks_keys())
    {
        scenario.read_keys_again();
        news |= !scenario.lacks_keys();
    }
    if news {
        state.said.set(said);
    }
}

fn all(said: &UndoStep) -> impl Iterator<Item = &Scenario> {
    std::iter::once(&said.scenario).chain(&said.compare)
}

fn tell(event: &str) {
    if let Ok(event) = Event::new(event) {
        let _ = window().dispatch_event(&event);
    }
}
