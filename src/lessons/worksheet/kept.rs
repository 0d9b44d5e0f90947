//! The record of a class's worksheets that a browser keeps, so that a reload loses no answer.

use serde_json::{Value, json};
use thiserror::Error;

use super::{Code, Outcome, word};

/// The version of the records written.
pub const VERSION: u64 = 1;
/// The longest record that is read, bytes.
const LONGEST: usize = 64 << 10;
/// The most students of a class that one browser keeps; beyond them the earliest one is dropped.
const MOST: usize = 200;

/// The results of the students who used this browser, the last one last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptResults(Vec<Code>);

/// The reason why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeptError {
    /// The text is no record of this class, or a part of it is missing or wrong.
    #[error("this is no progress of a worksheet")]
    Malformed,
    /// A later version of the page wrote it.
    #[error("this was written by a newer version of the page (record version {0})")]
    UnknownVersion(u64),
}

impl KeptResults {
    /// Reads what [`KeptResults::write`] wrote for a class.
    ///
    /// # Errors
    /// [`KeptError::UnknownVersion`] for a later version's record, [`KeptError::Malformed`] for
    /// everything else.
    pub fn read(class: &str, text: &str) -> Result<Self, KeptError> {
        let value: Value = match text.len() {
            0..=LONGEST => serde_json::from_str(text).map_err(|_| KeptError::Malformed)?,
            _ => return Err(KeptError::Malformed),
        };
        match value.get("v").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(KeptError::UnknownVersion(version)),
            _ => return Err(KeptError::Malformed),
        }
        let rows = value.get("codes").and_then(Value::as_array).ok_or(KeptError::Malformed)?;
        let code = |row: &Value| Code::read(row.as_str()?).ok().filter(|code| code.class == class);
        let codes: Option<Vec<Code>> = rows.iter().map(code).collect();
        codes.filter(|codes| codes.len() <= MOST).map(Self).ok_or(KeptError::Malformed)
    }

    /// Returns the record as JSON in one line.
    pub fn write(&self) -> String {
        let codes: Vec<String> = self.0.iter().map(Code::write).collect();
        json!({ "v": VERSION, "codes": codes }).to_string()
    }

    /// Returns the student who used this browser last.
    pub fn last(&self) -> Option<&Code> {
        self.0.last()
    }

    /// Returns the outcomes of a student's tasks, in order; empty for a new student.
    pub fn outcomes(&self, student: &str) -> &[Outcome] {
        self.0.iter().find(|code| code.student == word(student)).map_or(&[], |code| &code.outcomes)
    }

    /// Takes a result in as the last one, in place of the same student's earlier one.
    pub fn keep(&mut self, code: Code) {
        self.0.retain(|known| known.student != code.student);
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(code);
    }
}
