//! The code that a student hands in and the lecturer checks.

use super::draw::hash;
use super::{Worksheet, word};

/// The outcome of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// True if the last answer was right.
    pub right: bool,
    /// The number of answers that were given; 9 stands for nine and more.
    pub tries: u8,
}

/// The result of a worksheet: `CLASS.STUDENT.OUTCOMES.CHECK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The class's word.
    pub class: String,
    /// The student's name.
    pub student: String,
    /// Task by task.
    pub outcomes: Vec<Outcome>,
}

impl Outcome {
    /// Returns the outcome of a task that was worked on in two places, such as two tabs: a right
    /// answer stays right, and tries are not lost.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self.right, other.right) {
            (true, false) => self,
            (false, true) => other,
            _ if other.tries > self.tries => other,
            _ => self,
        }
    }

    /// `0` for a task that was not tried, `1` to `9` for one right at that try, `a` to `i` for one
    /// that is wrong after that many tries.
    fn letter(self) -> char {
        let tries = u32::from(self.tries.min(9));
        match (self.right, tries) {
            (_, 0) => '0',
            (true, tries) => char::from_digit(tries, 10).unwrap_or('9'),
            (false, tries) => char::from_digit(tries + 9, 36).unwrap_or('i'),
        }
    }

    fn of(letter: char) -> Option<Self> {
        let digit = u8::try_from(letter.to_digit(19)?).ok()?;
        Some(if digit > 9 {
            Self { right: false, tries: digit - 9 }
        } else {
            Self { right: digit > 0, tries: digit }
        })
    }
}

impl Code {
    /// Returns the code as text: letters, digits, `-` and `.`.
    pub fn write(&self) -> String {
        let outcomes: String = self.outcomes.iter().map(|outcome| outcome.letter()).collect();
        let body = format!("{}.{}.{outcomes}", self.class, self.student);
        let check = check(&body);
        format!("{body}.{check}")
    }

    /// Reads a code.
    ///
    /// # Errors
    /// One sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        const NONE: &str = "This is no result code: one looks like course.name.11b0a2.x7k2.";
        let text: String = text
            .trim()
            .to_lowercase()
            .chars()
            .take(120)
            .filter(|character| !character.is_whitespace())
            .collect();
        let mut parts = text.split('.');
        let mut part = || parts.next().ok_or(NONE);
        let (class, student, outcomes, stated) = (part()?, part()?, part()?, part()?);
        if parts.next().is_some() || class != word(class) || student != word(student) {
            return Err(NONE.to_owned());
        }
        let body = format!("{class}.{student}.{outcomes}");
        if check(&body) != stated {
            return Err(
                "A character of this code is wrong or missing: ask for it again.".to_owned()
            );
        }
        let outcomes: Option<Vec<_>> = outcomes.chars().map(Outcome::of).collect();
        let outcomes = outcomes.ok_or(NONE)?;
        if outcomes.len() != Worksheet::of(class, student).tasks.len() {
            return Err(
                "This code belongs to a worksheet with another number of tasks, of another version \
                 of the page.".to_owned()
            );
        }
        Ok(Self { class: class.to_owned(), student: student.to_owned(), outcomes })
    }
}

/// Four letters or digits that change with any character of `body`: they guard against slips, not
/// against cheating.
fn check(body: &str) -> String {
    let mut rest = hash(&format!("headroom worksheet 1 {body}"));
    rest ^= rest >> 32;
    let mut letters = String::new();
    for _ in 0..4 {
        letters.push(
            u32::try_from(rest % 36)
                .ok()
                .and_then(|digit| char::from_digit(digit, 36))
                .unwrap_or('0'),
        );
        rest /= 36;
    }
    letters
}
