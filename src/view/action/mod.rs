//! The vocabulary between the page's markup and the page: an attribute of a button, an input or a
//! form says one of these, and one of these is read from it. Markup is written with the same types,
//! so that no button says a word that the page does not know.

mod lesson;
mod order;

use maud::Render;

pub use self::lesson::{Sent, StageVerb, StepChange, TeachVerb, TeachView};
pub use self::order::{Order, StageStep};
use super::curve_view::Line;
use super::export::ExportFormat;
use super::panels::curves::{axis_of, word};
use super::panels::dialogs;
use super::panels::sections::Section;
use super::ui::Dialog;
use crate::planner::Axis;
use crate::scenario::{FieldId, field, field_of_key};

/// A place that a reader with a keyboard can go to at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipTarget {
    /// The answer.
    Answer,
    /// The inputs.
    Form,
}

impl SkipTarget {
    /// Every place.
    pub const ALL: [Self; 2] = [Self::Answer, Self::Form];

    /// The id of its element.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Form => "form",
        }
    }

    fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.id() == id)
    }
}

/// A click on a button or a link does this: the value of `data-do`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Jumps over what stands before a place.
    Skip(SkipTarget),
    /// Switches between light and dark.
    SwitchTheme,
    /// Takes the last change back.
    Undo,
    /// Does it again.
    Redo,
    /// Opens a dialog.
    OpenDialog(Dialog),
    /// Closes the open dialog.
    CloseDialog,
    /// Opens what is closed and closes what is open: a help text, a row, an explanation.
    Toggle(String),
    /// Sets a field to the choice of that word.
    Set(FieldId, String),
    /// Lets a field go back to the list's value.
    Clear(FieldId),
    /// Takes the way out that a field's error offers.
    Repair(FieldId),
    /// Goes to a field that needs a look, the first one where none is named.
    GoToRed(Option<FieldId>),
    /// Makes a change that would help, by its number.
    Fix(usize),
    /// Sets one of the sizes that fit, by its number.
    Grow(usize),
    /// Takes the fewest GPUs that carry the users.
    UseUsers,
    /// Shows that curve on a phone.
    ShowCurve(Axis),
    /// Shows a line over the bars by GPUs, or hides it.
    SwitchLine(Line),
    /// Lets the length axis be logarithmic, or linear.
    LogAxis(bool),
    /// Closes a message.
    CloseNotice(u64),
    /// Plays a curve.
    Hear(Axis),
    /// Goes to a section of the results.
    GoTo(Section),
    /// Pins the scenario to compare it with others.
    Pin,
    /// Lets a pinned scenario go, or all.
    Unpin(Option<usize>),
    /// Shows a pinned scenario, and pins the one that is shown.
    Swap(usize),
    /// Copies the text of the text area with that id.
    Copy(String),
    /// Hands a file to the browser's downloads, by its word.
    TakeAlong(ExportFormat),
    /// Prints one page.
    Print,
    /// Lists the models that fit.
    ListFits(FitsList),
    /// Takes the pasted model over.
    UsePasted,
    /// Counts a pasted model of an unknown kind as a generic decoder.
    CountAsGeneric,
    /// Does something in the planner's panel.
    Plan(PlanVerb),
    /// Makes the scenario of a link the page's.
    Take(String),
    /// Pins the scenario of a link.
    Beside(String),
    /// Goes to the view of stories and exercises.
    OpenTeach,
    /// Does something in that panel.
    Teach(TeachVerb),
    /// Prints a handout or a worksheet.
    PrintHandout,
    /// Presents a story from a step on.
    Present(String, usize),
    /// Does something on the presenter's stage.
    Stage(StageVerb),
    /// Downloads all saved scenarios.
    ExportSaved,
    /// Brings the deleted scenario back.
    BringBack,
    /// Does something with a saved scenario.
    Saved(SavedVerb, String),
}

/// The actions on a saved scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedVerb {
    /// Shows it.
    Open,
    /// Pins it.
    Compare,
    /// Lets its name be changed.
    Rename,
    /// Keeps a second one like it.
    Duplicate,
    /// Deletes it.
    Delete,
}

/// The list of what fits: its order, and the one way that is listed; every way where the word is
/// empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitsList {
    /// The order.
    pub order: FitsOrder,
    /// The word of a format or a method.
    pub way: String,
}

/// The order of the models that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitsOrder {
    /// By parameters.
    Size,
    /// By the longest context.
    Length,
    /// By tokens per second.
    Speed,
}

/// The requests of the planner's panel: the values of `data-plan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanVerb {
    /// Shows the form and what was found.
    Show,
    /// Begins a search.
    Search,
    /// Ends it.
    Stop,
}

