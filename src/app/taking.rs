//! The part of the share dialog below the link: the second program makes its buttons and the files
//! behind them.

use leptos::prelude::*;

use super::browser;
use super::browser_more::{ask, fill};
use super::state::State;
use crate::view::export::ExportFormat;
use crate::view::panels::dialogs::share::PLACE;
use crate::view::slot;
use crate::worker::question::{ExportQuestion, WorkerQuestion};
use crate::worker::wire::Reply;

/// Asks for the buttons.
pub fn begin(state: State) {
    request(state, None, |reply| {
        fill(PLACE, &reply.map_or_else(slot::out_of_reach, Reply::made));
    });
}

/// Asks for one file and hands it to the browser.
pub fn take(state: State, file: ExportFormat) {
    request(state, Some(file), move |reply| {
        let text = reply.map(|reply| reply.html).unwrap_or_default();
        let (head, text) = text.split_once('\n').unwrap_or_default();
        match head.split_once(' ') {
            Some((name, media_type)) => browser::download(name, media_type, text),
            None => state.tell(text.to_owned(), true),
        }
    });
}

fn request(state: State, file: Option<ExportFormat>, done: impl FnMut(Option<Reply>) + 'static) {
    let said = state.said_now();
    let clock_ms = browser::clock_ms();
    let asked = ExportQuestion {
        file,
        address: browser::link_to("").trim_end_matches('#').to_owned(),
        when: browser::local_date(clock_ms),
        clock_ms,
        log: state.look.with_untracked(|look| look.log_axis),
        pinned: said.compare.len(),
    };
    ask(state, browser::fragment_of(&said), WorkerQuestion::Export(asked), done);
}
