//! The parts of the page: for each the name of its place, and the function that writes it. The page
//! shows these lists, and a test records what they write, so that neither knows a part that the
//! other does not.
//!
//! A part reads the page through [`SeenPage`], which notes what was read: the page writes a part anew
//! when that has changed, and not otherwise.

use std::ops::Deref;

use super::answers::Plots;
use super::markup::Html;
use super::panels::controls::FormPlace;
use super::panels::{
    bar, compare, controls, cost, curves, dialogs, fixes, frame, ledger, notices, printed, saved,
    sections, time, top_bar, unanswered, verdict,
};
use super::seen::{Concern, SeenPage};
use super::ui::Dialog;
use crate::planner::Axis;

/// A part of the page.
#[derive(Clone, Copy, Debug)]
pub struct PagePart {
    /// The name of its place, as `data-own` says it.
    pub name: &'static str,
    /// When it follows a change of the answer.
    pub follows: Follows,
    /// The function that writes it.
    pub write: Write,
}

/// When a part follows a change of the answer.
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
    /// It has something to show whether or not the scenario has an answer.
    Always(fn(&SeenPage) -> Html),
    /// It shows figures, which only an answer has.
    Answer(fn(&SeenPage) -> Html),
    /// It shows a curve.
    Plot(fn(&Plots, &SeenPage) -> Html),
}

impl PagePart {
    /// The part's HTML, as it is where the scenario has an answer and where it has none. The curves
    /// are asked for where they are shown.
    pub fn html<P: Deref<Target = Plots>>(
        &self,
        seen: &SeenPage,
        plots: impl FnOnce() -> P,
    ) -> Html {
        let instead = || unanswered::instead(self.name, seen.answers(), seen.standing());
        match self.write {
            Write::Fixed(write) => write(),
            Write::Always(write) => write(seen),
            Write::Answer(write) => instead().unwrap_or_else(|| write(seen)),
            Write::Plot(write) => instead().unwrap_or_else(|| {
                (seen.reads)(Concern::Plots);
                write(&plots(), seen)
            }),
        }
    }
}

/// A part that has something to show whether or not the scenario has an answer.
const fn part(name: &'static str, follows: Follows, write: fn(&SeenPage) -> Html) -> PagePart {
    PagePart { name, follows, write: Write::Always(write) }
}

/// A part that shows figures.
const fn figures(name: &'static str, follows: Follows, write: fn(&SeenPage) -> Html) -> PagePart {
    PagePart { name, follows, write: Write::Answer(write) }
}

/// A part that shows a curve.
const fn plot(
    name: &'static str,
    follows: Follows,
    write: fn(&Plots, &SeenPage) -> Html,
) -> PagePart {
    PagePart { name, follows, write: Write::Plot(write) }
}

/// A part that is written once.
const fn fixed(name: &'static str, write: fn() -> Html) -> PagePart {
    PagePart { name, follows: Follows::Nothing, write: Write::Fixed(write) }
}

/// The places of everything on the first screen.
pub const FIRST: PagePart = fixed("app", frame::first_screen);

/// The answer's words.
pub const ANSWER: [PagePart; 5] = [
    part("bar", Follows::AtOnce, |seen| {
        let ((back, on), said) = (seen.steps(), seen.said());
        let steps = (back || seen.unread(), on);
        top_bar::top_bar(&said.scenario, said.compare.len(), steps, &seen.saved().saved.scenarios)
    }),
    part("sections", Follows::AtOnce, |seen| {
        sections::sections(seen.view(), seen.said().scenario.mode())
    }),
    part("notices", Follows::AtOnce, |seen| notices::notices(seen.messages())),
    part("strip", Follows::AtOnce, |seen| {
        verdict::strip(seen.answers(), seen.standing(), seen.found())
    }),
    part("verdict", Follows::AtOnce, |seen| {
        verdict::verdict(seen.answers(), seen.standing(), seen.found(), seen.opened())
    }),
];

/// The bar under the answer, and the changes that would help.
pub const STACK: [PagePart; 2] = [
    figures("stack", Follows::AtOnce, |seen| {
        bar::stack(seen.answers(), seen.look(), seen.opened())
    }),
    figures("fixes", Follows::Picture, |seen| fixes::fixes(seen.answers(), seen.found())),
];

/// The switch between training, fine-tuning and serving.
pub const MODE: PagePart = part("mode", Follows::AtOnce, |seen| {
    controls::mode_switch(&seen.said().scenario, seen.answers(), seen.drafts(FormPlace::Mode))
});

