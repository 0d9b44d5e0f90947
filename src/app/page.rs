//! How the page starts: it takes over the HTML that stands there already, part by part, and keeps each part up to date.

use std::rc::Rc;

use super::browser::Element;
use leptos::prelude::*;

use super::answers::Answers;
use super::browser_more::keep_panel;
use super::history::Snapshot;
use super::markup::Html;
use super::more::wire::What;
use super::panels::{
    bar, compare, controls, cost, curves, dialogs, fixes, frame, ledger, notices, printed, saved, time, top_bar, unanswered,
    verdict,
};
use super::shelf::Shelf;
use super::state::{Dialog, State};
use super::ui::Ui;
use super::{actions, browser, limits, planning, reading, stairs, teaching, typing};
use super::{browser_later, browser_modules, browser_why};
use crate::planner::Axis;
use crate::scenario::codec::{Decoded, is_of_lesson};
use crate::scenario::later::{Answerer, answered_by};

/// Starts the page in the element `app`.
pub fn start(later: Answerer) {
    answered_by(later);
    browser::install_panic_hook();
    if let Some(theme) = browser::saved_theme() {
        browser::set_theme(&theme);
    }
    // A task of its own: the browser has just read the program.
    browser::after(0, || browser_later::read(&browser::fragment(), mount));
}

fn mount(decoded: Decoded) {
    let Some(root) = browser::root() else { return };
    leptos::mount::mount_to(root, || view! { <App decoded /> }).forget();
}

/// Starts the page that fetches its program for later when that is needed.
pub fn start_page() {
    start(browser_later::ask);
}

/// The page: its state, what happens on events, and its parts. They stand in the HTML, so that the component itself adds nothing.
#[component]
pub fn App(
    /// The link that the page was opened with, as it was read.
    decoded: Decoded,
) -> impl IntoView {
    let state = State::new(decoded.scenario, decoded.compare, Ui::default());
    for notice in decoded.notices {
        state.tell(notice, true);
    }
    build(state, 0);
}

/// Computes the answer.
fn compute(state: State) {
    let largest = state.answers.with_untracked(|answers| ledger::opened_at_start(&answers.estimate));
    state.page(|ui| ui.open.extend(largest));
}

/// Looks how much room there is.
fn room(state: State) {
    state.answers.with_untracked(|answers| _ = (answers.inverse(), answers.fixes().len()));
}

/// Listens to what happens, and makes room for the parts.
fn listen(state: State) {
    Shelf(state).open_up();
    resize(state);
    browser::on_resize(move || resize(state));
    browser::keep_link(state);
    browser::keep_title(Box::new(move || state.said.with(|said| format!("{} – Headroom", top_bar::title(&said.scenario)))));
    browser_modules::keep(state);
    browser::on_link_change(move |link| follow(state, &link));
    browser::on_undo_keys(move || state.undo(), move || state.redo());
    actions::listen(state);
    reading::listen(state);
    typing::listen(state);
    browser::announce(state, move || state.answers.with(|answers| state.ui.with(|ui| verdict::spoken(answers, ui))));
    if let Some(root) = browser::root() {
        browser::patch_inside(&root, &frame::first_screen());
    }
}

/// What is done until the page is live, in this order. Each is a task of its own, so that the browser can paint and take input in between.
const STEPS: [fn(State); 10] = [compute, room, listen, answer, stack, form, plots, table, rest, dialogs];

fn build(state: State, step: usize) {
    let Some(part) = STEPS.get(step) else { return browser::after(0, browser::is_live) };
    later(state, move || {
        part(state);
        build(state, step + 1);
    });
}

/// Runs something in a task of its own, for as long as the page.
fn later(state: State, action: impl FnOnce() + 'static) {
    browser::after(0, move || match &state.owner {
        Some(owner) => owner.with(action),
        None => action(),
    });
}

/// What writes a part of the page.
type Part = fn(&Snapshot, &Answers, &Ui) -> Html;

/// Keeps a part what its function says.
fn show(state: State, name: &'static str, part: Part) {
    browser::show(name, Box::new(move || written(state, name, part)), |_| {});
}

fn written(state: State, name: &str, part: Part) -> Html {
    state.said.with(|said| {
        state
            .answers
            .with(|answers| state.ui.with(|ui| unanswered::instead(name, answers, ui).unwrap_or_else(|| part(said, answers, ui))))
    })
}

/// Keeps a part what its function says once that has happened after a change; calls back after each change of the part.
fn show_after(happened: &ArcTrigger, state: State, name: &'static str, part: Part, changed: fn(&Element)) {
    let happened = happened.clone();
    browser::show(name, Box::new(move || after(&happened, || written(state, name, part))), changed);
}

