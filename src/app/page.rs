//! How the page starts: it takes over the HTML that stands there already, part by part, and keeps each part up to date.

use leptos::prelude::*;
use web_sys::Element;

use super::browser_more::keep_panel;
use super::markup::Html;
use super::more::wire::What;
use super::panels::{
    bar, compare, controls, cost, curves, dialogs, fixes, frame, ledger, notices, printed, saved, top_bar, verdict,
};
use super::shelf::Shelf;
use super::state::{Dialog, State};
use super::ui::Ui;
use super::{actions, browser, fields, reading};
use crate::planner::Axis;
use crate::scenario::codec::decode;
use crate::scenario::field_of_key;

/// Starts the page in the element `app`.
pub fn start() {
    browser::install_panic_hook();
    if let Some(theme) = browser::saved_theme() {
        browser::set_theme(&theme);
    }
    let Some(root) = browser::root() else { return };
    leptos::mount::mount_to(root, || view! { <App /> }).forget();
}

/// The page: its state, what happens on events, and its parts. They stand in the HTML, so that the component itself adds nothing.
#[component]
pub fn App() -> impl IntoView {
    let decoded = decode(&browser::fragment());
    let state = State::new(decoded.scenario, decoded.compare, Ui { printed_at: now(), ..Ui::default() });
    for notice in decoded.notices {
        state.tell(notice, true);
    }
    let largest = state.answers.with_untracked(|answers| ledger::opened_at_start(&answers.estimate));
    state.page(|ui| ui.open.extend(largest));
    Shelf(state).open_up();
    resize(state);
    browser::on_resize(move || resize(state));
    browser::before_print(move || state.page(|ui| ui.printed_at = now()));
    browser::keep_link(state);
    browser::on_link_change(move |link| follow(state, &link));
    browser::on_undo_keys(move || state.undo(), move || state.redo());
    actions::listen(state);
    reading::listen(state);
    browser::announce(Box::new(move || state.answers.with(|answers| state.ui.with(|ui| verdict::spoken(answers, ui)))));
    if let Some(root) = browser::root() {
        browser::patch_inside(&root, &frame::first_screen());
    }
    build(state, 0);
}

/// The parts in the order in which they are taken over. Each is a task of its own, so that the browser can paint and take input in
/// between.
const STEPS: [fn(State); 5] = [answer, form, plots, table, rest];

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

/// Keeps a part what its function says.
fn show(state: State, name: &'static str, html: impl Fn() -> Html + 'static) {
    browser::show(name, Box::new(html), |_, _| {}, state);
}

fn answer(state: State) {
    show(state, "bar", move || state.scenario.with(|scenario| state.ui.with(|ui| top_bar::top_bar(scenario, ui))));
    show(state, "notices", move || state.ui.with(notices::notices));
    show(state, "strip", move || state.answers.with(verdict::strip));
    show(state, "verdict", move || state.answers.with(|answers| state.ui.with(|ui| verdict::verdict(answers, ui))));
    show(state, "stack", move || {
        let width = state.ui.with(|ui| ui.bar_width);
        state.answers.with(|answers| state.other.with(|other| bar::stack(answers, other.as_ref(), width)))
    });
    show(state, "fixes", move || state.answers.with(fixes::fixes));
}

const SECTIONS: [&str; 3] = ["group-0", "group-1", "group-2"];
const FOLDS: [&str; 7] = ["fold-0", "fold-1", "fold-2", "fold-3", "fold-4", "fold-5", "fold-6"];

fn form(state: State) {
    show(state, "mode", move || controls::mode_switch(state.scenario.with(crate::scenario::Scenario::mode)));
    for (index, name) in SECTIONS.into_iter().enumerate() {
        fill(state, name, index, controls::section);
    }
    for (index, name) in FOLDS.into_iter().enumerate() {
        fill(state, name, index, controls::fold);
    }
}

/// What writes a part of the form.
type FormPart = fn(usize, &crate::scenario::Scenario, &super::answers::Answers, &Ui) -> Html;

/// A part of the form, with its inputs.
fn fill(state: State, name: &'static str, index: usize, part: FormPart) {
    let html = move || {
        state.scenario.with(|scenario| state.answers.with(|answers| state.ui.with(|ui| part(index, scenario, answers, ui))))
    };
    browser::show(name, Box::new(html), make_inputs, state);
}

fn make_inputs(state: State, element: &Element) {
    browser::make_inputs(state, element, |state, key| Some(fields::input(state, field_of_key(&key)?)));
}

