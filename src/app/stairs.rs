//! The best layout at each number of GPUs: the second program searches while the page rests, and the curve shows it when it is there.

use std::rc::Rc;
use std::sync::Arc;

use leptos::prelude::*;

use super::answers::Stairs;
use super::browser;
use super::browser_more::ask;
use super::more::wire::What;
use super::state::State;
use crate::scenario::codec::encode;

/// Looks for the best layouts anew whenever the scenario has changed and the page rests.
pub fn keep(state: State) {
    browser::on_rest(state, Rc::new(move || look(state)));
}

/// Looks for the best layouts, unless those of the present scenario are known.
pub fn look(state: State) {
    let training = state.answers.with_untracked(|answers| answers.job.training().is_some());
    let scenario = state.answers.with_untracked(|answers| answers.scenario.clone());
    let known = state.ui.with_untracked(|ui| ui.stairs.as_ref().is_some_and(|stairs| stairs.scenario == scenario));
    if known || !training || !browser::is_in_sight("plot-gpus") {
        return;
    }
    // Until they are there none are known, and nobody asks again.
    let pending = Stairs { scenario: scenario.clone(), best: Vec::new() };
    state.page(|ui| ui.stairs = Some(Arc::new(pending)));
    ask(state, What::Stairs, encode(&scenario), String::new(), move |reply| {
        // Without an answer the curve stays as it is; the next change asks again.
        if let Some(reply) = reply {
            let stairs = Stairs::read(scenario.clone(), &reply.html);
            state.page(|ui| ui.stairs = Some(Arc::new(stairs)));
        }
    });
}
