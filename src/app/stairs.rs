//! The best layout at each number of GPUs: the second program searches while the page rests, and
//! the curve shows it when it is there.

use std::rc::Rc;
use std::sync::Arc;

use leptos::prelude::*;

use super::browser;
use super::browser_more::ask;
use super::state::{State, StateChange};
use crate::scenario::codec::encode;
use crate::view::answers::{Stairs, Standing};
use crate::view::ui::FromWorkers;
use crate::worker::question::WorkerQuestion;

/// Looks for the best layouts anew whenever the scenario has changed and the page rests.
pub fn keep(state: State) {
    browser::on_rest(state, Rc::new(move || look(state)));
}

/// Looks for the best layouts where the reader asks for their line, unless those of the present
/// scenario are known.
pub fn look(state: State) {
    // Asked at every move of the pointer, too: nothing is copied until there is something to look
    // for.
    let scenario = state.answers.with_untracked(|answers| {
        let known = |found: &FromWorkers| {
            found.stairs.as_ref().is_some_and(|stairs| stairs.scenario == answers.scenario)
        };
        let asked = answers.standing != Standing::Nothing && answers.job.training().is_some();
        let wanted = asked
            && state.look.with_untracked(|look| look.lines.best)
            && !state.found.with_untracked(known);
        wanted.then(|| answers.scenario.clone())
    });
    let Some(scenario) = scenario.filter(|_| browser::is_in_sight("plot-gpus")) else { return };
    // Until they are there none are known, and nobody asks again.
    let pending = Stairs { scenario: scenario.clone(), best: Vec::new() };
    state.found.change(|found| found.stairs = Some(Arc::new(pending)));
    ask(state, encode(&scenario), WorkerQuestion::Stairs, move |reply| {
        // Without an answer the curve stays as it is; the next change asks again.
        if let Some(reply) = reply {
            let stairs = Stairs::read(scenario.clone(), &reply.html);
            state.found.change(|found| found.stairs = Some(Arc::new(stairs)));
        }
    });
}
