//! Fetches the parts of the engine that a scenario needs and the page's first program lacks.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::*;

use super::state::State;
use crate::estimator::EnginePart;
use crate::scenario::codec::Decoded;
use crate::view::answers::Answers;
use crate::view::following::follow;
use crate::view::modules::awaited;

/// True while parts are on their way: nobody asks twice.
type OnTheirWay = Rc<Cell<bool>>;

/// Fetches the parts that an answer waits for, and for the list of models, which counts parameters,
/// the rare modules. Once they are there, the page is written anew.
pub fn keep(state: State) {
    let on_their_way = OnTheirWay::default();
    let for_answers = Rc::clone(&on_their_way);
    Effect::new(move || {
        // A further change asks again where nothing came, though the answer is the one before.
        state.said.track();
        fetch_once(state, &for_answers, state.answers.with(Answers::awaited_parts), true);
    });
    Effect::new(move || {
        if state.drafts.with(|drafts| drafts.picker.is_some()) {
            fetch_once(state, &on_their_way, vec![EnginePart::Rare], false);
        }
    });
}

/// Fetches those that are not there, unless some are on their way; `waits`: an answer waits for
/// them, and whoever reads it is told where they do not come.
fn fetch_once(state: State, on_their_way: &OnTheirWay, mut parts: Vec<EnginePart>, waits: bool) {
    parts.retain(|part| !part.is_there());
    if parts.is_empty() || on_their_way.replace(true) {
        return;
    }
    let on_their_way = Rc::clone(on_their_way);
    fetch(parts, move |came| {
        on_their_way.set(false);
        arrived(state, came, waits);
    });
}

fn arrived(state: State, came: bool, waits: bool) {
    if came {
        state.said.update(|said| follow(&mut said.scenario));
    } else if waits {
        state.tell(
            "A part of this page could not be fetched, and without it there is no answer. Once \
             there is a network again, change any input."
                .to_owned(),
            true,
        );
    }
}

/// Hands on what a link says once the parts that its scenarios need are there, or cannot be
/// fetched; at once where they need none.
pub fn once_there(decoded: Decoded, then: impl FnOnce(Decoded) + 'static) {
    let scenarios = std::iter::once(&decoded.scenario).chain(&decoded.compare);
    let parts: Vec<EnginePart> = scenarios.flat_map(awaited).collect();
    if parts.is_empty() {
        then(decoded);
    } else {
        fetch(parts, |_| then(decoded));
    }
}

/// Fetches a part before anybody waits for it.
pub fn fetch_ahead(part: EnginePart) {
    fetch(vec![part], |_| ());
}

/// Fetches parts one after the other, and tells whether all came.
#[cfg(feature = "apart")]
fn fetch(parts: Vec<EnginePart>, then: impl FnOnce(bool) + 'static) {
    wasm_bindgen_futures::spawn_local(async move {
        let mut all = true;
        for part in parts {
            all &= part.is_there() || part.fetch().await;
        }
        then(all);
    });
}

/// This program has them inside.
#[cfg(not(feature = "apart"))]
fn fetch(_: Vec<EnginePart>, then: impl FnOnce(bool) + 'static) {
    then(true);
}
