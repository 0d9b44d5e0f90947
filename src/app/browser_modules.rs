//! Fetches the modules that few models have, when a scenario needs them.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::*;

use super::state::State;
use crate::scenario::Scenario;
use crate::scenario::codec::Decoded;
use crate::view::answers::Answers;
use crate::view::following::follow;
use crate::view::modules::{are_all_there, waits};

/// True while modules are on their way: nobody asks twice.
type OnTheirWay = Rc<Cell<bool>>;

/// Fetches modules whenever a scenario that is shown needs them, and for the list of models, which
/// counts parameters. Once they are there, the page is written anew.
pub fn keep(state: State) {
    let on_their_way = OnTheirWay::default();
    let for_answers = Rc::clone(&on_their_way);
    Effect::new(move || {
        // A further change asks again where nothing came, though the answer is the one before.
        state.said.track();
        if state.answers.with(Answers::wait_for_parts) {
            fetch_once(state, &for_answers, true);
        }
    });
    Effect::new(move || {
        if state.drafts.with(|drafts| drafts.picker.is_some()) && !are_all_there() {
            fetch_once(state, &on_their_way, false);
        }
    });
}

/// Fetches them, unless they are on their way; `waits`: an answer waits for them, and whoever reads
/// it is told where none came.
fn fetch_once(state: State, on_their_way: &OnTheirWay, waits: bool) {
    if on_their_way.replace(true) {
        return;
    }
    let on_their_way = Rc::clone(on_their_way);
    fetch(move |came| {
        on_their_way.set(false);
        arrived(state, came, waits);
    });
}

fn arrived(state: State, came: bool, waits: bool) {
    if came {
        state.said.update(|said| follow(&mut said.scenario));
    } else if waits {
        state.tell(
            "A part of this page could not be fetched, and without it this model has no answer. \
             Once there is a network again, change any input."
                .to_owned(),
            true,
        );
    }
}

/// Hands on what a link says once the modules that its scenarios need are there, or cannot be
/// fetched; at once where they need none.
pub fn once_there(decoded: Decoded, then: impl FnOnce(Decoded) + 'static) {
    if any_waits(&decoded.scenario, &decoded.compare) {
        fetch(|_| then(decoded));
    } else {
        then(decoded);
    }
}

fn any_waits(scenario: &Scenario, compare: &[Scenario]) -> bool {
    std::iter::once(scenario).chain(compare).any(waits)
}

#[cfg(feature = "apart")]
fn fetch(then: impl FnOnce(bool) + 'static) {
    wasm_bindgen_futures::spawn_local(async move { then(crate::estimator::fetch_parts().await) });
}

/// This program has them inside.
#[cfg(not(feature = "apart"))]
fn fetch(then: impl FnOnce(bool) + 'static) {
    then(true);
}
