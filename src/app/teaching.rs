//! The page's side of the panel of stories and exercises: its inputs and the own stories go to the
//! second program with a verb; the answer is put in place after its orders were carried out.

use leptos::prelude::*;

use super::actions::not_understood;
use super::browser;
use super::browser_more::{ask, fill};
use super::presenting;
use super::state::State;
use crate::scenario::codec::{encode, is_of_lesson};
use crate::view::action::{Order, TeachVerb, TeachView};
use crate::view::markup::Html;
use crate::view::panels::teach::PLACE;
use crate::view::slot;
use crate::worker::question::{TeachingPage, WorkerQuestion};
use crate::worker::wire::MARK;

/// The panel was unfolded.
pub fn begin(state: State) {
    if !state.lessons.with_value(|lessons| lessons.begun) {
        say(state, &TeachVerb::Show);
    }
}

/// Opens the panel and goes there.
pub fn open(state: State) {
    browser::unfold(PLACE);
    browser::land_on(PLACE);
    begin(state);
}

/// Sends the panel's inputs with a verb.
pub fn say(state: State, verb: &TeachVerb) {
    if matches!(verb, TeachVerb::View(TeachView::List | TeachView::Keep(_))) {
        state.lesson_in_link("");
    }
    send(state, verb, browser::typed_in(PLACE));
}

fn send(state: State, verb: &TeachVerb, inputs: String) {
    state.lessons.update_value(|lessons| lessons.begun = true);
    let focus = verb.shows_another_view();
    let fragment = state.answers.with_untracked(|answers| encode(&answers.scenario));
    ask(state, fragment, WorkerQuestion::Teach(verb.clone(), page_with(inputs)), move |reply| {
        fill(PLACE, &reply.map_or_else(slot::out_of_reach, |reply| carried_out(state, reply.html)));
        if focus {
            // The button that was pressed is gone.
            browser::focus(PLACE);
        }
    });
}

/// The page as teaching sees it, with some inputs.
pub fn page_with(inputs: String) -> TeachingPage {
    let address = browser::link_to("").trim_end_matches('#').to_owned();
    TeachingPage { address, inputs, records: browser::stories() }
}

/// The orders before the HTML of an answer; `None` for one that is not understood.
pub fn orders(answer: &str) -> impl Iterator<Item = Option<Order>> {
    answer.split_once(MARK).map_or("", |(orders, _)| orders).lines().map(Order::read)
}

/// The HTML behind the orders of an answer.
pub fn without_orders(answer: String) -> Html {
    match answer.split_once(MARK) {
        Some((_, html)) => Html::made(html.to_owned()),
        None => Html::made(answer),
    }
}

/// Carries the orders out, and gives the HTML behind them.
pub fn carried_out(state: State, answer: String) -> Html {
    for order in orders(&answer) {
        match order {
            Some(order) => carry_out(state, order),
            None => not_understood(state),
        }
    }
    without_orders(answer)
}

fn carry_out(state: State, order: Order) {
    match order {
        Order::Store(name, file) => {
            if let Err(problem) = browser::keep_story(&name, &file) {
                state.tell(problem, true);
            }
        }
        Order::Progress(name, record) => {
            let told = || {
                state.lessons.try_update_value(|lessons| std::mem::replace(&mut lessons.told, true))
            };
            if browser::keep_story(&name, &record).is_err() && told() == Some(false) {
                state.tell(
                    "This browser does not keep your progress: copy the result code before you \
                     close the page."
                        .to_owned(),
                    true,
                );
            }
        }
        Order::Forget(name) => browser::forget_story(&name),
        Order::Aside(name) => browser::set_story_aside(&name),
        Order::File(id, file) => {
            browser::download(&format!("headroom-{id}.json"), "application/json", &file);
        }
        Order::Say(text) => state.say(text, None),
        Order::Problem(text) => state.tell(text, true),
        // The presenter reads the steps of its story.
        Order::Step(_) => {}
    }
}

/// Adds a story from a file.
pub fn add_file(state: State, text: Result<String, String>) {
    match text {
        // A file is sent as one line; in JSON a line ends only between two values.
        Ok(text) => send(
            state,
            &TeachVerb::Import,
            format!("file={}", text.replace(['\n', '\r', MARK], " ")),
        ),
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
    let part =
        |key: &str| fragment.split('&').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    let at = part("present").map(|at| {
        at.rsplit_once('.').map_or((at, 1), |(story, step)| (story, step.parse().unwrap_or(1)))
    });
    match (at, part("story"), part("task")) {
        (at, Some(packed), _) => {
            presenting::begin_packed(state, packed, at.map_or(1, |(_, step)| step));
        }
        (Some((story, step)), None, _) => {
            // A link that says nothing else leaves the scenario to the step.
            let bare = fragment.split('&').skip(1).all(is_of_lesson);
            presenting::begin(state, story, step, bare);
        }
        (None, None, Some(class)) => {
            state.lesson_in_link(&format!("&task={class}"));
            send(state, &TeachVerb::Sheet, format!("class={class}"));
            browser::unfold(PLACE);
            browser::land_on(PLACE);
        }
        (None, None, None) => {
            state.lesson_in_link("");
            presenting::leave(state);
        }
    }
}
