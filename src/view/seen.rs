//! How a part reads the page: by concern, so that the page knows what each part depends on.

use super::answers::{Answers, Standing};
use super::history::UndoStep;
use super::panels::controls::FormPlace;
use super::panels::curves;
use super::ui::{
    ChartsLook, Cursors, Dialogs, Drafts, FromWorkers, Opened, PageMessages, SavedList, Ui, View,
};
use crate::planner::Axis;

/// A concern of the page: what a part can read, and what can change apart from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// The scenario, and those it is compared with.
    Scenario,
    /// Everything that follows from them.
    Answer,
    /// Both curves.
    Plots,
    /// The texts in the form that cannot be read: some, or none.
    Unread,
    /// The drafts at one place of the form.
    Drafts(FormPlace),
    /// Entries that the reader opened and closed.
    Opened,
    /// The sections that stand beside the form.
    View,
    /// The open dialog.
    Dialogs,
    /// Messages.
    Messages,
    /// How the charts are drawn.
    Look,
    /// The point that is read on a curve.
    Cursor(Axis),
    /// The scenarios kept in this browser.
    Saved,
    /// Answers that the workers found.
    Found,
    /// The steps of undo.
    Steps,
}

/// The page at one moment, by concern.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// The scenario, and those it is compared with.
    pub said: &'a UndoStep,
    /// Everything that follows from them.
    pub answers: &'a Answers,
    /// Drafts in the form.
    pub drafts: &'a Drafts,
    /// Entries that the reader opened and closed.
    pub opened: &'a Opened,
    /// The sections that stand beside the form.
    pub view: View,
    /// The open dialog.
    pub dialogs: &'a Dialogs,
    /// Messages.
    pub messages: &'a PageMessages,
    /// How the charts are drawn.
    pub look: &'a ChartsLook,
    /// The points that are read on the curves.
    pub cursors: Cursors,
    /// The scenarios kept in this browser.
    pub saved: &'a SavedList,
    /// Answers that the workers found.
    pub found: &'a FromWorkers,
    /// True if undo and redo have a step.
    pub steps: (bool, bool),
}

impl<'a> Now<'a> {
    /// A page in that state.
    pub const fn of(said: &'a UndoStep, answers: &'a Answers, ui: &'a Ui) -> Self {
        let Ui { drafts, opened, view, dialogs, messages, look, cursors, saved, found, steps } = ui;
        Self {
            said,
            answers,
            drafts,
            opened,
            view: *view,
            dialogs,
            messages,
            look,
            cursors: *cursors,
            saved,
            found,
            steps: *steps,
        }
    }
}

/// The page as a part reads it. Each concern is noted when it is read.
pub struct SeenPage<'a> {
    /// The page.
    pub now: Now<'a>,
    /// The function that is told of each concern that the part reads.
    pub reads: &'a dyn Fn(Concern),
    /// Questions of a part to the browser around it.
    pub around: &'a Around,
}

impl SeenPage<'_> {
    /// The scenario, and those it is compared with.
    pub fn said(&self) -> &UndoStep {
        (self.reads)(Concern::Scenario);
        self.now.said
    }

    /// Everything that follows from them.
    pub fn answers(&self) -> &Answers {
        (self.reads)(Concern::Answer);
        self.now.answers
    }

    /// True if some text in the form cannot be read.
    pub fn unread(&self) -> bool {
        (self.reads)(Concern::Unread);
        !self.now.drafts.unread.is_empty()
    }

    /// Whose the answer is.
    pub fn standing(&self) -> Standing {
        self.answers().standing_with(self.unread())
    }

    /// The drafts of the form. A part may use those of that place alone, because it is told of
    /// changes at that place alone.
    pub fn drafts(&self, place: FormPlace) -> &Drafts {
        (self.reads)(Concern::Drafts(place));
        self.now.drafts
    }

    /// Entries that the reader opened and closed.
    pub fn opened(&self) -> &Opened {
        (self.reads)(Concern::Opened);
        self.now.opened
    }

    /// The sections that stand beside the form.
    pub fn view(&self) -> View {
        (self.reads)(Concern::View);
        self.now.view
    }

    /// The open dialog.
    pub fn dialogs(&self) -> &Dialogs {
        (self.reads)(Concern::Dialogs);
        self.now.dialogs
    }

    /// Messages.
    pub fn messages(&self) -> &PageMessages {
        (self.reads)(Concern::Messages);
        self.now.messages
    }

    /// How the charts are drawn.
    pub fn look(&self) -> &ChartsLook {
        (self.reads)(Concern::Look);
        self.now.look
    }

    /// The point that is read on a curve.
    pub fn cursor(&self, axis: Axis) -> Option<usize> {
        (self.reads)(Concern::Cursor(axis));
        curves::cursor(self.now.cursors, axis)
    }

    /// The scenarios kept in this browser.
    pub fn saved(&self) -> &SavedList {
        (self.reads)(Concern::Saved);
        self.now.saved
    }

    /// Answers that the workers found.
    pub fn found(&self) -> &FromWorkers {
        (self.reads)(Concern::Found);
        self.now.found
    }

    /// True if undo and redo have a step.
    pub fn steps(&self) -> (bool, bool) {
        (self.reads)(Concern::Steps);
        self.now.steps
    }
}

/// Questions of a part to the browser around it.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The address of the page with the link of what it shows.
    pub link: fn(&UndoStep) -> String,
    /// A moment, milliseconds since 1970, as the reader's own date and time.
    pub date: fn(u64) -> String,
}

impl Around {
    /// No browser: there is no address and no reader's clock.
    pub const NOTHING: Self = Self { link: |_| String::new(), date: |_| String::new() };
}
