//! What happens in the planner's panel: its form goes to the second program with one word, and what comes back is put in place.

use std::rc::Rc;

use leptos::prelude::*;

use super::browser::{self, Event};
use super::browser_more::{ask, fill};
use super::more::slot;
use super::more::wire::{Reply, What};
use super::panels::planner::PLACE;
use super::state::State;
use crate::scenario::codec::{decode, encode};

/// Keeps the open panel about the present scenario.
pub fn keep(state: State) {
    let follow = move || {
        if state.page_now().is_open(PLACE) {
            say(state, "show");
        }
    };
    browser::on_rest(state, Rc::new(follow));
}

/// Sends what stands in the form with a word: `show`, `search` or `stop`.
pub fn say(state: State, verb: &str) {
    let typed = browser::typed_in(PLACE);
    state.page(|ui| {
        if !typed.is_empty() {
            ui.plan = typed;
        }
    });
    let text = format!("{verb}\n{}", state.page_now().plan);
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    ask(state, What::Plan, fragment, text, move |reply| {
        fill(PLACE, &reply.map_or_else(slot::out_of_reach, Reply::made));
    });
    if verb == "stop" {
        // The button that was pressed goes.
        browser::focus("plan-status");
    }
}

/// The place of the list of what fits.
const FITS: &str = "fits";

/// Lists the models that fit the present accelerators, in the order and way that was asked for.
pub fn list_what_fits(state: State, order: &str) {
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    fill(FITS, &slot::listing());
    ask(state, What::Fits, fragment, order.to_owned(), move |reply| {
        fill(FITS, &reply.map_or_else(slot::out_of_reach, Reply::made));
    });
}

/// Makes what was found the scenario, as one step of undo.
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