/// An input whose value is settled does this: the value of `data-change`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Adds the scenarios of a file.
    ImportSaved,
    /// Adds a story from a file.
    TeachFile,
    /// Reads a file in the paste dialog.
    PasteFile,
    /// Gives a saved scenario another name.
    Rename(String),
}

/// A word, and behind a colon what it is about.
fn with(word: &str, about: &str) -> String {
    let mut text = String::with_capacity(word.len() + about.len() + 1);
    text.push_str(word);
    text.push(':');
    text.push_str(about);
    text
}

/// Word and subject of a text.
fn halves(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or((text, ""))
}

fn key(id: FieldId) -> &'static str {
    field(id).key
}

fn id(key: &str) -> Option<FieldId> {
    field_of_key(key).map(|field| field.id)
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Action {
    /// The word in the markup.
    pub fn write(&self) -> String {
        let word = match self {
            Self::Skip(target) => return with("skip", target.id()),
            Self::SwitchTheme => "theme",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::OpenDialog(dialog) => return with("dialog", dialogs::name_of(*dialog)),
            Self::CloseDialog => "close",
            Self::Toggle(name) => return with("open", name),
            Self::Set(id, word) => return with("set", &with(key(*id), word)),
            Self::Clear(id) => return with("clear", key(*id)),
            Self::Repair(id) => return with("repair", key(*id)),
            Self::GoToRed(None) => "red",
            Self::GoToRed(Some(id)) => return with("red", key(*id)),
            Self::Fix(number) => return with("fix", &number.to_string()),
            Self::Grow(number) => return with("grow", &number.to_string()),
            Self::UseUsers => "users",
            Self::ShowCurve(axis) => return with("axis", word(*axis)),
            Self::SwitchLine(line) => return with("line", line.word()),
            Self::LogAxis(log) => return with("log", if *log { "true" } else { "false" }),
            Self::CloseNotice(id) => return with("notice", &id.to_string()),
            Self::Hear(axis) => return with("hear", word(*axis)),
            Self::GoTo(section) => return with("go", section.id()),
            Self::Pin => "pin",
            Self::Unpin(None) => "unpin",
            Self::Unpin(Some(at)) => return with("unpin", &at.to_string()),
            Self::Swap(at) => return with("swap", &at.to_string()),
            Self::Copy(id) => return with("copy", id),
            Self::TakeAlong(form) => return with("take-along", form.word()),
            Self::Print => "print",
            Self::ListFits(list) => return with("fits", &list.write()),
            Self::UsePasted => "paste-use",
            Self::CountAsGeneric => "paste-generic",
            Self::Plan(verb) => return with("plan", verb.word()),
            Self::Take(link) => return with("take", link),
            Self::Beside(link) => return with("beside", link),
            Self::OpenTeach => "teach",
            Self::Teach(verb) => return with("teach", &verb.write()),
            Self::PrintHandout => "teach-print",
            Self::Present(story, step) => return with("present", &format!("{story}.{step}")),
            Self::Stage(verb) => return with("step", &verb.write()),
            Self::ExportSaved => "export",
            Self::BringBack => "bring-back",
            Self::Saved(verb, id) => return with(verb.word(), id),
        };
        word.to_owned()
    }

    /// Reads what [`Action::write`] wrote; nothing for any other text.
    pub fn read(said: &str) -> Option<Self> {
        let (word, about) = halves(said);
        Some(match word {
            "skip" => Self::Skip(SkipTarget::of(about)?),
            "theme" => Self::SwitchTheme,
            "undo" => Self::Undo,
            "redo" => Self::Redo,
            "dialog" => Self::OpenDialog(dialogs::of_name(about)?),
            "close" => Self::CloseDialog,
            "open" => Self::Toggle(text(about)?),
            "set" => {
                let (key, word) = about.split_once(':')?;
                Self::Set(id(key)?, word.to_owned())
            }
            "clear" => Self::Clear(id(about)?),
            "repair" => Self::Repair(id(about)?),
            "red" if about.is_empty() => Self::GoToRed(None),
            "red" => Self::GoToRed(Some(id(about)?)),
            "fix" => Self::Fix(about.parse().ok()?),
            "grow" => Self::Grow(about.parse().ok()?),
            "users" => Self::UseUsers,
            "axis" => Self::ShowCurve(axis_of(about)?),
            "line" => Self::SwitchLine(Line::of_word(about)?),
            "log" => Self::LogAxis(about.parse().ok()?),
            "notice" => Self::CloseNotice(about.parse().ok()?),
            "hear" => Self::Hear(axis_of(about)?),
            "go" => Self::GoTo(Section::of_id(about)?),
            "pin" => Self::Pin,
            "unpin" if about.is_empty() => Self::Unpin(None),
            "unpin" => Self::Unpin(Some(about.parse().ok()?)),
            "swap" => Self::Swap(about.parse().ok()?),
            "copy" => Self::Copy(text(about)?),
            "take-along" => Self::TakeAlong(ExportFormat::of(about)?),
            "print" => Self::Print,
            "fits" => Self::ListFits(FitsList::read(about)?),
            "paste-use" => Self::UsePasted,
            "paste-generic" => Self::CountAsGeneric,
            "plan" => Self::Plan(PlanVerb::read(about)?),
            "take" => Self::Take(text(about)?),
            "beside" => Self::Beside(text(about)?),
            "teach" if about.is_empty() => Self::OpenTeach,
            "teach" => Self::Teach(TeachVerb::read(about)?),
            "teach-print" => Self::PrintHandout,
            "present" => {
                let (story, step) = about.rsplit_once('.')?;
                Self::Present(text(story)?, step.parse().ok()?)
            }
            "step" => Self::Stage(StageVerb::read(about)?),
            "export" => Self::ExportSaved,
            "bring-back" => Self::BringBack,
            _ => Self::Saved(SavedVerb::read(word)?, text(about)?),
        })
    }
}

impl SavedVerb {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Open, Self::Compare, Self::Rename, Self::Duplicate, Self::Delete];

    const fn word(self) -> &'static str {
        match self {
            Self::Open => "saved-open",
            Self::Compare => "saved-compare",
            Self::Rename => "saved-rename",
            Self::Duplicate => "saved-duplicate",
            Self::Delete => "saved-delete",
        }
    }

    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.word() == word)
    }
}

