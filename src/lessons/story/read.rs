//! Reads a story file, field by field rather than by derived code, so that every problem is a
//! sentence for people.

use serde_json::Value;
use thiserror::Error;

use super::{
    Claim, LONGEST_FILE, LONGEST_TEXT, LONGEST_TITLE, LessonStep, Look, MOST_STEPS, Question,
    Start, Story, VERSION, plain,
};
use crate::lessons::figure::{Amount, Figure};
use crate::scenario::field_of_key;

/// The tolerance of a question that states none.
const TOLERANCE: f64 = 0.05;

/// The reason why a story cannot be read. Printed, it is one sentence for every problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoryError {
    /// The text is no story, or parts of it are missing or wrong: a sentence for each.
    #[error("{}", .0.join(" "))]
    Malformed(Vec<String>),
    /// A later version of the page wrote it.
    #[error(
        "This story was made by a newer version of the page (story version {0}): reload the page."
    )]
    UnknownVersion(u64),
}

impl Story {
    /// Reads a story file.
    ///
    /// # Errors
    /// [`StoryError::UnknownVersion`] for a later version's story, [`StoryError::Malformed`] for
    /// everything else.
    pub fn read(json: &str) -> Result<Self, StoryError> {
        let one = |problem: &str| StoryError::Malformed(vec![problem.to_owned()]);
        if json.len() > LONGEST_FILE {
            return Err(one(
                "This file is larger than 64 KiB, more than stories of this page are.",
            ));
        }
        let value: Value = serde_json::from_str(json).map_err(|_| {
            one("This is no story: choose a file that “Download” in the story's editor has made.")
        })?;
        if value.get("headroom").and_then(Value::as_str) != Some("story") {
            return Err(one(
                "This is no story: choose a file that “Download” in the story's editor has made.",
            ));
        }
        match value.get("v").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(StoryError::UnknownVersion(version)),
            _ => return Err(one("This story has no version: download it again.")),
        }
        let mut problems = Vec::new();
        let story = of_value(&value, &mut problems);
        if problems.is_empty() { Ok(story) } else { Err(StoryError::Malformed(problems)) }
    }
}

fn of_value(value: &Value, problems: &mut Vec<String>) -> Story {
    let id = text(value, "id", 40);
    if !is_id(&id) {
        problems.push(
            "The story's id is missing or holds other than lower-case letters, digits and “-”."
                .to_owned(),
        );
    }
    let title = text(value, "title", LONGEST_TITLE);
    if title.is_empty() {
        problems.push("The story has no title.".to_owned());
    }
    let none = Vec::new();
    let rows = value.get("steps").and_then(Value::as_array).unwrap_or(&none);
    if rows.is_empty() {
        problems.push("The story has no steps.".to_owned());
    }
    if rows.len() > MOST_STEPS {
        problems.push(format!(
            "The story has {} steps, more than the {MOST_STEPS} that one may have.",
            rows.len()
        ));
    }
    let steps = rows
        .iter()
        .take(MOST_STEPS)
        .enumerate()
        .map(|(index, row)| step(row, index, problems))
        .collect();
    Story { id, title, audience: text(value, "for", LONGEST_TITLE), steps }
}

fn step(row: &Value, index: usize, problems: &mut Vec<String>) -> LessonStep {
    let mut here = |problem: String| problems.push(format!("Step {}: {problem}", index + 1));
    let mut step = LessonStep::of("");
    step.start = match (
        row.get("link").and_then(Value::as_str),
        row.get("change").and_then(Value::as_object),
    ) {
        (Some(link), _) => Start::Link(plain(link, crate::scenario::codec::LONGEST)),
        (None, Some(changes)) if index > 0 => {
            let of = |(key, value): (&String, &Value)| {
                Some((plain(key, 10), plain(value.as_str()?, 60)))
            };
            let read: Option<Vec<_>> = changes.iter().take(40).map(of).collect();
            if read.is_none() {
                here("a change's value is no text.".to_owned());
            }
            Start::Change(read.unwrap_or_default())
        }
        _ => {
            here("it has no scenario: a link, or (after the first step) changes.".to_owned());
            Start::Link(String::new())
        }
    };
    step.title = text(row, "title", LONGEST_TITLE);
    step.text = text(row, "text", LONGEST_TEXT);
    if let Some(word) = row.get("look").and_then(Value::as_str) {
        match Look::of(word) {
            Some(look) => step.look = look,
            None => here(format!("“{}” is nothing to look at.", plain(word, 20))),
        }
    }
    if let Some(id) = row.get("figure") {
        match figure(id) {
            Ok(id) => step.figure = id,
            Err(problem) => here(problem),
        }
    }
    match row.get("question").map(question).transpose() {
        Ok(question) => step.question = question,
        Err(problem) => here(problem),
    }
    let claims = row.get("claims").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for read in claims.iter().take(20).map(claim) {
        match read {
            Ok(claim) => step.claims.push(claim),
            Err(problem) => here(problem),
        }
    }
    let live = row.get("live").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for key in live.iter().take(4) {
        match key.as_str().and_then(field_of_key) {
            Some(field) => step.live.push(field.id),
            None => here("an input that should stay in sight is none of the form.".to_owned()),
        }
    }
    step
}

fn figure(value: &Value) -> Result<String, String> {
    let id = plain(value.as_str().unwrap_or_default(), 40);
    Figure::find(&id)
        .map(|figure| figure.id.to_owned())
        .ok_or_else(|| format!("“{id}” is no figure."))
}

fn question(value: &Value) -> Result<Question, String> {
    let prompt = text(value, "prompt", LONGEST_TEXT);
    if prompt.is_empty() {
        return Err("its question asks nothing.".to_owned());
    }
    Ok(Question {
        figure: figure(value.get("figure").unwrap_or(&Value::Null))?,
        prompt,
        tolerance: tolerance(value, TOLERANCE),
    })
}

fn claim(value: &Value) -> Result<Claim, String> {
    let amount = match value.get("value") {
        Some(Value::Null) => Some(Amount::Never),
        Some(number) => number.as_f64().map(Amount::Number),
        None => None,
    };
    Ok(Claim {
        figure: figure(value.get("figure").unwrap_or(&Value::Null))?,
        value: amount.ok_or("a claim has no value.")?,
        tolerance: tolerance(value, 0.0),
    })
}

fn tolerance(value: &Value, otherwise: f64) -> f64 {
    let stated =
        value.get("tolerance").and_then(Value::as_f64).filter(|share| (0.0..=1.0).contains(share));
    // Steps of a ten-thousandth are fine enough, and are written and read without a difference.
    stated.map_or(otherwise, |share| (share * 1e4).round() / 1e4)
}

fn text(value: &Value, key: &str, longest: usize) -> String {
    plain(value.get(key).and_then(Value::as_str).unwrap_or_default(), longest)
}

/// True if `id` can be the name of a story in links and storage.
pub(super) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=40).contains(&id.len())
        && id.bytes().all(plain)
        && !id.starts_with('-')
        && !id.ends_with('-')
}