/// The parts of the form, with their inputs.
pub const FORM: [PagePart; 11] = [
    part("group-0", Follows::Picture, |seen| section(0, seen)),
    part("group-1", Follows::Picture, |seen| section(1, seen)),
    part("group-2", Follows::Picture, |seen| section(2, seen)),
    part("fold-0", Follows::Picture, |seen| fold(0, seen)),
    part("fold-1", Follows::Picture, |seen| fold(1, seen)),
    part("fold-2", Follows::Picture, |seen| fold(2, seen)),
    part("fold-3", Follows::Picture, |seen| fold(3, seen)),
    part("fold-4", Follows::Picture, |seen| fold(4, seen)),
    part("fold-5", Follows::Picture, |seen| fold(5, seen)),
    part("fold-6", Follows::Picture, |seen| fold(6, seen)),
    part("fold-7", Follows::Picture, |seen| fold(7, seen)),
];

fn section(index: usize, seen: &SeenPage) -> Html {
    let drafts = seen.drafts(FormPlace::Section(index));
    controls::section(index, &seen.said().scenario, seen.answers(), drafts, seen.opened())
}

fn fold(index: usize, seen: &SeenPage) -> Html {
    let drafts = seen.drafts(FormPlace::Fold(index));
    controls::fold(index, &seen.said().scenario, seen.answers(), drafts, seen.opened())
}

/// The choice of a curve on a phone.
pub const TABS: PagePart = part("tabs", Follows::AtOnce, |seen| curves::tabs(seen.look()));

/// The two curves: what stands around the picture follows it; the picture says the same, and is
/// there sooner.
pub const CURVES: [CurveParts; 2] = [
    CurveParts {
        axis: Axis::SeqLength,
        panel: plot("curve-seq", Follows::Picture, |plots, seen| {
            panel(plots, Axis::SeqLength, seen)
        }),
        picture: plot("svg-seq", Follows::Words, |plots, _| {
            curves::picture(plots, Axis::SeqLength)
        }),
        cursor: "cursor-seq",
    },
    CurveParts {
        axis: Axis::Gpus,
        panel: plot("curve-gpus", Follows::Picture, |plots, seen| panel(plots, Axis::Gpus, seen)),
        picture: plot("svg-gpus", Follows::Words, |plots, _| curves::picture(plots, Axis::Gpus)),
        cursor: "cursor-gpus",
    },
];

fn panel(plots: &Plots, axis: Axis, seen: &SeenPage) -> Html {
    curves::panel(plots, axis, seen.answers().unit, seen.look(), seen.cursor(axis), seen.opened())
}

/// A curve with its parts.
#[derive(Clone, Copy, Debug)]
pub struct CurveParts {
    /// Its axis.
    pub axis: Axis,
    /// Heading, reading, and the table behind it.
    pub panel: PagePart,
    /// The drawing.
    pub picture: PagePart,
    /// The place of the line at the point that is read.
    pub cursor: &'static str,
}

/// Places of parts below the first screen, and of the dialogs.
pub const FRAMES: [PagePart; 3] =
    [fixed("below", frame::below), fixed("foot", frame::foot), fixed("dialogs", frame::dialogs)];

/// The tables below the first screen.
pub const TABLES: [PagePart; 3] = [
    figures("ledger", Follows::Words, |seen| ledger::ledger(seen.answers(), seen.opened())),
    figures("cost", Follows::Picture, |seen| cost::cost(seen.answers(), seen.opened())),
    figures("time", Follows::Picture, |seen| time::time(seen.answers(), seen.opened())),
];

/// The rest of the page.
pub const REST: [PagePart; 3] = [
    part("saved", Follows::AtOnce, |seen| saved::saved(seen.saved(), seen.around.date)),
    part("compare", Follows::Picture, |seen| compare::compare(seen.said(), seen.answers())),
    part("toast", Follows::AtOnce, |seen| notices::toast(seen.messages())),
];

/// The contents of the dialogs; empty while they are closed.
pub const DIALOGS: [PagePart; 3] = [
    part("in-share", Follows::AtOnce, |seen| {
        let dialogs = seen.dialogs();
        let link = (dialogs.dialog == Some(Dialog::Share)).then(|| (seen.around.link)(seen.said()));
        dialogs::share::share(link.as_deref(), dialogs.copied)
    }),
    part("in-paste", Follows::AtOnce, |seen| {
        let dialogs = seen.dialogs();
        dialogs::paste::paste((dialogs.dialog == Some(Dialog::Paste)).then_some(&dialogs.pasted))
    }),
    part("in-save", Follows::AtOnce, |seen| {
        let open = seen.dialogs().dialog == Some(Dialog::Save);
        dialogs::save::save(open.then(|| &seen.said().scenario))
    }),
];