impl FitsList {
    /// The text in a request.
    pub fn write(&self) -> String {
        let mut text = self.order.word().to_owned();
        text.push(' ');
        text.push_str(&self.way);
        text
    }

    /// Reads what [`FitsList::write`] wrote; an order alone lists every way.
    pub fn read(text: &str) -> Option<Self> {
        let (order, way) = text.split_once(' ').unwrap_or((text, ""));
        Some(Self { order: FitsOrder::read(order)?, way: way.to_owned() })
    }
}

impl FitsOrder {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Size, Self::Length, Self::Speed];

    const fn word(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Length => "length",
            Self::Speed => "speed",
        }
    }

    fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.word() == word)
    }
}

impl PlanVerb {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Show, Self::Search, Self::Stop];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::Search => "search",
            Self::Stop => "stop",
        }
    }

    /// The verb of that word.
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.word() == word)
    }
}

impl Settled {
    /// The word in the markup.
    pub fn write(&self) -> String {
        match self {
            Self::ImportSaved => "import".to_owned(),
            Self::TeachFile => "teach-file".to_owned(),
            Self::PasteFile => "paste-file".to_owned(),
            Self::Rename(id) => with("rename", id),
        }
    }

    /// Reads what [`Settled::write`] wrote.
    pub fn read(said: &str) -> Option<Self> {
        let (word, about) = halves(said);
        Some(match word {
            "import" => Self::ImportSaved,
            "teach-file" => Self::TeachFile,
            "paste-file" => Self::PasteFile,
            "rename" => Self::Rename(text(about)?),
            _ => return None,
        })
    }
}

impl Render for Action {
    fn render_to(&self, html: &mut String) {
        self.write().render_to(html);
    }
}

impl Render for Settled {
    fn render_to(&self, html: &mut String) {
        self.write().render_to(html);
    }
}

impl Render for PlanVerb {
    fn render_to(&self, html: &mut String) {
        html.push_str(self.word());
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Action, ExportFormat, FitsList, FitsOrder, Line, PlanVerb, SavedVerb, Section, Sent,
        Settled, SkipTarget, StageVerb, StepChange, TeachVerb, TeachView,
    };
    use crate::planner::Axis;
    use crate::scenario::fields;
    use crate::view::ui::Dialog;

    /// Texts that a link, an id or a name may be.
    const TEXTS: [&str; 5] =
        ["x", "own-1", "why/gpus/runnable", "v2&m=gpt2&name=a:b.c d", "ledger/KV cache: “x”"];

    fn ids() -> impl Iterator<Item = String> {
        TEXTS.into_iter().map(str::to_owned)
    }

    fn stage() -> Vec<StageVerb> {
        StageVerb::WORDS
            .iter()
            .map(|(verb, _)| *verb)
            .chain([1, 9, 1000].map(StageVerb::Go))
            .collect()
    }

