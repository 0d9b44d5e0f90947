//! The presenter on the page: carries out what its [state machine](crate::view::presenter) says.
//! All steps come at once from the second program; here they are shown and hidden, and each step's
//! scenario becomes the page's.

use std::rc::Rc;

use leptos::prelude::*;

use super::browser::{self, Event};
use super::browser_more::{ask, fill};
use super::state::{State, StateChange};
use super::teaching::{carried_out, orders, page_with};
use crate::scenario::codec::encode;
use crate::view::action::{Order, StageVerb};
use crate::view::panels::teach::{PLACE, STAGE, code, link_of_step};
use crate::view::presenter::{
    MARKS, PresentedStep, Presenter, Pressed, Show, Then, link_with_lesson, marks,
};
use crate::worker::question::{StoryQuestion, TeachingPage, WorkerQuestion};

/// Listens to the presenter's keys, and keeps the figure of its step about the present scenario.
pub fn listen(state: State) {
    browser::on("keydown", move |event| key(state, event));
    browser::on_rest(state, Rc::new(move || keep_figure(state)));
}

/// Shows a story from a step on. With `fresh` the step's scenario replaces the page's.
pub fn begin(state: State, id: &str, step: usize, fresh: bool) {
    let address = (format!("&present={id}."), String::new());
    // With the editor's inputs, so that it is shown as it is now.
    let story = StoryQuestion::Named(id.to_owned());
    let question = WorkerQuestion::Story(story, page_with(browser::typed_in(PLACE)));
    fetch(state, question, address, step, fresh);
}

/// Shows the story that a link holds.
pub fn begin_packed(state: State, packed: &str, step: usize) {
    let address = ("&present=own.".to_owned(), format!("&story={packed}"));
    let question =
        WorkerQuestion::Story(StoryQuestion::Packed, page_with(format!("story={packed}")));
    fetch(state, question, address, step, true);
}

fn fetch(
    state: State,
    question: WorkerQuestion,
    address: (String, String),
    step: usize,
    fresh: bool,
) {
    ask(state, String::new(), question, move |reply| {
        let Some(reply) = reply else {
            return state.tell(
                "The stories could not be fetched. Try again when the network is back.".to_owned(),
                true,
            );
        };
        let steps: Vec<_> = orders(&reply.html)
            .filter_map(|order| match order {
                Some(Order::Step(step)) => Some(step),
                _ => None,
            })
            .collect();
        let html = carried_out(state, reply.html);
        if steps.is_empty() {
            return;
        }
        leave(state);
        fill(STAGE, &html);
        let asks = browser::steps_that_ask();
        let step_at = |(at, order)| PresentedStep::of(order, asks.contains(&at));
        let steps = steps.iter().enumerate().map(step_at).collect();
        if let Some(presenter) = Presenter::new(steps, address.clone(), step, browser::now_ms()) {
            begun(state, presenter, fresh);
        }
    });
}

fn begun(state: State, presenter: Presenter, fresh: bool) {
    let (before, history) = (state.said_now(), state.begin_steps());
    state.lessons.update_value(|lessons| lessons.show = Some(Show { presenter, before, history }));
    browser::set_hidden(STAGE, false);
    show_step(state, fresh);
    browser::focus(STAGE);
}

/// Asks the presenter of the story that is shown; nothing where none is.
fn with<T>(state: State, read: impl FnOnce(&mut Presenter) -> T) -> Option<T> {
    state
        .lessons
        .try_update_value(|lessons| lessons.show.as_mut().map(|show| read(&mut show.presenter)))
        .flatten()
}

/// Writes marks and words of the present step.
fn write(state: State) {
    let said =
        with(state, |presenter| (presenter.place(), presenter.next_says(), marks(Some(presenter))));
    let Some((place, next, marks)) = said else { return };
    let was = browser::marked("data-asking");
    mark(&marks);
    browser::set_text("present-place", &place);
    browser::set_text("present-next", next);
    if was != browser::marked("data-asking") {
        // The picture is shown or hidden.
        browser::after(0, move || super::page::resize(state));
    }
}

fn mark(marks: &[Option<String>; 6]) {
    for (name, value) in MARKS.iter().zip(marks) {
        browser::mark(name, value.as_deref());
    }
}

/// Shows the present step, with its scenario unless the page has that of a link.
fn show_step(state: State, fresh: bool) {
    let said = with(state, |presenter| {
        Some((
            presenter.step()?.clone(),
            presenter.at(),
            presenter.address(),
            presenter.is_at_step(),
        ))
    });
    let Some((step, at, address, at_step)) = said.flatten() else { return };
    browser::show_step(at + 1);
    write(state);
    state.look.change(|look| look.at_step = at_step);
    if fresh {
        state.show_step(step.scenario);
    }
    state.begin_steps();
    browser::unfold_for(&step.live);
    state.lesson_in_link(&address);
    write_code(state);
    // Sentence, inputs and picture share the window anew with each step; the inputs are written a
    // moment later.
    for later in [0, 200] {
        browser::after(later, move || super::page::resize(state));
    }
}

