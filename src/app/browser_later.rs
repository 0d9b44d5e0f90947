//! Keys of models, help, rows by what is typed and QR codes come from a program of their own: the page begins without it, and calls it
//! once it is there.

use std::cell::Cell;
use std::rc::Rc;

use gloo_events::EventListener;
use js_sys::{Function, Reflect, global};
use leptos::prelude::*;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Event;

use super::history::Snapshot;
use super::state::{Change, State};
use super::{browser, browser_modules, later, page, presenting};
use crate::scenario::Scenario;
use crate::scenario::codec::{Decoded, decode};

/// The function that the program offers to the page.
const OFFERED: &str = "headroomAnswers";
/// The event that tells the page of it.
const CAME: &str = "HeadroomLaterCame";
/// The event on which the start script fetches the program, unless it has.
const WANTED: &str = "HeadroomLaterWanted";
/// How long a page that opens with changed keys waits for it, milliseconds; then it says that it waits.
const PATIENCE_MS: u32 = 3000;
/// How long a link waits whose model or accelerator may go by another name, milliseconds; then it is refused as one that is not listed.
const PATIENCE_FOR_NAMES_MS: u32 = 8000;

/// The program itself: offers its one function.
pub fn answer_the_page() {
    console_error_panic_hook::set_once();
    let answer = Closure::<dyn Fn(String) -> Option<String>>::new(|question: String| later::answer(&question));
    let _ = Reflect::set(&global(), &JsValue::from_str(OFFERED), &answer.into_js_value());
    tell(CAME);
}

/// Asks the program; `None` while it is not there.
pub fn ask(question: &str) -> Option<String> {
    let offered = Reflect::get(&global(), &JsValue::from_str(OFFERED)).ok()?.dyn_into::<Function>().ok()?;
    offered.call1(&JsValue::NULL, &JsValue::from_str(question)).ok()?.as_string()
}

/// Reads a link and hands on what it says: at once, or where the link needs the program, once that is there.
pub fn read(link: &str, then: impl FnOnce(Decoded) + 'static) {
    let then = |decoded| browser_modules::once_there(decoded, then);
    let decoded = decode(link);
    let any = |waits: fn(&Scenario) -> bool| std::iter::once(&decoded.scenario).chain(&decoded.compare).any(waits);
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

/// Runs something once the program is there, or does not come in time.
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

/// Reads the keys of what is shown as soon as they can be, and whenever scenarios come from before that.
pub fn keep(state: State) {
    // Everything is written anew: inputs have their help now, links their codes, and what is being typed finds its rows.
    let come = move |_: &Event| {
        state.said.update(|_| {});
        presenting::write_code(state);
        page::write_printed_code(state);
        let scenario = state.scenario_now();
        state.drafts.change(|drafts| drafts.picker = drafts.picker.take().map(|picker| picker.again(&scenario)));
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
    for scenario in std::iter::once(&mut said.scenario).chain(&mut said.compare).filter(|scenario| scenario.lacks_keys()) {
        scenario.read_keys_again();
        news |= !scenario.lacks_keys();
    }
    if news {
        state.said.set(said);
    }
}

fn all(said: &Snapshot) -> impl Iterator<Item = &Scenario> {
    std::iter::once(&said.scenario).chain(&said.compare)
}

fn tell(event: &str) {
    if let Ok(event) = Event::new(event) {
        let _ = window().dispatch_event(&event);
    }
}
