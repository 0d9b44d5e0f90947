//! The page's side of explanations: asks for those that are open, puts them in place, and copies
//! them.

use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement};

use super::browser;
use super::browser::patch_inside;
use super::browser_more::{ask, is_again};
use super::state::State;
use crate::scenario::codec::encode;
use crate::view::explaining::paths;
use crate::view::markup::Html;
use crate::view::slot;
use crate::worker::question::WorkerQuestion;
use crate::worker::wire::{MARK, Reply};

/// Keeps open explanations about the present scenario, and listens to what is in them.
pub fn keep(state: State) {
    browser::on_rest(state, Rc::new(move || follow(state)));
    browser::on("click", move |event| clicked(state, event));
}

/// Asks for all open explanations; what is shown stays until the answer is there, marked as an
/// earlier scenario's.
pub fn follow(state: State) {
    let paths = state.opened.with_untracked(paths);
    if paths.is_empty() {
        return;
    }
    for (place, _) in places() {
        let _ = place.set_attribute("aria-busy", "true");
    }
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    ask(state, fragment, WorkerQuestion::Explain(paths.clone()), move |reply| put(&paths, reply));
}

/// Every place of an explanation with its path.
fn places() -> Vec<(Element, String)> {
    let named = |place: Element| {
        let path = place.get_attribute("data-why")?;
        Some((place, path))
    };
    browser::all("[data-why]").into_iter().filter_map(named).collect()
}

fn put(paths: &str, reply: Option<Reply>) {
    let reply = reply.map(|reply| reply.html);
    let pieces: Vec<&str> = reply.iter().flat_map(|html| html.split(MARK)).collect();
    for (place, path) in places() {
        let Some(at) = paths.lines().position(|asked| asked == path) else { continue };
        let html = match (&reply, pieces.get(at)) {
            (Some(_), Some(piece)) => Html::made((*piece).to_owned()),
            _ => slot::out_of_reach(),
        };
        patch_inside(&place, &html);
        let _ = place.remove_attribute("aria-busy");
    }
}

fn clicked(state: State, event: &Event) {
    if let Some(place) = browser::within(event, "data-why").filter(|_| is_again(event)) {
        // The button that was pressed goes.
        patch_inside(&place, &slot::fetching());
        if let Some(place) = place.dyn_ref::<HtmlElement>() {
            let _ = place.focus();
        }
        return follow(state);
    }
    // In explanations, and wherever something is copied that stands in no input.
    if let (Some(text), Some(button)) =
        (browser::named(event, "data-copy"), browser::within(event, "data-copy"))
    {
        browser::copy(&text, move |done| {
            let said = button
                .parent_element()
                .and_then(|parent| parent.query_selector("[role=status]").ok().flatten());
            if let Some(said) = said {
                said.set_text_content(Some(if done {
                    "Copied."
                } else {
                    "This browser does not let the page copy."
                }));
            }
        });
    }
}
