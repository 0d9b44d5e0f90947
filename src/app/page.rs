//! How the page starts: it takes over the HTML that stands there already, part by part, and keeps
//! each part up to date.

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::browser::Element;
use leptos::prelude::*;

use super::browser_more::keep_panel;
use super::shelf::Shelf;
use super::state::{State, StateChange};
use super::{browser, browser_later, browser_modules, browser_why, limits, reading, typing};
use crate::scenario::codec::{Decoded, is_of_lesson};
use crate::view::history::History;
use crate::view::markup::Html;
use crate::view::panels::controls::FormPlace;
use crate::view::panels::{curves, dialogs, ledger, printed, top_bar, verdict};
use crate::view::parts::{self, CurveParts, Follows, PagePart};
use crate::view::seen::{Around, Concern, Now, SeenPage};
use crate::worker::question::WorkerQuestion;

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

/// The page: its state, what happens on events, and its parts. They stand in the HTML, so that the
/// component itself adds nothing.
#[component]
pub fn App(
    /// The link that the page was opened with, as it was read.
    decoded: Decoded,
) -> impl IntoView {
    let state = State::new(decoded.scenario, decoded.compare);
    for notice in decoded.notices {
        state.tell(notice, true);
    }
    build(state, 0);
}

/// Computes the answer.
fn compute(state: State) {
    let largest =
        state.answers.with_untracked(|answers| ledger::opened_at_start(&answers.estimate));
    state.opened.change(|opened| opened.open.extend(largest));
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
    browser::keep_title(Box::new(move || {
        state.said.with(|said| format!("{} – Headroom", top_bar::title(&said.scenario)))
    }));
    browser_modules::keep(state);
    browser::on_link_change(move |link| follow(state, &link));
    browser::on_undo_keys(move || state.undo(), move || state.redo());
    browser_later::carry_out(state);
    reading::listen(state);
    typing::listen(state);
    let spoken = move || {
        let standing = state.answers.with(|answers| answers.standing_with(state.unread.get()));
        state
            .answers
            .with(|answers| state.found.with(|found| verdict::spoken(answers, standing, found)))
    };
    browser::announce(state, spoken);
    // The page's own HTML has the places of the first screen; a program for other pages writes
    // them.
    #[cfg(not(feature = "apart"))]
    if let Some(root) = browser::root() {
        browser::patch_inside(&root, &written_once(state, &parts::FIRST));
    }
}

/// The steps that make the page live, in this order. Each is a task of its own, so that the browser
/// can paint and take input in between.
const STEPS: [fn(State); 10] =
    [compute, room, listen, answer, stack, form, plots, table, rest, dialogs];

fn build(state: State, step: usize) {
    let Some(part) = STEPS.get(step) else { return browser::after(0, browser::is_live) };
    later(state, move || {
        part(state);
        build(state, step + 1);
    });
}

/// Runs something in a task of its own, for as long as the page.
fn later(state: State, action: impl FnOnce() + 'static) {
    browser::after(0, move || state.as_owner(action));
}

/// Questions of parts to this browser.
const AROUND: Around = Around {
    link: |said| browser::link_to(&browser::fragment_of(said)),
    date: browser::local_date,
};

/// Keeps the parts of a list what their functions say.
fn show_all(state: State, list: &'static [PagePart]) {
    for part in list {
        show(state, part);
    }
}

/// Keeps a part what its function says.
fn show(state: State, part: &'static PagePart) {
    show_then(state, part, |_| {});
}

/// How often parts were written anew.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// How often parts of the page were written anew: a test holds that a change writes those that show
/// it and no others.
pub fn parts_written() -> u32 {
    WRITTEN.load(Ordering::Relaxed)
}

/// Keeps a part what its function says; calls back after each change of the part.
fn show_then(state: State, part: &'static PagePart, changed: fn(&Element)) {
    if part.follows == Follows::Nothing {
        return put(state, part);
    }
    let html = ArcMemo::new(move |_| {
        WRITTEN.fetch_add(1, Ordering::Relaxed);
        written(state, part, &|concern| track(state, part.follows, concern))
    });
    browser::show(part.name, html, changed);
}

/// Writes a part once.
fn put(state: State, part: &PagePart) {
    browser::put(part.name, &written_once(state, part));
}

fn written_once(state: State, part: &PagePart) -> Html {
    written(state, part, &|_| ())
}

/// A part's HTML at this moment; `reads` is told of each concern that it shows.
fn written(state: State, part: &PagePart, reads: &dyn Fn(Concern)) -> Html {
    let now = Now {
        said: &state.said.read_untracked(),
        answers: &state.answers.read_untracked(),
        drafts: &state.drafts.read_untracked(),
        opened: &state.opened.read_untracked(),
        view: state.view.get_untracked(),
        dialogs: &state.dialogs.read_untracked(),
        messages: &state.messages.read_untracked(),
        look: &state.look.read_untracked(),
        cursors: state.cursors.each_ref().map(|cursor| cursor.get_untracked()),
        saved: &state.saved.read_untracked(),
        found: &state.found.read_untracked(),
        steps: state.history.with_untracked(History::steps),
    };
    part.html(&SeenPage { now, reads, around: &AROUND }, || state.plots.read_untracked())
}

