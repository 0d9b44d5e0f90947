//! What happens in the panel of stories and exercises: its inputs and the own stories go to the second program with one verb; its
//! answer is put in place after its orders were carried out.

use std::cell::Cell;

use leptos::prelude::*;

use super::browser;
use super::browser_more::{ask, fill};
use super::markup::Html;
use super::more::slot;
use super::more::wire::{MARK, What};
use super::panels::teach::PLACE;
use super::presenting;
use super::state::State;
use crate::scenario::codec::{encode, is_of_lesson};

thread_local! {
    /// Whether the panel was asked for something: unfolding it then brings nothing else.
    static BEGUN: Cell<bool> = const { Cell::new(false) };
    /// Whether it was told that progress is not kept.
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// The panel was unfolded.
pub fn begin(state: State) {
    if !BEGUN.get() {
        say(state, "show");
    }
}

/// Opens the panel and goes there.
pub fn open(state: State) {
    browser::unfold(PLACE);
    browser::land_on(PLACE);
    begin(state);
}

/// Sends what stands in the panel with a verb.
pub fn say(state: State, verb: &str) {
    if verb == "view:list" {
        browser::lesson_in_link("");
    }
    send(state, verb, &browser::typed_in(PLACE));
}

fn send(state: State, verb: &str, form: &str) {
    BEGUN.set(true);
    let focus = verb.starts_with("view") || verb == "new" || verb.starts_with("copy");
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    ask(state, What::Teach, fragment, question(verb, form), move |reply| {
        fill(PLACE, &reply.map_or_else(slot::out_of_reach, |reply| carried_out(state, reply.html)));
        if focus {
            // What was pressed is gone.
            browser::focus(PLACE);
        }
    });
}

/// A question with the address of the page, some inputs, and what is stored of own stories and of worksheets.
pub fn question(verb: &str, form: &str) -> String {
    let address = browser::link_to("");
    let mut text = format!("{verb}\n{}\n{form}", address.trim_end_matches('#'));
    for (name, record) in browser::stories() {
        text.push(MARK);
        text.push_str(&name);
        text.push('\n');
        text.push_str(&record);
    }
    text
}

/// Carries the orders out, and gives the HTML behind them.
pub fn carried_out(state: State, answer: String) -> Html {
    let Some((orders, html)) = answer.split_once(MARK) else { return Html::made(answer) };
    for (word, rest) in orders.lines().filter_map(|line| line.split_once(' ')) {
        let (id, file) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "store" => {
                if let Err(problem) = browser::keep_story(id, file) {
                    state.tell(problem, true);
                }
            }
            // Told once: every answer would say so again.
            "progress" if browser::keep_story(id, file).is_err() && !TOLD.replace(true) => {
                state.tell(
                    "This browser does not keep your progress: copy the result code before you close the page.".to_owned(),
                    true,
                );
            }
            "forget" => browser::forget_story(id),
            "aside" => browser::set_story_aside(id),
            "file" => browser::download(&format!("headroom-{id}.json"), "application/json", file),
            "say" => state.say(rest, None),
            "problem" => state.tell(rest.to_owned(), true),
            _ => {}
        }
    }
    Html::made(html.to_owned())
}

/// Adds a story from a file.
pub fn add_file(state: State, text: Result<String, String>) {
    match text {
        // A file is sent as one line; in JSON a line ends only between two values.
        Ok(text) => send(state, "import", &format!("file={}", text.replace(['\n', '\r', MARK], " "))),
        Err(problem) => state.tell(problem, true),
    }
}

/// Prints the handout instead of the page.
pub fn print_sheet() {
    browser::mark("data-print", Some("handout"));
    browser::print();
    browser::after(1000, || browser::mark("data-print", None));
}

/// Opens what a link says besides the scenario: a story at a step, or a worksheet.
pub fn follow(state: State, fragment: &str) {
    let part = |key: &str| fragment.split('&').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    match (part("present"), part("story"), part("task")) {
        (at, Some(packed), _) => presenting::begin_packed(state, packed, at.unwrap_or("own.1")),
        (Some(at), None, _) => {
            // A link that says nothing else leaves the scenario to the step.
            let bare = fragment.split('&').skip(1).all(is_of_lesson);
            presenting::begin(state, at, bare);
        }
        (None, None, Some(class)) => {
            browser::lesson_in_link(&format!("&task={class}"));
            send(state, "sheet", &format!("class={class}"));
            browser::unfold(PLACE);
            browser::land_on(PLACE);
        }
        (None, None, None) => {
            browser::lesson_in_link("");
            presenting::leave(state);
        }
    }
}
