//! Worksheets: the same tasks for a class, drawn from a seed, so that each student has other
//! parameters.
//!
//! The seed is the class's word and the student's name; the numbers drawn from it never change,
//! which frozen fixtures hold. A student hands in a [`Code`]: the name, which tasks were right, and
//! after how many tries. It carries a check sum against slips of the pen. It is not signed: anyone
//! can make one up.

mod code;
mod draw;
mod kept;
mod table;

pub use code::{Code, Outcome};
pub use kept::{KeptError, KeptResults};

use super::figure::{Facts, Figure};
use super::story::{filled, plain};
use crate::scenario::{Scenario, field_of_key, parse};
use draw::Draw;
use table::{TEMPLATES, Template};

/// The longest word of a class and name of a student, characters.
pub const LONGEST_WORD: usize = 24;

/// The tasks of one student.
pub struct Worksheet {
    /// The class's word, as it is in the link.
    pub class: String,
    /// The student's name, in lower-case letters, digits and `-`; may be empty.
    pub student: String,
    /// The tasks.
    pub tasks: Vec<WorksheetTask>,
}

/// One task.
pub struct WorksheetTask {
    /// Its scenario with the student's parameters.
    pub scenario: Scenario,
    /// The engine's results for the scenario.
    pub facts: Facts,
    /// The question, with the student's numbers.
    pub prompt: String,
    /// The figure that is asked for.
    pub figure: &'static Figure,
    /// Relative error within which an answer is right.
    pub tolerance: f64,
}

impl Worksheet {
    /// Returns the tasks of a student of a class. Two equal words always give equal tasks.
    pub fn of(class: &str, student: &str) -> Self {
        let (class, student) = (word(class), word(student));
        let mut draw = Draw::new(&format!("{class}.{student}"));
        let tasks = TEMPLATES.iter().filter_map(|template| task(template, &mut draw)).collect();
        Self { class, student, tasks }
    }
}

/// A template with its values drawn. A test holds that every one of them resolves.
fn task(template: &Template, draw: &mut Draw) -> Option<WorksheetTask> {
    let mut scenario = crate::scenario::codec::decode(template.link).scenario;
    for (key, values) in template.drawn {
        // The value is drawn even where it cannot be used, because later tasks must not depend on
        // that.
        let value = values.get(draw.below(values.len()));
        if let (Some(field), Some(value)) = (field_of_key(key), value) {
            scenario.set(field.id, parse(field.id, value).ok()?);
        }
    }
    let facts = Facts::of(&scenario).ok()?;
    let prompt = filled(template.prompt, 0, std::slice::from_ref(&facts));
    Some(WorksheetTask {
        scenario,
        facts,
        prompt,
        figure: Figure::find(template.figure)?,
        tolerance: template.tolerance,
    })
}

/// Returns a word in the form that links and codes have: lower-case letters, digits and `-`.
pub fn word(text: &str) -> String {
    let lower = plain(text, LONGEST_WORD).to_lowercase();
    let kept = lower
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' });
    let kept: String = kept.take(LONGEST_WORD).collect();
    kept.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
