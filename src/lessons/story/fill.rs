//! A story with its texts filled: every scenario resolved, every placeholder replaced by its
//! figure.

use super::Story;
use super::whose::{Attribution, attribution};
use crate::lessons::figure::{Facts, Figure, WORDS, words};
use crate::scenario::Scenario;

/// A story with the facts about each step.
pub struct Told {
    /// Its steps.
    pub steps: Vec<ToldStep>,
}

/// A step with its texts filled.
pub struct ToldStep {
    /// Its scenario.
    pub scenario: Scenario,
    /// The engine's results for the scenario.
    pub facts: Facts,
    /// Its text.
    pub text: String,
    /// The text of the question, where there is one.
    pub prompt: String,
    /// The figure shown large: its name and its value.
    pub figure: (String, String),
    /// The methods of figure and picture, where these are not of one method.
    pub whose: Option<Attribution>,
    /// The answer to the question, as it is written on the page.
    pub answer: String,
}

/// The sign in place of a figure that a scenario does not have.
const NOTHING: &str = "–";

impl Told {
    /// Fills the texts of a story.
    ///
    /// # Errors
    /// As [`Story::scenarios`].
    pub fn of(story: &Story) -> Result<Self, Vec<String>> {
        let scenarios = story.scenarios()?;
        let mut facts = Vec::new();
        for scenario in &scenarios {
            let of = Facts::of(scenario).map_err(|errors| {
                errors.into_iter().map(|error| error.message).collect::<Vec<_>>()
            })?;
            facts.push(of);
        }
        let texts: Vec<_> = story
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| {
                let prompt = step.question.as_ref().map_or("", |question| &question.prompt);
                let answer = step
                    .question
                    .as_ref()
                    .map(|question| value(&question.figure, facts.get(index)));
                let label = step.shown().map_or("", |figure| figure.label).to_owned();
                let shown = (label, value(&step.figure, facts.get(index)));
                (
                    filled(&step.text, index, &facts),
                    filled(prompt, index, &facts),
                    shown,
                    answer.unwrap_or_default(),
                )
            })
            .collect();
        let steps = story.steps.iter().zip(scenarios).zip(facts).zip(texts);
        let steps =
            steps.map(|(((step, scenario), facts), (text, prompt, figure, answer))| ToldStep {
                scenario,
                whose: attribution(step, &facts),
                facts,
                text,
                prompt,
                figure,
                answer,
            });
        Ok(Self { steps: steps.collect() })
    }
}

/// A figure or words of a scenario, as written.
fn value(id: &str, facts: Option<&Facts>) -> String {
    let shown = facts.and_then(|facts| {
        let figure =
            Figure::find(id).and_then(|figure| Some(figure.show((figure.of)(facts)?, facts)));
        figure.or_else(|| words(id, facts))
    });
    shown.unwrap_or_else(|| NOTHING.to_owned())
}

/// Returns a text with its placeholders filled from the facts about the step of that index; braces
/// that name no figure stay as they are.
pub fn filled(text: &str, index: usize, facts: &[Facts]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let found = after
            .split_once('}')
            .and_then(|(name, behind)| Some((of_name(name, index, facts)?, behind)));
        if let Some((words, behind)) = found {
            out.push_str(&words);
            rest = behind;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out + rest
}

/// The value of a placeholder, `figure` or `figure@step`; `None` for a name that is no figure's.
fn of_name(name: &str, index: usize, facts: &[Facts]) -> Option<String> {
    let (id, at) = match name.split_once('@') {
        Some((id, step)) => (id, step.parse::<usize>().ok()?.checked_sub(1)?),
        None => (name, index),
    };
    let (figure, words) = (Figure::find(id).is_some(), WORDS.contains(&id));
    ((figure || words) && at < facts.len()).then(|| {
        let value = value(id, facts.get(at));
        // A number and its unit stay on one line.
        if figure { value.replace(' ', "\u{a0}") } else { value }
    })
}
