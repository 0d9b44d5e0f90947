//! The part of the share dialog below the link: the second program makes its buttons and the files
//! behind them.

use leptos::prelude::*;

use super::browser;
use super::browser_more::{ask, fill};
use super::state::State;
use crate::view::panels::dialogs::share::PLACE;
use crate::view::slot;
use crate::worker::wire::{Reply, What};

/// Asks for the buttons.
pub fn begin(state: State) {
    request(state, "menu", |reply| {
        fill(PLACE, &reply.map_or_else(slot::out_of_reach, Reply::made));
    });
}

/// Asks for one file and hands it to the browser.
pub fn take(state: State, form: &str) {
    request(state, form, move |reply| {
        let text = reply.map(|reply| reply.html).unwrap_or_default();
        let (head, text) = text.split_once('\n').unwrap_or_default();
        match head.split_once(' ') {
            Some((name, media_type)) => browser::download(name, media_type, text),
            None => state.tell(text.to_owned(), true),
        }
    });
}

fn request(state: State, what: &str, done: impl FnMut(Option<Reply>) + 'static) {
    let said = state.said_now();
    let now = browser::clock_ms();
    let mut text = what.to_owned();
    for line in [
        browser::link_to("").trim_end_matches('#'),
        &browser::local_date(now),
        &now.to_string(),
        &state.look.with_untracked(|look| look.log_axis).to_string(),
        &said.compare.len().to_string(),
    ] {
        text.push('\n');
        text.push_str(line);
    }
    ask(state, What::Export, browser::fragment_of(&said), text, done);
}
