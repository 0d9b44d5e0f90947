//! The parts of the page: for each the name of its place, and the function that writes it. The page shows these lists, and a test
//! records what they write, so that neither knows a part that the other does not.

use super::answers::{Answers, Plots};
use super::history::Snapshot;
use super::markup::Html;
use super::panels::{
    bar, compare, controls, cost, curves, dialogs, fixes, frame, ledger, notices, printed, saved, sections, time, top_bar,
    unanswered, verdict,
};
use super::ui::{Dialog, Ui};
use crate::planner::Axis;

/// A part of the page.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name of its place, as `data-own` says it.
    pub name: &'static str,
    /// When it follows a change.
    pub follows: Follows,
    /// The function that writes it.
    pub write: Write,
}

/// When a part follows a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// At once.
    AtOnce,
    /// Once the answer's words stand.
    Words,
    /// Once the answer has been painted.
    Picture,
    /// Never: it is written once, or when the page is printed.
    Nothing,
}

/// The function that writes a part, by what it reads.
#[derive(Clone, Copy, Debug)]
pub enum Write {
    /// It never changes.
    Fixed(fn() -> Html),
    /// Scenario, answers, and the state of the page.
    Answer(fn(&Snapshot, &Answers, &Ui, &Around) -> Html),
    /// The curves, too.
    Plot(fn(&Plots, &Answers, &Ui) -> Html),
}

/// Questions of a part to the browser around it.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The address of the page with the link of what it shows.
    pub link: fn(&Snapshot) -> String,
    /// A moment, milliseconds since 1970, as the reader's own date and time.
    pub date: fn(u64) -> String,
}

impl Part {
    /// The part's HTML, as it is where the scenario has an answer and where it has none.
    pub fn html(&self, said: &Snapshot, answers: &Answers, ui: &Ui, plots: &Plots, around: &Around) -> Html {
        match self.write {
            Write::Fixed(write) => write(),
            Write::Answer(write) => self.instead(answers, ui).unwrap_or_else(|| write(said, answers, ui, around)),
            Write::Plot(write) => self.instead(answers, ui).unwrap_or_else(|| write(plots, answers, ui)),
        }
    }

    /// The part's HTML where the scenario has no answer; `None` where its own is right.
    pub fn instead(&self, answers: &Answers, ui: &Ui) -> Option<Html> {
        unanswered::instead(self.name, answers, ui)
    }
}

/// A part that reads the answers.
const fn part(name: &'static str, follows: Follows, write: fn(&Snapshot, &Answers, &Ui, &Around) -> Html) -> Part {
    Part { name, follows, write: Write::Answer(write) }
}

/// A part that shows a curve.
const fn plot(name: &'static str, follows: Follows, write: fn(&Plots, &Answers, &Ui) -> Html) -> Part {
    Part { name, follows, write: Write::Plot(write) }
}

/// A part that is written once.
const fn fixed(name: &'static str, write: fn() -> Html) -> Part {
    Part { name, follows: Follows::Nothing, write: Write::Fixed(write) }
}

/// The places of everything on the first screen.
pub const FIRST: Part = fixed("app", frame::first_screen);

/// The answer's words.
pub const ANSWER: [Part; 5] = [
    part("bar", Follows::AtOnce, |said, _, ui, _| top_bar::top_bar(&said.scenario, said.compare.len(), ui)),
    part("sections", Follows::AtOnce, |_, _, ui, _| sections::sections(ui)),
    part("notices", Follows::AtOnce, |_, _, ui, _| notices::notices(ui)),
    part("strip", Follows::AtOnce, |_, answers, ui, _| verdict::strip(answers, ui)),
    part("verdict", Follows::AtOnce, |_, answers, ui, _| verdict::verdict(answers, ui)),
];

/// The bar under the answer, and the changes that would help.
pub const STACK: [Part; 2] = [
    part("stack", Follows::AtOnce, |_, answers, ui, _| bar::stack(answers, ui)),
    part("fixes", Follows::Picture, |_, answers, ui, _| fixes::fixes(answers, ui)),
];

/// The switch between training, fine-tuning and serving.
pub const MODE: Part = part("mode", Follows::AtOnce, |said, answers, ui, _| controls::mode_switch(&said.scenario, answers, ui));