/// The inputs on paper.
pub const PRINTED: PagePart =
    part("printed", Follows::Nothing, |seen| printed::printed(&seen.said().scenario));

/// The code of the link on paper.
pub const PRINTED_CODE: PagePart = part("printed-code", Follows::Nothing, |seen| {
    printed::printed_code(&(seen.around.link)(seen.said()))
});

/// Every part of the page.
pub fn all() -> Vec<PagePart> {
    let mut all = vec![FIRST, MODE, TABS, PRINTED, PRINTED_CODE];
    for list in [&ANSWER[..], &STACK, &FORM, &FRAMES, &TABLES, &REST, &DIALOGS] {
        all.extend(list);
    }
    all.extend(CURVES.iter().flat_map(|curve| [curve.panel, curve.picture]));
    all
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Concern, FORM, Follows, PagePart, SeenPage, Write, all};
    use crate::planner::Axis;
    use crate::scenario::codec::decode;
    use crate::scenario::{FieldId, Value};
    use crate::view::answers::{Answers, Plots};
    use crate::view::history::UndoStep;
    use crate::view::panels::controls::FormPlace;
    use crate::view::seen::{Around, Now};
    use crate::view::ui::{Drafts, Notice, Opened, PageMessages, Ui, Unread};

    const LINKS: [&str; 3] =
        ["v1&m=llama3-8b&n=8", "v1&do=serve&m=llama3-8b&n=1", "v1&m=llama3-70b&tp=3"];

    /// A part, the concerns that it reads, and its HTML.
    type Reading = (PagePart, Vec<Concern>, String);

    /// Every part of a page in that state.
    fn read_all(said: &UndoStep, answers: &Answers, ui: &Ui) -> Vec<Reading> {
        let plots = Plots::of(answers, ui.look.of_curves(), &ui.found, None).0;
        let read = |part: PagePart| {
            let concerns = RefCell::new(Vec::new());
            let reads = |concern| concerns.borrow_mut().push(concern);
            let html = part.html(
                &SeenPage {
                    now: Now::of(said, answers, ui),
                    reads: &reads,
                    around: &Around::NOTHING,
                },
                || &plots,
            );
            (part, concerns.into_inner(), html.as_str().to_owned())
        };
        all().into_iter().map(read).collect()
    }

    fn opened(link: &str) -> (UndoStep, Answers) {
        let said = UndoStep { scenario: decode(link).scenario, compare: Vec::new() };
        let answers = Answers::of(&said, None).0;
        (said, answers)
    }

    fn page(link: &str) -> Vec<Reading> {
        let (said, answers) = opened(link);
        read_all(&said, &answers, &Ui::default())
    }

    /// The names of the parts that the page writes anew when that concern changes.
    fn rebuilt(page: &[Reading], concern: Concern) -> Vec<&'static str> {
        let kept = page.iter().filter(|(part, concerns, _)| {
            part.follows != Follows::Nothing && concerns.contains(&concern)
        });
        kept.map(|(part, ..)| part.name).collect()
    }

    #[test]
    fn a_pointer_on_a_curve_rebuilds_one_part() {
        for link in &LINKS[..2] {
            let page = page(link);
            assert_eq!(rebuilt(&page, Concern::Cursor(Axis::SeqLength)), ["curve-seq"]);
            assert_eq!(rebuilt(&page, Concern::Cursor(Axis::Gpus)), ["curve-gpus"]);
        }
    }

    /// A text that cannot be read touches the part with its field; one more letter of it, nothing
    /// else.
    #[test]
    fn typing_rebuilds_the_part_with_the_field() {
        for link in LINKS {
            let page = page(link);
            for place in FormPlace::ALL {
                let name = match place {
                    FormPlace::Mode => "mode".to_owned(),
                    FormPlace::Section(at) => format!("group-{at}"),
                    FormPlace::Fold(at) => format!("fold-{at}"),
                };
                assert_eq!(rebuilt(&page, Concern::Drafts(place)), [name], "{link}");
            }
            let unread = rebuilt(&page, Concern::Unread);
            assert!(
                unread.iter().all(|name| !name.starts_with("group") && !name.starts_with("fold")),
                "{unread:?}"
            );
        }
    }

    #[test]
    fn a_message_a_dialog_or_a_saved_scenario_rebuilds_its_own_parts() {
        let page = page(LINKS[0]);
        assert_eq!(rebuilt(&page, Concern::Messages), ["notices", "toast"]);
        assert_eq!(rebuilt(&page, Concern::Dialogs), ["in-share", "in-paste", "in-save"]);
        assert_eq!(rebuilt(&page, Concern::Saved), ["bar", "saved"]);
        assert_eq!(rebuilt(&page, Concern::View), ["sections"]);
        assert_eq!(rebuilt(&page, Concern::Steps), ["bar"]);
        assert_eq!(rebuilt(&page, Concern::Look), ["tabs", "stack", "curve-seq", "curve-gpus"]);
    }

    /// A part whose HTML differs between two states of the page has read a concern in which they
    /// differ: none shows a stale text.
    #[test]
    fn no_part_shows_what_it_does_not_read() {
        for link in LINKS {
            let (said, answers) = opened(link);
            let before = page(link);
            let mut told = Ui::default();
            told.found.hear_limits(said.scenario.clone(), "1 1 4321 7 0");
            let unread = vec![Unread {
                field: FieldId::SeqLength,
                text: "x".to_owned(),
                message: String::new(),
            }];
            let typed = Some((FieldId::Gpus, "1 k".to_owned(), said.scenario.get(FieldId::Gpus)));
            let open = ["help-s", "why/total", "ledger/Weights", "fold-0", "twin-seq"]
                .map(str::to_owned)
                .to_vec();
            let notice = Notice { id: 1, text: "Message".to_owned(), warning: true };
            let states = [
                (Concern::Found, told),
                (
                    Concern::Cursor(Axis::SeqLength),
                    Ui { cursors: [Some(3), None], ..Ui::default() },
                ),
                (
                    Concern::Unread,
                    Ui { drafts: Drafts { unread, ..Drafts::default() }, ..Ui::default() },
                ),
                (
                    Concern::Drafts(FormPlace::Section(2)),
                    Ui { drafts: Drafts { typed, ..Drafts::default() }, ..Ui::default() },
                ),
                (
                    Concern::Opened,
                    Ui { opened: Opened { open, ..Opened::default() }, ..Ui::default() },
                ),
                (
                    Concern::Messages,
                    Ui {
                        messages: PageMessages { notices: vec![notice], ..PageMessages::default() },
                        ..Ui::default()
                    },
                ),
                (Concern::Steps, Ui { steps: (true, true), ..Ui::default() }),
            ];
            for (concern, state) in &states {
                for ((part, reads, before), (_, _, after)) in
                    before.iter().zip(read_all(&said, &answers, state))
                {
                    let own = *concern == Concern::Unread
                        && reads.contains(&Concern::Drafts(FormPlace::Section(1)));
                    let curve = *concern == Concern::Found && reads.contains(&Concern::Plots);
                    assert!(
                        *before == after || reads.contains(concern) || own || curve,
                        "{} in {link}: {concern:?}",
                        part.name
                    );
                }
            }
        }
    }

    /// Every field stands where the list of places says, so that its drafts reach the part that
    /// shows it.
    #[test]
    fn a_field_is_written_by_the_part_of_its_place() {
        for link in LINKS {
            let mut scenario = decode(link).scenario;
            scenario.set(FieldId::SequenceParallel, Value::Flag(true));
            let said = UndoStep { scenario, compare: Vec::new() };
            let answers = Answers::of(&said, None).0;
            let open = (0..8).map(|at| format!("fold-{at}")).collect();
            let ui = Ui { opened: Opened { open, ..Opened::default() }, ..Ui::default() };
            let page = read_all(&said, &answers, &ui);
            for (part, place) in FORM.iter().zip(&FormPlace::ALL[1..]) {
                let written = page.iter().find(|(known, ..)| known.name == part.name);
                let html = written.map_or("", |(_, _, html)| html.as_str());
                assert!(!html.is_empty(), "{}", part.name);
                for field in
                    html.split("data-field=\"").skip(1).filter_map(|rest| rest.split('"').next())
                {
                    let field = crate::scenario::field_of_key(field).map(|field| field.id);
                    assert_eq!(
                        field.and_then(FormPlace::of),
                        Some(*place),
                        "{} in {link}",
                        part.name
                    );
                }
            }
        }
    }

    #[test]
    fn parts_that_are_written_once_read_nothing_that_changes() {
        assert!(
            all()
                .iter()
                .all(|part| !matches!(part.write, Write::Fixed(_))
                    || part.follows == Follows::Nothing)
        );
    }
}