/// A part depends on that concern from now on: on the answer when its turn comes, on everything
/// else at once. Memos are read, because one that nobody reads follows nothing.
fn track(state: State, follows: Follows, concern: Concern) {
    let turn = match follows {
        Follows::AtOnce | Follows::Nothing => None,
        Follows::Words => Some(&state.worded),
        Follows::Picture => Some(&state.painted),
    };
    match (concern, turn) {
        (Concern::Scenario | Concern::Answer, Some(turn)) => turn.track(),
        (Concern::Scenario, None) => state.said.track(),
        (Concern::Answer, None) => state.answers.with(|_| ()),
        (Concern::Plots, None) => state.plots.with(|_| ()),
        (Concern::Plots, Some(turn)) => {
            // Besides the answer, the curves are drawn from their look and from answers of the
            // workers.
            turn.track();
            state.look.track();
            state.found.track();
        }
        (Concern::Unread, _) => state.unread.with(|_| ()),
        (Concern::Drafts(place), _) => {
            if let Some(drafts) = FormPlace::ALL
                .iter()
                .position(|known| *known == place)
                .and_then(|at| state.drafts_at.get(at))
            {
                drafts.with(|_| ());
            }
        }
        (Concern::Opened, _) => state.opened.track(),
        (Concern::View, _) => state.view.track(),
        (Concern::Dialogs, _) => state.dialogs.track(),
        (Concern::Messages, _) => state.messages.track(),
        (Concern::Look, _) => state.look.track(),
        (Concern::Cursor(axis), _) => state.cursor(axis).track(),
        (Concern::Saved, _) => state.saved.track(),
        (Concern::Found, _) => state.found.track(),
        (Concern::Steps, _) => state.history.track(),
    }
}

/// Reads for a drawing once the answer's words stand: before the browser paints, but text is in the
/// document sooner.
fn after_words<T>(state: State, read: impl FnOnce() -> T) -> T {
    state.worded.track();
    untrack(read)
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

fn plot(state: State, curve: &'static CurveParts) {
    show(state, &curve.panel);
    later(state, move || {
        show(state, &curve.picture);
        let cursor = state.cursor(curve.axis);
        let left =
            move |cursor| state.plots.with(|plots| curves::left(plots.along(curve.axis), cursor));
        let at_cursor = move || {
            let at = cursor.get()?;
            state.look.track();
            state.found.track();
            after_words(state, || left(Some(at)))
        };
        browser::place_cursor(curve.cursor, Box::new(at_cursor));
        let spoken = move || {
            let unit = state.answers.with(|answers| answers.unit);
            state.plots.with(|plots| curves::spoken(plots.along(curve.axis), cursor.get(), unit))
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
    keep_panel(state, WorkerQuestion::Methods, "methods");
    keep_panel(state, WorkerQuestion::Evidence, "evidence");
    keep_panel(state, WorkerQuestion::Timeline, "timeline");
    keep_panel(state, WorkerQuestion::Device, "device");
    limits::keep(state, !browser::fragment().is_empty());
    keep_panel(state, WorkerQuestion::Accuracy, "accuracy");
    browser_later::keep(state);
    write_printed_link(state, "");
    browser_why::keep(state);
    browser::around_print(move || write_printed(state), move || resize(state));
    browser::on_rest(state, Rc::new(move || write_printed_link(state, "")));
}

fn dialogs(state: State) {
    show_all(state, &parts::DIALOGS);
    if browser::fragment().split('&').any(is_of_lesson) {
        follow_lesson(state, browser::fragment());
    }
    browser::keep_dialogs(Box::new(move || {
        state.dialogs.with(|open| open.dialog.map(dialogs::id_of).unwrap_or_default())
    }));
}

/// Only paper shows it: inputs, code and date are written when the page is printed, the link, which
/// pictures and frames show too, once changes rest. A browser's first date takes it long.
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

/// The size that a curve is drawn in for paper: shown half a sheet wide, its words are as large as
/// those around it.
const CURVE_ON_PAPER: (u16, u16) = (416, 226);
/// The width of a sheet less its margins, CSS pixels.
const BAR_ON_PAPER: u16 = 711;

/// Draws the charts in the size that they have on paper, once the present turn is over: too late
/// for a print that this turn asks for.
pub fn fit_paper(state: State) {
    state.look.change(|look| {
        look.plot_size = CURVE_ON_PAPER;
        look.bar_width = BAR_ON_PAPER;
    });
}

/// Takes over the sizes that the charts have on the page.
pub fn resize(state: State) {
    let plot = browser::size_of("plot-seq").or_else(|| browser::size_of("plot-gpus"));
    let bar = browser::size_of("stack");
    // A presenter's chart is drawn small and shown large, with its words and lines.
    let presents = state.is_presenting() && browser::is_wide();
    let drawn = |length: u16| if presents { length / 3 * 2 } else { length };
    state.look.change(|look| {
        look.plot_size =
            plot.map_or(look.plot_size, |(width, height)| (drawn(width), drawn(height)));
        look.bar_width = bar.map_or(look.bar_width, |(width, _)| drawn(width));
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
            if browser_later::is_there() || followed.split('&').any(is_of_lesson) {
                follow_lesson(state, followed);
            }
        }
    });
}

/// Opens what a link says besides the scenario.
fn follow_lesson(state: State, link: String) {
    browser_later::with_part(move |part| (part.follow)(state, &link));
}
