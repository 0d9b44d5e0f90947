//! Stories: steps with a scenario, a sentence or two, a part of the page to look at, and perhaps a
//! question.
//!
//! A story is a file (JSON, [`VERSION`]): the ones that ship are in [`shipped`], a lecturer's own
//! are read by [`Story::read`], which names every problem in a sentence. Texts are plain text:
//! control and reordering characters are dropped, lengths are capped, and the page escapes them.
//! `{figure}` in a text stands for that figure of the step's scenario, `{figure@2}` for that of
//! step 2.

mod fill;
mod read;
mod secret;
mod share;
mod shipped;
mod whose;
mod write;

pub use fill::{Told, ToldStep, filled};
pub use read::StoryError;
pub use share::{LONGEST_LINK, packed, unpacked};
pub use shipped::{shipped, story};
pub use whose::Attribution;

use super::figure::{Amount, Figure};
use crate::scenario::codec::decode;
use crate::scenario::{FieldId, FieldKind, Scenario, field, parse};

/// The version of the story files written.
pub const VERSION: u64 = 1;
/// The longest file that is read, bytes.
pub const LONGEST_FILE: usize = 64 << 10;
/// The most steps of a story.
pub const MOST_STEPS: usize = 40;
/// The longest text of a step and of a question, characters.
pub const LONGEST_TEXT: usize = 600;
/// The longest title, characters.
pub const LONGEST_TITLE: usize = 80;

/// A story.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// Its name in links: lower-case letters, digits and `-`, at most 40.
    pub id: String,
    /// Its title.
    pub title: String,
    /// For whom it is, in a few words; may be empty.
    pub audience: String,
    /// Its steps; at least one.
    pub steps: Vec<LessonStep>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct LessonStep {
    /// Its scenario.
    pub start: Start,
    /// The step's title, a few words.
    pub title: String,
    /// A sentence or two, with placeholders.
    pub text: String,
    /// The part of the page to look at.
    pub look: Look,
    /// The figure shown large.
    pub figure: String,
    /// The question that is asked before the text is shown, if there is one.
    pub question: Option<Question>,
    /// Figures that a test compares with the engine's.
    pub claims: Vec<Claim>,
    /// Inputs that stay in sight.
    pub live: Vec<FieldId>,
}

/// The origin of a step's scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// A whole link, without `#`.
    Link(String),
    /// The scenario of the step before with some fields changed: link keys and values as people
    /// type them.
    Change(Vec<(String, String)>),
}

/// A question about a figure of the step's scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The figure.
    pub figure: String,
    /// The text of the question; plain text with placeholders.
    pub prompt: String,
    /// Relative error within which an answer is right.
    pub tolerance: f64,
}

/// A figure's value that a story relies on.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The figure.
    pub figure: String,
    /// Its value in the figure's unit.
    pub value: Amount,
    /// Relative error within which the engine's value agrees.
    pub tolerance: f64,
}

/// The part of the page that a step shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// The bar of memory by kind.
    #[default]
    Bar,
    /// The bar of memory by kind when the optimizer steps, where that is not the fullest moment.
    States,
    /// The answer with both counts.
    Answer,
    /// Memory against sequence length.
    Length,
    /// Memory against the number of GPUs.
    Gpus,
    /// Memory over one step, and the stages of a pipeline.
    Step,
    /// The ledger of memory.
    Ledger,
    /// The ledger of time.
    Time,
    /// The five documents side by side.
    Methods,
}

impl Look {
    /// Each part with its word in files and its name for people.
    pub const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Bar, "bar", "Bar by kind"),
        (Self::States, "states", "Bar by kind when the optimizer steps"),
        (Self::Answer, "answer", "Verdict and counts"),
        (Self::Length, "length", "Curve over length"),
        (Self::Gpus, "gpus", "Curve over GPUs"),
        (Self::Step, "step", "Memory over one step"),
        (Self::Ledger, "ledger", "Where the memory goes"),
        (Self::Time, "time", "Where the time goes"),
        (Self::Methods, "methods", "Five documents"),
    ];

    /// Returns the word of the part in files.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(look, ..)| *look == self).map_or("bar", |(_, word, _)| word)
    }

    /// Returns the part of that word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == word).map(|(look, ..)| *look)
    }
}

impl LessonStep {
    /// Returns a step that shows a scenario and has no text yet.
    pub fn of(link: &str) -> Self {
        Self {
            start: Start::Link(link.to_owned()),
            title: String::new(),
            text: String::new(),
            look: Look::default(),
            figure: "per-gpu".to_owned(),
            question: None,
            claims: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Returns the figure shown large.
    pub fn shown(&self) -> Option<&'static Figure> {
        Figure::find(&self.figure)
    }
}

impl Story {
    /// Returns the scenario of every step.
    ///
    /// # Errors
    /// A sentence for every step whose scenario cannot be made or has an input that needs a look.
    pub fn scenarios(&self) -> Result<Vec<Scenario>, Vec<String>> {
        let (mut scenarios, mut problems) = (Vec::new(), Vec::new());
        let mut last = Scenario::default();
        for (index, step) in self.steps.iter().enumerate() {
            let mut here =
                |problem: String| problems.push(format!("Step {}: {problem}", index + 1));
            match &step.start {
                Start::Link(link) => {
                    let decoded = decode(link);
                    if decoded.failed || decoded.altered {
                        here(decoded.notices.join(" "));
                    }
                    last = decoded.scenario;
                }
                Start::Change(changes) => {
                    if let Err(problem) = change(&mut last, changes) {
                        here(problem);
                    }
                }
            }
            if let Err(errors) = last.resolve() {
                for error in errors {
                    here(format!("{}: {}", field(error.field).label, error.message));
                }
            }
            scenarios.push(last.clone());
        }
        if problems.is_empty() { Ok(scenarios) } else { Err(problems) }
    }
}

/// Sets fields by their keys; model and GPU first, because they decide what the others start from.
fn change(scenario: &mut Scenario, changes: &[(String, String)]) -> Result<(), String> {
    let starts = |key: &str| {
        let kind = crate::scenario::field_of_key(key).map(|field| field.kind);
        matches!(kind, Some(FieldKind::Model | FieldKind::Accelerator))
    };
    let (first, then): (Vec<_>, Vec<_>) = changes.iter().partition(|(key, _)| starts(key));
    for (key, value) in first.into_iter().chain(then) {
        let field = crate::scenario::field_of_key(key)
            .ok_or_else(|| format!("“{}” is no input.", plain(key, 20)))?;
        scenario.set(field.id, parse(field.id, value)?);
    }
    Ok(())
}

/// Returns a text that somebody wrote, cut to `longest` characters and without control and
/// reordering characters.
pub fn plain(text: &str, longest: usize) -> String {
    // A huge text is cut before it is cleaned.
    let head: String = text.chars().take(longest.saturating_mul(4)).collect();
    crate::scenario::clean(&head).chars().take(longest).collect()
}