    fn teach() -> Vec<TeachVerb> {
        use TeachVerb as T;
        let mut all = vec![
            T::Show,
            T::Predict,
            T::Reveal,
            T::Sheet,
            T::Task(0),
            T::Task(7),
            T::Code,
            T::New,
            T::Import,
        ];
        all.extend([TeachView::List, TeachView::Sheet].map(T::View));
        for id in ids() {
            let views = [TeachView::Keep, TeachView::Edit, TeachView::Handout, TeachView::Answers];
            all.extend(views.map(|view| T::View(view(id.clone()))));
            all.extend(
                [T::Copy, T::Record, T::File, T::Save, T::Delete, T::DeleteForGood]
                    .map(|verb| verb(id.clone())),
            );
            all.extend(StepChange::ALL.map(|change| T::Step(change, id.clone(), 3)));
        }
        all
    }

    fn of_numbers_fields_and_ids() -> Vec<Action> {
        use Action as A;
        let mut all = Vec::new();
        for number in [0_u32, 1, 77] {
            let at = usize::try_from(number).unwrap_or_default();
            all.extend([
                A::Fix(at),
                A::Grow(at),
                A::Unpin(Some(at)),
                A::Swap(at),
                A::CloseNotice(number.into()),
            ]);
        }
        for field in fields() {
            all.extend([
                A::Clear(field.id),
                A::Repair(field.id),
                A::GoToRed(Some(field.id)),
                A::Set(field.id, "a:b".to_owned()),
            ]);
        }
        all.extend(ExportFormat::ALL.map(A::TakeAlong));
        for text in ids() {
            all.extend([A::Toggle, A::Copy, A::Take, A::Beside].map(|action| action(text.clone())));
            all.extend(SavedVerb::ALL.map(|verb| A::Saved(verb, text.clone())));
            all.push(A::Present(text, 12));
        }
        all
    }

    fn actions() -> Vec<Action> {
        use Action as A;
        let mut all = vec![
            A::SwitchTheme,
            A::Undo,
            A::Redo,
            A::CloseDialog,
            A::GoToRed(None),
            A::UseUsers,
            A::Pin,
        ];
        all.extend([
            A::Unpin(None),
            A::Print,
            A::UsePasted,
            A::CountAsGeneric,
            A::OpenTeach,
            A::PrintHandout,
        ]);
        all.extend([A::ExportSaved, A::BringBack]);
        all.extend(SkipTarget::ALL.map(A::Skip));
        all.extend([Dialog::Share, Dialog::Paste, Dialog::Save].map(A::OpenDialog));
        all.extend(
            [Axis::SeqLength, Axis::Gpus]
                .into_iter()
                .flat_map(|axis| [A::ShowCurve(axis), A::Hear(axis)]),
        );
        all.extend([true, false].map(A::LogAxis));
        all.extend(Line::ALL.map(A::SwitchLine));
        all.extend(Section::ALL.map(A::GoTo));
        all.extend(of_numbers_fields_and_ids());
        let ways = ["", "awq"].into_iter();
        let lists = ways
            .flat_map(|way| FitsOrder::ALL.map(|order| FitsList { order, way: way.to_owned() }));
        all.extend(lists.map(A::ListFits));
        all.extend(PlanVerb::ALL.map(A::Plan));
        all.extend(stage().into_iter().map(A::Stage));
        all.extend(teach().into_iter().map(A::Teach));
        all
    }

    #[test]
    fn what_is_written_is_read() {
        for action in actions() {
            assert_eq!(Action::read(&action.write()).as_ref(), Some(&action), "{}", action.write());
        }
        for sent in teach().into_iter().map(Sent::Teach).chain(stage().into_iter().map(Sent::Stage))
        {
            assert_eq!(Sent::read(&sent.write()).as_ref(), Some(&sent), "{}", sent.write());
        }
        let settled = [Settled::ImportSaved, Settled::TeachFile, Settled::PasteFile].into_iter();
        for settled in settled.chain(ids().map(Settled::Rename)) {
            assert_eq!(Settled::read(&settled.write()).as_ref(), Some(&settled));
        }
    }

    #[test]
    fn two_actions_are_two_texts() {
        let texts: std::collections::BTreeSet<String> =
            actions().iter().map(Action::write).collect();
        assert_eq!(texts.len(), actions().len());
    }

    #[test]
    fn nothing_else_is_read() {
        let wrong = [
            "", "x", "undoo", "dialog:x", "set:zz:1", "set:s", "fix:", "fix:x", "axis:x", "line:x",
            "go:x", "grow:", "log:1", "plan:x", "step:x",
        ];
        for text in wrong.into_iter().chain([
            "teach:x",
            "teach:view:x",
            "saved-open:",
            "present:x",
            "fits:x ",
            "take:",
        ]) {
            assert_eq!(Action::read(text), None, "{text}");
        }
    }
}
