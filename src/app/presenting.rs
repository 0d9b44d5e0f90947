//! The presenter: one step of a story at a time. All steps come at once from the second program; here they are shown and hidden, and
//! each step's scenario becomes the page's.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::browser::{self, Event};
use super::browser_more::{ask, fill};
use super::history::{History, Snapshot};
use super::more::wire::{MARK, What};
use super::panels::teach::{PLACE, STAGE, code, link_of_step};
use super::state::{Change, State};
use super::teaching::{carried_out, question};
use crate::lessons::story::Look;
use crate::scenario::Scenario;
use crate::scenario::codec::{decode, encode};

/// A story that is being shown.
struct Show {
    /// Its name in links, with what goes before and after the step's number.
    link: (String, String),
    /// What the page showed before.
    before: Snapshot,
    /// The steps of undo before it.
    history: History,
    steps: Vec<Step>,
    at: usize,
    began: f64,
    /// Steps whose question was answered or revealed.
    revealed: Vec<usize>,
}

struct Step {
    scenario: Scenario,
    look: String,
    live: String,
}

thread_local! {
    static SHOW: RefCell<Option<Show>> = const { RefCell::new(None) };
    static LISTENS: Cell<bool> = const { Cell::new(false) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
}

/// Shows a story, named with its step: `zero.3`. With `fresh` the step's scenario replaces the page's.
pub fn begin(state: State, about: &str, fresh: bool) {
    let (id, at) = about.rsplit_once('.').unwrap_or((about, "1"));
    let link = (format!("&present={id}."), String::new());
    // With what stands in the editor, which is shown as it is now.
    fetch(state, question(id, &browser::typed_in(PLACE)), link, at.parse().unwrap_or(1), fresh);
}

/// Shows the story that a link holds.
pub fn begin_packed(state: State, packed: &str, about: &str) {
    let at = about.rsplit_once('.').and_then(|(_, at)| at.parse().ok());
    let link = ("&present=own.".to_owned(), format!("&story={packed}"));
    fetch(state, question("packed", &format!("story={packed}")), link, at.unwrap_or(1), true);
}

fn fetch(state: State, text: String, link: (String, String), at: usize, fresh: bool) {
    ask(state, What::Story, String::new(), text, move |reply| {
        let Some(reply) = reply else {
            return state.tell("The stories could not be fetched. Try again when the network is back.".to_owned(), true);
        };
        let steps: Vec<Step> = reply.html.split(MARK).next().unwrap_or_default().lines().filter_map(step).collect();
        let html = carried_out(state, reply.html);
        if !steps.is_empty() {
            leave(state);
            fill(STAGE, &html);
            begun(state, steps, link.clone(), at, fresh);
        }
    });
}

/// Reads `step LINK LOOK LIVE`.
fn step(line: &str) -> Option<Step> {
    let mut words = line.strip_prefix("step ")?.split(' ');
    let scenario = decode(words.next()?).scenario;
    let look = words.next()?.to_owned();
    let live = words.next().unwrap_or_default().replace(',', " ");
    Some(Step { scenario, look, live })
}

fn begun(state: State, steps: Vec<Step>, link: (String, String), at: usize, fresh: bool) {
    let at = at.clamp(1, steps.len()) - 1;
    let (before, history) = (state.said_now(), state.begin_steps());
    SHOW.set(Some(Show { link, before, history, steps, at, began: browser::now_ms(), revealed: Vec::new() }));
    if !LISTENS.replace(true) {
        browser::on("keydown", move |event| key(state, event));
        browser::on_rest(state, Rc::new(move || keep_figure(state)));
    }
    browser::set_hidden(STAGE, false);
    go(state, at, fresh);
    browser::focus(STAGE);
}

/// Shows a step, with its scenario unless the page has that of a link.
fn go(state: State, at: usize, fresh: bool) {
    let shown = SHOW.with_borrow_mut(|show| {
        let show = show.as_mut()?;
        let step = show.steps.get(at)?;
        show.at = at;
        let part = format!("{}{}{}", show.link.0, at + 1, show.link.1);
        let count = show.steps.len();
        Some((
            step.scenario.clone(),
            step.look.clone(),
            step.live.clone(),
            part,
            (format!("{} of {count}", at + 1), at + 1 == count),
        ))
    });
    let Some((scenario, look, live, part, (place, last))) = shown else { return };
    browser::mark("data-present", Some(&(at + 1).to_string()));
    browser::mark("data-look", Some(&look));
    browser::mark("data-live", Some(&live).filter(|live| !live.is_empty()).map(String::as_str));
    browser::show_step(at + 1);
    browser::set_text("present-place", &place);
    browser::mark("data-last", last.then_some("true"));
    tell_question(state);
    state.look.change(|shown| shown.at_step = look == Look::States.word());
    if fresh {
        state.show_step(scenario);
    }
    state.begin_steps();
    browser::unfold_for(&live);
    browser::lesson_in_link(&part);
    write_code(state);
    // Sentence, inputs and picture share the window anew with each step; the inputs are written a moment later.
    for later in [0, 200] {
        browser::after(later, move || super::page::resize(state));
    }
}

/// Hides what a question asks for until it is answered or revealed.
fn tell_question(state: State) {
    let open = SHOW.with_borrow(|show| show.as_ref().is_some_and(|show| show.revealed.contains(&show.at)));
    let asks = browser::step_asks() && !open;
    let last = browser::marked("data-last").is_some();
    // There is nothing behind the last step but its end.
    browser::set_text("present-next", if last && !asks { "End" } else { "Next" });
    if asks != is_asking() {
        browser::mark("data-asking", asks.then_some("true"));
        // The picture is shown or hidden.
        browser::after(0, move || super::page::resize(state));
    }
}

/// Whether the present step's question waits.
fn is_asking() -> bool {
    browser::marked("data-asking").is_some()
}

fn reveal(state: State) {
    SHOW.with_borrow_mut(|show| {
        if let Some(show) = show {
            show.revealed.push(show.at);
        }
    });
    tell_question(state);
}

/// Does what a button or a key says.
pub fn act(state: State, verb: &str) {
    let Some((at, count, began)) = SHOW.with_borrow(|show| show.as_ref().map(|show| (show.at, show.steps.len(), show.began)))
    else {
        return;
    };
    match verb {
        "next" | "on" if is_asking() => reveal(state),
        "next" | "on" if at + 1 < count => go(state, at + 1, true),
        "back" if at > 0 => go(state, at - 1, true),
        "reveal" => reveal(state),
        "qr" => {
            let shown = browser::is_hidden("present-qr");
            browser::set_hidden("present-qr", !shown);
            browser::mark("data-code", shown.then_some("true"));
            write_code(state);
            // The picture leaves the code its room.
            browser::after(0, move || super::page::resize(state));
        }
        "keys" => browser::set_hidden("present-keys", !browser::is_hidden("present-keys")),
        "timer" => {
            let off = !browser::is_hidden("present-timer");
            browser::set_hidden("present-timer", off);
            TICKS.set(TICKS.get().wrapping_add(1));
            tick(began, TICKS.get());
        }
        "answer" => answer(state, at),
        "keep" => end(state, true),
        // On the last step the button says that it ends; a key that is pressed once too often ends nothing.
        "next" | "end" => end(state, false),
        number => {
            if let Some(to) = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|to| *to < count) {
                go(state, to, true);
            }
        }
    }
}

