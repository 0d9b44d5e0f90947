//! The vocabulary of stories: the panel with its editor and worksheets, and the presenter's stage.

use maud::Render;

use super::{halves, text, with};

/// The requests of the panel of stories and exercises: the values of `data-teach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeachVerb {
    /// Shows the view that was shown last.
    Show,
    /// Shows one of the panel's views.
    View(TeachView),
    /// Looks at a guess of a figure.
    Predict,
    /// Reveals the figure.
    Reveal,
    /// Opens a worksheet.
    Sheet,
    /// Looks at the answer to a task of it.
    Task(usize),
    /// Checks a result code.
    Code,
    /// Begins a story.
    New,
    /// Copies a story.
    Copy(String),
    /// Adds the present scenario as a step.
    Record(String),
    /// Changes a step of a story.
    Step(StepChange, String, usize),
    /// Downloads a story.
    File(String),
    /// Saves a story.
    Save(String),
    /// Asks whether a story is to be deleted.
    Delete(String),
    /// Deletes a story.
    DeleteForGood(String),
    /// Adds a story from a file.
    Import,
}

/// A change of one step of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepChange {
    /// Moves it up.
    Up,
    /// Moves it down.
    Down,
    /// Gives it the present scenario.
    Update,
    /// Removes it.
    Drop,
}

/// A view of the panel of stories and exercises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeachView {
    /// The list of all.
    List,
    /// The list, and that story is not deleted.
    Keep(String),
    /// The editor of a story.
    Edit(String),
    /// The handout of a story.
    Handout(String),
    /// The handout with its answers.
    Answers(String),
    /// A worksheet.
    Sheet,
}

/// The actions of buttons and keys on the presenter's stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageVerb {
    /// Goes on: to the answer of a question, to the next step, to the end.
    Next,
    /// Goes on, but never ends the story: a key that is pressed once too often ends nothing.
    On,
    /// Goes back.
    Back,
    /// Reveals the answer.
    Reveal,
    /// Shows or hides the QR code.
    Code,
    /// Shows or hides the list of keys.
    Keys,
    /// Shows or hides the timer.
    Timer,
    /// Checks an answer.
    Answer,
    /// Ends the story and keeps the scenario that is shown.
    Keep,
    /// Ends the story.
    End,
    /// Goes to a step by its number, from 1.
    Go(usize),
}

/// A form of the panel of stories or of the stage: the value of `data-teach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A form of the panel.
    Teach(TeachVerb),
    /// A form of the stage.
    Stage(StageVerb),
}

impl StageVerb {
    /// The verbs without a number, each with its word.
    pub const WORDS: [(Self, &str); 10] = [
        (Self::Next, "next"),
        (Self::On, "on"),
        (Self::Back, "back"),
        (Self::Reveal, "reveal"),
        (Self::Code, "qr"),
        (Self::Keys, "keys"),
        (Self::Timer, "timer"),
        (Self::Answer, "answer"),
        (Self::Keep, "keep"),
        (Self::End, "end"),
    ];

    /// The word in the markup.
    pub fn write(self) -> String {
        let word =
            Self::WORDS.iter().find(|(verb, _)| *verb == self).map(|(_, word)| (*word).to_owned());
        match self {
            Self::Go(number) => number.to_string(),
            _ => word.unwrap_or_default(),
        }
    }

    /// Reads what [`StageVerb::write`] wrote.
    pub fn read(text: &str) -> Option<Self> {
        let word = Self::WORDS.iter().find(|(_, word)| *word == text).map(|(verb, _)| *verb);
        word.or_else(|| text.parse().ok().map(Self::Go))
    }
}

impl StepChange {
    /// All changes.
    pub const ALL: [Self; 4] = [Self::Up, Self::Down, Self::Update, Self::Drop];

    const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Update => "update",
            Self::Drop => "drop",
        }
    }
}

impl TeachVerb {
    /// The word in a request and in the markup.
    pub fn write(&self) -> String {
        let word = match self {
            Self::Show => "show",
            Self::View(view) => return with("view", &view.write()),
            Self::Predict => "predict",
            Self::Reveal => "reveal",
            Self::Sheet => "sheet",
            Self::Task(number) => return with("task", &number.to_string()),
            Self::Code => "code",
            Self::New => "new",
            Self::Copy(id) => return with("copy", id),
            Self::Record(id) => return with("record", id),
            Self::Step(change, id, at) => return with(change.word(), &format!("{id}.{at}")),
            Self::File(id) => return with("file", id),
            Self::Save(id) => return with("save", id),
            Self::Delete(id) => return with("delete", id),
            Self::DeleteForGood(id) => return with("delete-yes", id),
            Self::Import => "import",
        };
        word.to_owned()
    }

    /// Reads what [`TeachVerb::write`] wrote.
    pub fn read(said: &str) -> Option<Self> {
        let (word, about) = halves(said);
        let id = || text(about);
        Some(match word {
            "show" => Self::Show,
            "view" => Self::View(TeachView::read(about)?),
            "predict" => Self::Predict,
            "reveal" => Self::Reveal,
            "sheet" => Self::Sheet,
            "task" => Self::Task(about.parse().ok()?),
            "code" => Self::Code,
            "new" => Self::New,
            "copy" => Self::Copy(id()?),
            "record" => Self::Record(id()?),
            "file" => Self::File(id()?),
            "save" => Self::Save(id()?),
            "delete" => Self::Delete(id()?),
            "delete-yes" => Self::DeleteForGood(id()?),
            "import" => Self::Import,
            _ => {
                let change = StepChange::ALL.into_iter().find(|change| change.word() == word)?;
                let (id, at) = about.rsplit_once('.')?;
                Self::Step(change, text(id)?, at.parse().ok()?)
            }
        })
    }

    /// True if what was pressed is gone once the answer stands there.
    pub const fn shows_another_view(&self) -> bool {
        matches!(self, Self::View(_) | Self::New | Self::Copy(_))
    }
}

impl TeachView {
    /// The word in a request and in the panel's memory.
    pub fn write(&self) -> String {
        match self {
            Self::List => "list".to_owned(),
            Self::Keep(id) => with("list", id),
            Self::Edit(id) => with("edit", id),
            Self::Handout(id) => with("handout", id),
            Self::Answers(id) => with("answers", id),
            Self::Sheet => "sheet".to_owned(),
        }
    }

    /// Reads what [`TeachView::write`] wrote.
    pub fn read(said: &str) -> Option<Self> {
        let (word, about) = halves(said);
        Some(match word {
            "list" if about.is_empty() => Self::List,
            "list" => Self::Keep(text(about)?),
            "edit" => Self::Edit(text(about)?),
            "handout" => Self::Handout(text(about)?),
            "answers" => Self::Answers(text(about)?),
            "sheet" => Self::Sheet,
            _ => return None,
        })
    }
}

impl Sent {
    /// The word in the markup.
    pub fn write(&self) -> String {
        match self {
            Self::Teach(verb) => verb.write(),
            Self::Stage(verb) => with("step", &verb.write()),
        }
    }

    /// Reads what [`Sent::write`] wrote.
    pub fn read(said: &str) -> Option<Self> {
        match said.strip_prefix("step:") {
            Some(verb) => StageVerb::read(verb).map(Self::Stage),
            None => TeachVerb::read(said).map(Self::Teach),
        }
    }
}

impl Render for Sent {
    fn render_to(&self, html: &mut String) {
        self.write().render_to(html);
    }
}