/// The parts of the form, with their inputs.
pub const FORM: [Part; 10] = [
    part("group-0", Follows::Picture, |said, answers, ui, _| controls::section(0, &said.scenario, answers, ui)),
    part("group-1", Follows::Picture, |said, answers, ui, _| controls::section(1, &said.scenario, answers, ui)),
    part("group-2", Follows::Picture, |said, answers, ui, _| controls::section(2, &said.scenario, answers, ui)),
    part("fold-0", Follows::Picture, |said, answers, ui, _| controls::fold(0, &said.scenario, answers, ui)),
    part("fold-1", Follows::Picture, |said, answers, ui, _| controls::fold(1, &said.scenario, answers, ui)),
    part("fold-2", Follows::Picture, |said, answers, ui, _| controls::fold(2, &said.scenario, answers, ui)),
    part("fold-3", Follows::Picture, |said, answers, ui, _| controls::fold(3, &said.scenario, answers, ui)),
    part("fold-4", Follows::Picture, |said, answers, ui, _| controls::fold(4, &said.scenario, answers, ui)),
    part("fold-5", Follows::Picture, |said, answers, ui, _| controls::fold(5, &said.scenario, answers, ui)),
    part("fold-6", Follows::Picture, |said, answers, ui, _| controls::fold(6, &said.scenario, answers, ui)),
];

/// The choice of a curve on a phone.
pub const TABS: Part = part("tabs", Follows::AtOnce, |_, _, ui, _| curves::tabs(ui));

/// The two curves: what stands around the picture follows it; the picture says the same, and is there sooner.
pub const CURVES: [Curve; 2] = [
    Curve {
        axis: Axis::SeqLength,
        panel: plot("curve-seq", Follows::Picture, |plots, answers, ui| curves::panel(plots, Axis::SeqLength, answers, ui)),
        picture: plot("svg-seq", Follows::Words, |plots, _, _| curves::picture(plots, Axis::SeqLength)),
        cursor: "cursor-seq",
    },
    Curve {
        axis: Axis::Gpus,
        panel: plot("curve-gpus", Follows::Picture, |plots, answers, ui| curves::panel(plots, Axis::Gpus, answers, ui)),
        picture: plot("svg-gpus", Follows::Words, |plots, _, _| curves::picture(plots, Axis::Gpus)),
        cursor: "cursor-gpus",
    },
];

/// A curve with its parts.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    /// Its axis.
    pub axis: Axis,
    /// Heading, reading, and the table behind it.
    pub panel: Part,
    /// The drawing.
    pub picture: Part,
    /// The place of the line at the point that is read.
    pub cursor: &'static str,
}

/// Places of parts below the first screen, and of the dialogs.
pub const FRAMES: [Part; 3] = [fixed("below", frame::below), fixed("foot", frame::foot), fixed("dialogs", frame::dialogs)];

/// The tables below the first screen.
pub const TABLES: [Part; 3] = [
    part("ledger", Follows::Words, |_, answers, ui, _| ledger::ledger(answers, ui)),
    part("cost", Follows::Picture, |_, answers, ui, _| cost::cost(answers, ui)),
    part("time", Follows::Picture, |_, answers, ui, _| time::time(answers, ui)),
];

/// The rest of the page.
pub const REST: [Part; 3] = [
    part("saved", Follows::AtOnce, |_, _, ui, around| saved::saved(ui, around.date)),
    part("compare", Follows::AtOnce, |said, answers, _, _| compare::compare(said, answers)),
    part("toast", Follows::AtOnce, |_, _, ui, _| notices::toast(ui)),
];

/// The contents of the dialogs; empty while they are closed.
pub const DIALOGS: [Part; 3] = [
    part("in-share", Follows::AtOnce, |said, _, ui, around| {
        let link = (ui.dialog == Some(Dialog::Share)).then(|| (around.link)(said));
        dialogs::share::share(link.as_deref(), ui.copied)
    }),
    part("in-paste", Follows::AtOnce, |_, _, ui, _| {
        dialogs::paste::paste((ui.dialog == Some(Dialog::Paste)).then_some(&ui.pasted))
    }),
    part("in-save", Follows::AtOnce, |said, _, ui, _| {
        dialogs::save::save((ui.dialog == Some(Dialog::Save)).then_some(&said.scenario))
    }),
];

/// The inputs on paper.
pub const PRINTED: Part = part("printed", Follows::Nothing, |said, _, _, _| printed::printed(&said.scenario));

/// The code of the link on paper.
pub const PRINTED_CODE: Part =
    part("printed-code", Follows::Nothing, |said, _, _, around| printed::printed_code(&(around.link)(said)));

/// Every part of the page.
pub fn all() -> Vec<Part> {
    let mut all = vec![FIRST, MODE, TABS, PRINTED, PRINTED_CODE];
    for list in [&ANSWER[..], &STACK, &FORM, &FRAMES, &TABLES, &REST, &DIALOGS] {
        all.extend(list);
    }
    all.extend(CURVES.iter().flat_map(|curve| [curve.panel, curve.picture]));
    all
}