/// Does what a button or a key says.
pub fn act(state: State, verb: StageVerb) {
    match with(state, |presenter| presenter.act(verb)) {
        Some(Then::Nothing) | None => {}
        Some(Then::ShowStep) => show_step(state, true),
        Some(Then::Reveal) => write(state),
        Some(Then::Code) => show_code(state),
        Some(Then::Keys) => {
            let keys = with(state, |presenter| presenter.keys);
            browser::set_hidden("present-keys", keys != Some(true));
        }
        Some(Then::Timer) => show_timer(state),
        Some(Then::LookAtAnswer) => answer(state),
        Some(Then::End { keep }) => end(state, keep),
    }
}

fn show_code(state: State) {
    let code = with(state, |presenter| presenter.code);
    browser::set_hidden("present-qr", code != Some(true));
    write(state);
    write_code(state);
    // The picture leaves the code its room.
    browser::after(0, move || super::page::resize(state));
}

fn show_timer(state: State) {
    let Some((timer, switched)) = with(state, |presenter| (presenter.timer, presenter.switched))
    else {
        return;
    };
    browser::set_hidden("present-timer", !timer);
    tick(state, switched);
}

/// The code of the present step, where it is wanted.
pub fn write_code(state: State) {
    let Some(at) = with(state, |presenter| presenter.code.then_some(presenter.at())).flatten()
    else {
        return;
    };
    let lesson = state.lessons.with_value(|lessons| lessons.address.clone());
    let step = link_with_lesson(&browser::fragment_of(&state.said_now()), &lesson);
    let own = browser::attribute("present-qr", "data-story");
    let link = link_of_step(&step, own.as_deref(), at + 1).map(|link| browser::link_to(&link));
    fill("present-qr", &code(link.as_deref()));
}

/// Writes how long the story has been shown, every second until the timer is switched.
fn tick(state: State, switched: u32) {
    let now = browser::now_ms();
    let time = with(state, |presenter| {
        (presenter.timer && presenter.switched == switched).then(|| presenter.time(now))
    });
    let Some(time) = time.flatten() else { return };
    browser::set_text("present-timer", &time);
    browser::after(1000, move || tick(state, switched));
}

/// Has an answer looked at.
fn answer(state: State) {
    let said = with(state, |presenter| Some((presenter.at(), encode(&presenter.step()?.scenario))))
        .flatten();
    let Some((at, link)) = said else { return };
    let form = browser::typed_in(&format!("present-ask-{}", at + 1));
    let page = TeachingPage { inputs: form, ..TeachingPage::default() };
    ask(state, link, WorkerQuestion::Story(StoryQuestion::Answer, page), move |reply| {
        let Some(reply) = reply else { return };
        let right = reply.html.starts_with("right");
        fill(&format!("present-said-{}", at + 1), &super::teaching::without_orders(reply.html));
        if right {
            act(state, StageVerb::Reveal);
        }
    });
}

/// The figure of a step follows the speaker's changes.
fn keep_figure(state: State) {
    let Some(at) = with(state, |presenter| presenter.at()) else { return };
    let (id, link) = (format!("present-figure-{}", at + 1), encode(&state.scenario_now()));
    let figure = browser::attribute(&id, "data-figure").unwrap_or_default();
    write_code(state);
    // Not as a story: an answer that is being looked at would be forgotten.
    ask(state, link, WorkerQuestion::Figure(figure), move |reply| {
        if let Some(reply) = reply {
            fill(&id, &carried_out(state, reply.html));
        }
    });
}

fn taken(state: State) -> Option<Show> {
    state.lessons.try_update_value(|lessons| lessons.show.take()).flatten()
}

/// Ends the story: back to what was shown before, or on with what is shown, as one step of undo.
fn end(state: State, keep: bool) {
    let Some(show) = taken(state) else { return };
    state.lesson_in_link("");
    state.end_story(show.history, show.before, keep);
    close(state);
    browser::unfold(PLACE);
    browser::land_on(PLACE);
    browser::after(0, move || super::page::resize(state));
    let said = if keep {
        "Undo brings back what was shown before the story"
    } else {
        "Back to what was shown before the story"
    };
    state.say(said, None);
}

/// Ends the story where another link was opened.
pub fn leave(state: State) {
    if let Some(show) = taken(state) {
        state.end_story(show.history, show.before, true);
        close(state);
    }
}

fn close(state: State) {
    mark(&marks(None));
    state.look.change(|look| look.at_step = false);
    browser::set_hidden(STAGE, true);
}

fn key(state: State, event: &Event) {
    if browser::has_modifier(event) {
        return;
    }
    let key = browser::key_of(event).unwrap_or_default();
    let pressed = if browser::targets(event, "input, select, textarea, [role=slider]") {
        Pressed::InInput
    } else if browser::targets(event, "button, summary, label") {
        Pressed::OnButton
    } else {
        Pressed::Anywhere
    };
    if let Some(verb) = with(state, |presenter| presenter.verb_of(&key, pressed)).flatten() {
        event.prevent_default();
        act(state, verb);
    }
}
