//! Keys of models, help, rows by what is typed and QR codes are a part of the program that comes
//! later: the page begins without it.

use std::cell::Cell;
use std::rc::Rc;

use gloo_events::EventListener;
use leptos::prelude::*;
use web_sys::Event;

use super::state::{State, StateChange};
use super::{browser, browser_modules, page, presenting};
use crate::scenario::Scenario;
use crate::scenario::codec::{Decoded, decode};
use crate::view::history::UndoStep;

/// The event that tells the page that the part has come.
const CAME: &str = "HeadroomLaterCame";
/// The event on which the part is fetched, unless it was. The start script tells it, too, at the
/// first sign of somebody.
const WANTED: &str = "HeadroomLaterWanted";
/// How long a page that opens with changed keys waits for the part, milliseconds; then it says that
/// it waits.
const PATIENCE_MS: u32 = 3000;
/// How long a link waits whose model or accelerator may go by another name, milliseconds; then it
/// is refused as one that is not listed.
const PATIENCE_FOR_NAMES_MS: u32 = 8000;

/// The part in a program that has it inside.
#[cfg(not(feature = "apart"))]
mod access {
    /// Has the part at once.
    pub fn listen() {
        crate::scenario::later::answered_by(crate::view::later::answer);
    }
}

/// The part in a program that fetches it.
#[cfg(feature = "apart")]
mod access {
    use std::cell::Cell;
    use std::rc::Rc;

    use gloo_events::EventListener;
    use leptos::prelude::window;
    use wasm_bindgen_futures::spawn_local;

    use super::{CAME, WANTED, tell};
    use crate::scenario::later::{Answerer, answered_by};

    #[allow(
        clippy::unnecessary_wraps,
        reason = "the macro adds the failure of a fetch to the function that it marks"
    )]
    #[wasm_split_helpers::wasm_split(later, fallible)]
    fn answerer() -> Result<Answerer, wasm_split_helpers::SplitLoaderError> {
        Ok(crate::view::later::answer)
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
                match answerer().await {
                    Ok(answer) => {
                        answered_by(answer);
                        tell(CAME);
                    }
                    Err(_) => asked.set(false),
                }
            });
        };
        EventListener::new(&window(), WANTED, fetch).forget();
    }
}

pub use access::listen;

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
        presenting::write_code(state);
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
