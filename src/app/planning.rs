//! The page's side of the planner's panel: its form goes to the second program with a verb, and the
//! answer is put in place.

use std::rc::Rc;

use leptos::prelude::*;

use super::browser::{self, Event};
use super::browser_more::{ask, fill};
use super::state::State;
use crate::scenario::codec::{decode, encode};
use crate::view::action::{FitsList, PlanVerb};
use crate::view::panels::places::PLANNER;
use crate::view::slot;
use crate::worker::question::{PlanQuestion, WorkerQuestion};
use crate::worker::wire::Reply;

/// Keeps the open panel about the present scenario.
pub fn keep(state: State) {
    let follow = move || {
        if state.opened.with_untracked(|opened| opened.is_open(PLANNER)) {
            say(state, PlanVerb::Show);
        }
    };
    browser::on_rest(state, Rc::new(follow));
}

/// Sends the inputs of the panel with a verb.
pub fn say(state: State, verb: PlanVerb) {
    let typed = browser::typed_in(PLANNER);
    if !typed.is_empty() {
        state.plan.set_value(typed);
    }
    let question = WorkerQuestion::Plan(PlanQuestion::Panel(verb), state.plan.get_value());
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    ask(state, fragment, question, move |reply| {
        fill(PLANNER, &reply.map_or_else(slot::out_of_reach, Reply::made));
    });
    if verb == PlanVerb::Stop {
        // The button that was pressed goes.
        browser::focus("plan-status");
    }
}

/// The place of the list of what fits.
const FITS: &str = "fits";

/// Lists the models that fit the present accelerators, in the order and way that was asked for.
pub fn list_what_fits(state: State, list: &FitsList) {
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    fill(FITS, &slot::listing());
    ask(state, fragment, WorkerQuestion::Fits(list.clone()), move |reply| {
        fill(FITS, &reply.map_or_else(slot::out_of_reach, Reply::made));
    });
}

/// Makes a scenario that was found the page's, as one step of undo.
pub fn take(state: State, link: &str, event: &Event) {
    // A point of the chart is a link, whose fragment would drop what is pinned.
    event.prevent_default();
    state.edit(None, |scenario| {
        let mut taken = decode(link).scenario;
        taken.follow_as(scenario);
        *scenario = taken;
    });
    state.say("Layout applied. Undo brings the last scenario back.", None);
}