/// Reads what it needs, and again whenever that has happened.
fn after<T>(happened: &ArcTrigger, read: impl FnOnce() -> T) -> T {
    happened.track();
    untrack(read)
}

/// The same for what is drawn once the answer's words stand: before the browser paints, but text is in the document sooner.
fn after_words<T>(state: State, read: impl FnOnce() -> T) -> T {
    after(&state.worded, read)
}

fn answer(state: State) {
    browser::keep_painted(state);
    browser::keep_standing(state, resize);
    show(state, "bar", |said, _, ui| top_bar::top_bar(&said.scenario, ui));
    show(state, "notices", |_, _, ui| notices::notices(ui));
    show(state, "strip", |_, answers, ui| verdict::strip(answers, ui));
    show(state, "verdict", |_, answers, ui| verdict::verdict(answers, ui));
    browser::headline_stands();
}

fn stack(state: State) {
    show(state, "stack", |_, answers, ui| bar::stack(answers, ui.bar_width, ui.at_step));
    show_after(&state.painted, state, "fixes", |_, answers, ui| fixes::fixes(answers, ui), |_| {});
    // Behind what has been written: these words stand when the others begin.
    browser::keep_worded(state);
}

/// The parts of the form, with their inputs.
const FORM: [(&str, Part); 10] = [
    ("group-0", |said, answers, ui| controls::section(0, &said.scenario, answers, ui)),
    ("group-1", |said, answers, ui| controls::section(1, &said.scenario, answers, ui)),
    ("group-2", |said, answers, ui| controls::section(2, &said.scenario, answers, ui)),
    ("fold-0", |said, answers, ui| controls::fold(0, &said.scenario, answers, ui)),
    ("fold-1", |said, answers, ui| controls::fold(1, &said.scenario, answers, ui)),
    ("fold-2", |said, answers, ui| controls::fold(2, &said.scenario, answers, ui)),
    ("fold-3", |said, answers, ui| controls::fold(3, &said.scenario, answers, ui)),
    ("fold-4", |said, answers, ui| controls::fold(4, &said.scenario, answers, ui)),
    ("fold-5", |said, answers, ui| controls::fold(5, &said.scenario, answers, ui)),
    ("fold-6", |said, answers, ui| controls::fold(6, &said.scenario, answers, ui)),
];

fn form(state: State) {
    show(state, "mode", |said, answers, ui| controls::mode_switch(&said.scenario, answers, ui));
    for (name, part) in FORM {
        show_after(&state.painted, state, name, part, browser::fill_inputs);
    }
}

fn plots(state: State) {
    show(state, "tabs", |_, _, ui| curves::tabs(ui));
    plot(state, Axis::SeqLength, ["curve-seq", "svg-seq", "cursor-seq"]);
    plot(state, Axis::Gpus, ["curve-gpus", "svg-gpus", "cursor-gpus"]);
    // Without a frame of the same size the charts find their room once they are on the page.
    resize(state);
}