/// The code of the present step, where it is wanted.
pub fn write_code(state: State) {
    let Some(at) = SHOW.with_borrow(|show| show.as_ref().map(|show| show.at)) else { return };
    if !browser::is_hidden("present-qr") {
        let step = browser::link_with_lesson(&browser::fragment_of(&state.said_now()));
        let own = browser::attribute("present-qr", "data-story");
        let link = link_of_step(&step, own.as_deref(), at + 1).map(|link| browser::link_to(&link));
        fill("present-qr", &code(link.as_deref()));
    }
}

/// Writes how long the story has been shown, every second while that is wanted.
fn tick(began: f64, number: u32) {
    if browser::is_hidden("present-timer") || TICKS.get() != number || SHOW.with_borrow(Option::is_none) {
        return;
    }
    let seconds = crate::units::ceil_u64((browser::now_ms() - began) / 1000.0);
    browser::set_text("present-timer", &format!("{}:{:02}", seconds / 60, seconds % 60));
    browser::after(1000, move || tick(began, number));
}

/// Has an answer looked at.
fn answer(state: State, at: usize) {
    let link = SHOW.with_borrow(|show| show.as_ref().and_then(|show| Some(encode(&show.steps.get(at)?.scenario))));
    let form = browser::typed_in(&format!("present-ask-{}", at + 1));
    ask(state, What::Story, link.unwrap_or_default(), format!("answer\n\n{form}"), move |reply| {
        let Some(reply) = reply else { return };
        let right = reply.html.starts_with("right");
        fill(&format!("present-said-{}", at + 1), &carried_out(state, reply.html));
        if right {
            reveal(state);
        }
    });
}

