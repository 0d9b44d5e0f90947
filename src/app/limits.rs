//! The allocator's answers: the second program replays them while the page rests, and the answer's
//! first words follow.

use std::rc::Rc;

use leptos::prelude::*;

use super::browser;
use super::browser_more::{ask, fill, is_awake, is_busy};
use super::state::{State, StateChange};
use crate::scenario::codec::encode;
use crate::view::answers::Standing;
use crate::view::markup::Html;
use crate::worker::question::WorkerQuestion;
use crate::worker::wire::MARK;

/// The element that holds the warning where the tensors fit and the allocator finds no room.
const WARNING: &str = "warning";

/// Asks for the answers whenever changes rest, and `at_once` where the page was opened with a link.
pub fn keep(state: State, at_once: bool) {
    if at_once {
        look(state);
    }
    browser::on_rest(state, Rc::new(move || look(state)));
}

/// Asks, unless the answers to the present scenario are known. The second program is not fetched
/// for a scenario that leaves half of the memory free, whose first words the allocator does not
/// contradict.
fn look(state: State) {
    let known = state.answers.with_untracked(|answers| {
        state.found.with_untracked(|found| found.told(answers).is_some())
    });
    if known {
        return;
    }
    let trained = state.answers.with_untracked(|answers| {
        let asked = answers.standing != Standing::Nothing && answers.job.training().is_some();
        let asked = asked && (is_awake() || !answers.leaves_half_free());
        asked.then(|| answers.scenario.clone())
    });
    let Some(scenario) = trained else { return fill(WARNING, &Html::new()) };
    is_busy(WARNING);
    ask(state, encode(&scenario), WorkerQuestion::Limits, move |reply| {
        // Without an answer the assumed reserve stands; the next change asks again.
        let Some(reply) = reply else { return fill(WARNING, &Html::new()) };
        let (numbers, warning) = reply.html.split_once(MARK).unwrap_or_default();
        state.found.change(|found| found.hear_limits(scenario.clone(), numbers));
        fill(WARNING, &Html::made(warning.to_owned()));
    });
}
