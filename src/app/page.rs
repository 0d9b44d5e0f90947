//! How the page starts: it takes over the HTML that stands there already, part by part, and keeps each part up to date.

use std::rc::Rc;

use super::browser::Element;
use leptos::prelude::*;

use super::browser_more::keep_panel;
use super::markup::Html;
use super::more::wire::What;
use super::panels::{curves, dialogs, ledger, printed, top_bar, verdict};
use super::parts::{self, Around, Curve, Follows, Part, Write};
use super::shelf::Shelf;
use super::state::State;
use super::ui::Ui;
use super::{actions, browser, limits, planning, reading, stairs, teaching, typing};
use super::{browser_later, browser_modules, browser_why};
use crate::scenario::codec::{Decoded, is_of_lesson};

/// Starts the page in the element `app`.
pub fn start() {
    browser_later::listen();
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
        browser::patch_inside(&root, &untrack(|| written(state, &parts::FIRST)));
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

/// Questions of parts to this browser.
const AROUND: Around = Around { link: |said| browser::link_to(&browser::fragment_of(said)), date: browser::local_date };

/// Keeps the parts of a list what their functions say.
fn show_all(state: State, list: &'static [Part]) {
    for part in list {
        show(state, part);
    }
}

/// Keeps a part what its function says.
fn show(state: State, part: &'static Part) {
    show_then(state, part, |_| {});
}

/// Keeps a part what its function says; calls back after each change of the part.
fn show_then(state: State, part: &'static Part, changed: fn(&Element)) {
    let html: Box<dyn Fn() -> Html> = match part.follows {
        Follows::AtOnce => Box::new(move || written(state, part)),
        Follows::Words => Box::new(move || after(&state.worded, || written(state, part))),
        Follows::Picture => Box::new(move || after(&state.painted, || written(state, part))),
        Follows::Nothing => return put(state, part),
    };
    browser::show(part.name, html, changed);
}

/// Writes a part once.
fn put(state: State, part: &Part) {
    browser::put(part.name, &untrack(|| written(state, part)));
}

fn written(state: State, part: &Part) -> Html {
    match part.write {
        Write::Fixed(write) => write(),
        Write::Answer(write) => state.said.with(|said| {
            state.answers.with(|answers| {
                state.ui.with(|ui| part.instead(answers, ui).unwrap_or_else(|| write(said, answers, ui, &AROUND)))
            })
        }),
        Write::Plot(write) => {
            let instead = state.answers.with(|answers| state.ui.with(|ui| part.instead(answers, ui)));
            instead.unwrap_or_else(|| {
                state.plots.with(|plots| state.answers.with(|answers| state.ui.with(|ui| write(plots, answers, ui))))
            })
        }
    }
}

/// Reads what it needs, and again whenever that has happened.
fn after<T>(happened: &ArcTrigger, read: impl FnOnce() -> T) -> T {
    happened.track();
    untrack(read)
}

/// Reads for what is drawn once the answer's words stand: before the browser paints, but text is in the document sooner.
fn after_words<T>(state: State, read: impl FnOnce() -> T) -> T {
    after(&state.worded, read)
}

fn answer(state: State) {
    browser::keep_painted(state);
    browser::keep_standing(state, resize);
    show_all(state, &parts::ANSWER);
    browser::headline_stands();
}

fn stack(state: State) {
    show_all(state, &parts::STACK);
    // Behind what has been written: these words stand when the others begin.
    browser::keep_worded(state);
}

fn form(state: State) {
    show(state, &parts::MODE);
    for part in &parts::FORM {
        show_then(state, part, browser::fill_inputs);
    }
}

fn plots(state: State) {
    show(state, &parts::TABS);
    for curve in &parts::CURVES {
        plot(state, curve);
    }
    // Without a frame of the same size the charts find their room once they are on the page.
    resize(state);
}

fn plot(state: State, curve: &'static Curve) {
    show(state, &curve.panel);
    later(state, move || {
        show(state, &curve.picture);
        let cursor = move || state.ui.with(|ui| curves::cursor(ui.cursors, curve.axis));
        let left = move || state.plots.with(|plots| curves::left(plots.along(curve.axis), cursor()));
        browser::place_cursor(curve.cursor, Box::new(move || after_words(state, left)));
        let spoken = move || {
            let unit = state.answers.with(|answers| answers.unit);
            state.plots.with(|plots| curves::spoken(plots.along(curve.axis), cursor(), unit))
        };
        browser::announce(state, spoken);
    });
}

fn table(state: State) {
    show_all(state, &parts::FRAMES);
    browser::keep_below();
    browser::follow_sections();
    show_all(state, &parts::TABLES);
}

fn rest(state: State) {
    show_all(state, &parts::REST);
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
    show_all(state, &parts::DIALOGS);
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
    put(state, &parts::PRINTED);
    write_printed_link(state, &browser::local_date(browser::clock_ms()));
}

/// The code on paper, which comes with the program for later.
pub fn write_printed_code(state: State) {
    put(state, &parts::PRINTED_CODE);
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