fn plot(state: State, axis: Axis, [panel, picture, line]: [&'static str; 3]) {
    let instead = move |name| state.answers.with(|answers| state.ui.with(|ui| unanswered::instead(name, answers, ui)));
    let html = move || {
        instead(panel).unwrap_or_else(|| {
            state.plots.with(|plots| state.answers.with(|answers| state.ui.with(|ui| curves::panel(plots, axis, answers, ui))))
        })
    };
    // What stands around the picture, with the reading below it, follows it: the picture says the same, and is there sooner.
    browser::show(panel, Box::new(move || after(&state.painted, html)), |_| {});
    later(state, move || {
        let html = move || instead(picture).unwrap_or_else(|| state.plots.with(|plots| curves::picture(plots, axis)));
        browser::show(picture, Box::new(move || after_words(state, html)), |_| {});
        let cursor = move || state.ui.with(|ui| curves::cursor(ui.cursors, axis));
        let left = move || state.plots.with(|plots| curves::left(plots.along(axis), cursor()));
        browser::place_cursor(line, Box::new(move || after_words(state, left)));
        let spoken = move || {
            let unit = state.answers.with(|answers| answers.unit);
            state.plots.with(|plots| curves::spoken(plots.along(axis), cursor(), unit))
        };
        browser::announce(state, spoken);
    });
}

fn table(state: State) {
    for (name, html) in [("below", frame::below as fn() -> Html), ("foot", frame::foot), ("dialogs", frame::dialogs)] {
        browser::put(name, &html());
    }
    browser::keep_below();
    show_after(&state.worded, state, "ledger", |_, answers, ui| ledger::ledger(answers, ui), |_| {});
    show_after(&state.painted, state, "cost", |_, answers, ui| cost::cost(answers, ui), |_| {});
    show_after(&state.painted, state, "time", |_, answers, ui| time::time(answers, ui), |_| {});
}

fn rest(state: State) {
    show(state, "saved", |_, _, ui| saved::saved(ui, browser::local_date));
    show(state, "compare", |said, answers, _| compare::compare(said, answers));
    show(state, "toast", |_, _, ui| notices::toast(ui));
    keep_panel(state, What::Methods, "methods");
    keep_panel(state, What::Evidence, "evidence");
    keep_panel(state, What::Timeline, "timeline");
    keep_panel(state, What::Device, "device");
    limits::keep(state, !browser::fragment().is_empty());
    keep_panel(state, What::Accuracy, "accuracy");
    browser_later::keep(state);
    planning::keep(state);
    stairs::keep(state);
    write_printed_link(state, "");
    browser_why::keep(state);
    browser::around_print(move || write_printed(state), move || resize(state));
    browser::on_rest(state, Rc::new(move || write_printed_link(state, "")));
}

fn dialogs(state: State) {
    show(state, "in-share", |said, _, ui| {
        let link = (ui.dialog == Some(Dialog::Share)).then(|| browser::link_to(&browser::fragment_of(said)));
        dialogs::share::share(link.as_deref(), ui.copied)
    });
    show(state, "in-paste", |_, _, ui| dialogs::paste::paste((ui.dialog == Some(Dialog::Paste)).then_some(&ui.pasted)));
    show(state, "in-save", |said, _, ui| dialogs::save::save((ui.dialog == Some(Dialog::Save)).then_some(&said.scenario)));
    if browser::fragment().split('&').any(is_of_lesson) {
        teaching::follow(state, &browser::fragment());
    }
    browser::keep_dialogs(Box::new(move || state.ui.with(|ui| ui.dialog.map(dialogs::id_of).unwrap_or_default())));
}

/// Only paper shows it: inputs, code and date are written when the page is printed, the link, which pictures and frames show too, once
/// changes rest. A browser's first date takes it long.
fn write_printed(state: State) {
    fit_paper(state);
    write_printed_code(state);
    browser::put("printed", &printed::printed(&state.scenario_now()));
    write_printed_link(state, &browser::local_date(browser::clock_ms()));
}

/// The code on paper, which comes with the program for later.
pub fn write_printed_code(state: State) {
    let link = browser::link_to(&browser::fragment_of(&state.said_now()));
    browser::put("printed-code", &printed::printed_code(&link));
}

fn write_printed_link(state: State, when: &str) {
    let link = browser::link_to(&browser::fragment_of(&state.said_now()));
    browser::put("printed-link", &printed::printed_link(&link, when));
}

/// The size that a curve is drawn in for paper: shown half a sheet wide, its words are as large as those around it.
const CURVE_ON_PAPER: (u16, u16) = (416, 226);
/// The width of a sheet less its margins, CSS pixels.
const BAR_ON_PAPER: u16 = 711;

/// Draws the charts in the size that they have on paper, once the present turn is over: too late for a print that this turn asks for.
pub fn fit_paper(state: State) {
    state.page(|ui| {
        ui.plot_size = CURVE_ON_PAPER;
        ui.bar_width = BAR_ON_PAPER;
    });
}

/// Takes over the sizes that the charts have on the page.
pub fn resize(state: State) {
    let plot = browser::size_of("plot-seq").or_else(|| browser::size_of("plot-gpus"));
    let bar = browser::size_of("stack");
    // A presenter's chart is drawn small and shown large, with its words and lines.
    let drawn = |length: u16| if browser::is_presenting() { length / 3 * 2 } else { length };
    state.page(|ui| {
        ui.plot_size = plot.map_or(ui.plot_size, |(width, height)| (drawn(width), drawn(height)));
        ui.bar_width = bar.map_or(ui.bar_width, |(width, _)| drawn(width));
    });
}

/// Opens a link that was pasted into the address bar, or gone back to.
fn follow(state: State, link: &str) {
    let followed = link.to_owned();
    browser_later::read(link, move |decoded| {
        for notice in decoded.notices_beside() {
            state.tell(notice, true);
        }
        if !decoded.failed {
            state.open(decoded.scenario, decoded.compare);
            teaching::follow(state, &followed);
        }
    });
}