fn plots(state: State) {
    show(state, "tabs", move || state.ui.with(curves::tabs));
    plot(state, Axis::SeqLength, ["curve-seq", "svg-seq", "cursor-seq"]);
    plot(state, Axis::Gpus, ["curve-gpus", "svg-gpus", "cursor-gpus"]);
    // Without a frame of the same size the charts find their room once they are on the page.
    resize(state);
}

fn plot(state: State, axis: Axis, [panel, picture, line]: [&'static str; 3]) {
    show(state, panel, move || {
        let (cursors, unit) = (state.cursors.get(), state.answers.with(|answers| answers.unit));
        state.plots.with(|plots| state.ui.with(|ui| curves::panel(plots, axis, cursors, unit, ui)))
    });
    later(state, move || {
        show(state, picture, move || state.plots.with(|plots| curves::picture(plots, axis)));
        browser::place_cursor(
            line,
            Box::new(move || {
                let cursor = curves::cursor(state.cursors.get(), axis);
                state.plots.with(|plots| curves::left(plots.along(axis), cursor))
            }),
        );
        browser::announce(Box::new(move || {
            let (cursor, unit) = (curves::cursor(state.cursors.get(), axis), state.answers.with(|answers| answers.unit));
            state.plots.with(|plots| curves::spoken(plots.along(axis), cursor, unit))
        }));
    });
}

fn table(state: State) {
    for (name, html) in [("below", frame::below as fn() -> Html), ("foot", frame::foot), ("dialogs", frame::dialogs)] {
        browser::put(name, &html());
    }
    show(state, "ledger", move || state.answers.with(|answers| state.ui.with(|ui| ledger::ledger(answers, ui))));
    show(state, "cost", move || state.answers.with(cost::cost));
}

fn rest(state: State) {
    show(state, "saved", move || state.ui.with(|ui| saved::saved(ui, browser::local_date)));
    show(state, "compare", move || {
        state.scenario.with(|scenario| {
            state.answers.with(|answers| state.other.with(|other| compare::compare(scenario, answers, other.as_ref())))
        })
    });
    show(state, "toast", move || state.ui.with(notices::toast));
    keep_panel(state, What::Methods, "methods");
    keep_panel(state, What::Evidence, "evidence");
    print(state);
    let is_open = move |dialog: Dialog| state.ui.with(|ui| ui.dialog == Some(dialog));
    show(state, "in-share", move || {
        let link = is_open(Dialog::Share).then(|| browser::link_to(&browser::current_fragment(state)));
        dialogs::share::share(link.as_deref(), state.ui.with(|ui| ui.copied))
    });
    show(state, "in-paste", move || state.ui.with(|ui| dialogs::paste::paste(is_open(Dialog::Paste).then_some(&ui.pasted))));
    show(state, "in-save", move || {
        if is_open(Dialog::Save) {
            state.scenario.with(|scenario| dialogs::save::save(Some(scenario)))
        } else {
            dialogs::save::save(None)
        }
    });
    browser::keep_dialogs(Box::new(move || state.ui.with(|ui| ui.dialog.map(dialogs::id_of).unwrap_or_default())));
}

/// Only paper shows it: all inputs are written when the page is printed, the link with every change.
fn print(state: State) {
    let printed_at = Memo::new(move |_| state.ui.with(|ui| ui.printed_at.clone()));
    show(state, "printed", move || {
        printed_at.track();
        state.scenario.with_untracked(printed::printed)
    });
    later(state, move || {
        show(state, "printed-link", move || {
            printed_at.with(|when| printed::printed_link(&browser::link_to(&browser::current_fragment(state)), when))
        });
    });
}

/// This moment as the reader writes it.
fn now() -> String {
    browser::local_date(browser::clock_ms())
}

/// Takes over the sizes that the charts have on the page.
fn resize(state: State) {
    let (plot, bar) = (browser::size_of("plot-seq"), browser::size_of("stack"));
    state.page(|ui| {
        ui.plot_size = plot.unwrap_or(ui.plot_size);
        ui.bar_width = bar.map_or(ui.bar_width, |(width, _)| width);
    });
}

/// Opens a link that was pasted into the address bar, or gone back to.
fn follow(state: State, link: &str) {
    let decoded = decode(link);
    for notice in decoded.notices {
        state.tell(notice, true);
    }
    if !decoded.failed {
        state.open(decoded.scenario, decoded.compare);
    }
}