/// The figure of a step follows what the speaker changes.
fn keep_figure(state: State) {
    let Some(at) = SHOW.with_borrow(|show| show.as_ref().map(|show| show.at)) else { return };
    let (id, link) = (format!("present-figure-{}", at + 1), encode(&state.scenario_now()));
    let figure = browser::attribute(&id, "data-figure").unwrap_or_default();
    write_code(state);
    // Not as `What::Story`: an answer that is being looked at would be forgotten.
    ask(state, What::Figure, link, figure, move |reply| {
        if let Some(reply) = reply {
            fill(&id, &carried_out(state, reply.html));
        }
    });
}

/// Ends the story: back to what was before, or on with what is shown, as one step of undo.
fn end(state: State, keep: bool) {
    let Some(show) = SHOW.take() else { return };
    browser::lesson_in_link("");
    state.end_story(show.history, show.before, keep);
    close(state);
    browser::unfold(PLACE);
    browser::land_on(PLACE);
    browser::after(0, move || super::page::resize(state));
    let said = if keep { "Undo brings back what was shown before the story" } else { "Back to what was shown before the story" };
    state.say(said, None);
}

/// Ends the story where another link was opened.
pub fn leave(state: State) {
    if let Some(show) = SHOW.take() {
        state.end_story(show.history, show.before, true);
        close(state);
    }
}

fn close(state: State) {
    for name in ["data-present", "data-look", "data-live", "data-asking", "data-last", "data-code"] {
        browser::mark(name, None);
    }
    state.look.change(|shown| shown.at_step = false);
    browser::set_hidden(STAGE, true);
}

/// Keys of the presenter; what is typed into an input or read on a curve is not for it.
fn key(state: State, event: &Event) {
    if SHOW.with_borrow(Option::is_none) || browser::has_modifier(event) {
        return;
    }
    let key = browser::key_of(event).unwrap_or_default();
    let typing = browser::targets(event, "input, select, textarea, [role=slider]");
    let verb = match key.as_str() {
        "Escape" if !browser::is_hidden("present-keys") => "keys",
        "Escape" => "end",
        _ if typing => return,
        // A button does its own thing.
        " " if browser::targets(event, "button, summary, label") => return,
        " " | "ArrowRight" | "PageDown" => "on",
        "ArrowLeft" | "PageUp" => "back",
        "?" => "keys",
        "q" | "Q" => "qr",
        "t" | "T" => "timer",
        digit if digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit()) => digit,
        _ => return,
    };
    event.prevent_default();
    act(state, verb);
}
