//! Anything that people paste, told apart by itself: a link, a command or file of another tool, a
//! model's `config.json`, or a message of a run that ran out of memory. No browser in here.

use serde_json::{Value, json as object};

use super::launching::{remedies, summary};
use super::report::{Report, json};
use crate::import::oom::{self, OomMessage};
use crate::import::{self, Imported};
use crate::launch::logs::{self, Log};
use crate::launch::{self, Launched, Pasted, Row};
use crate::scenario::{FieldError, Scenario, codec, field};

/// The kind of a pasted text, with what was found in one that is no scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum PastedKind {
    /// A link of this page, or the part behind its `#`.
    Link,
    /// A command or file that starts a run or a server.
    Launch,
    /// A model's `config.json`.
    Config,
    /// Messages of a run that ran out of memory.
    Messages(Vec<OomMessage>),
    /// Figures that a server or a training printed.
    Log(Log),
}

/// A text that became a scenario.
#[derive(Clone, Debug)]
pub struct Understood {
    /// The scenario.
    pub scenario: Scenario,
    /// The reading of a command or file.
    pub launched: Option<Launched>,
    /// The reading of a `config.json`.
    pub imported: Option<Imported>,
    /// Sentences about a link.
    pub notices: Vec<String>,
}

/// The kind of a text; nothing where it looks like none.
///
/// ```
/// use headroom::view::anything::{PastedKind, kind_of};
/// assert_eq!(kind_of("vllm serve Qwen/Qwen3-8B"), Some(PastedKind::Launch));
/// assert_eq!(kind_of("{\"model_type\": \"llama\"}"), Some(PastedKind::Config));
/// assert_eq!(kind_of("v2&m=llama3-8b"), Some(PastedKind::Link));
/// assert_eq!(kind_of("good morning"), None);
/// ```
pub fn kind_of(text: &str) -> Option<PastedKind> {
    let text = text.trim();
    if fragment(text).is_some() {
        return Some(PastedKind::Link);
    }
    if launch::is_config(text) {
        return Some(PastedKind::Config);
    }
    // A log with a message may begin with the command that was run.
    let may_hold_message =
        !text.starts_with('{') || ["emory", "MEMORY"].iter().any(|word| text.contains(word));
    if may_hold_message && let Ok(messages) = oom::read(text) {
        return Some(PastedKind::Messages(messages));
    }
    if launch::recognises(text) {
        return Some(PastedKind::Launch);
    }
    // Figures at the end of a training are an object, too.
    logs::read(text)
        .map(PastedKind::Log)
        .or_else(|| text.starts_with('{').then_some(PastedKind::Config))
}

/// The part of a link that holds a scenario.
fn fragment(text: &str) -> Option<&str> {
    let behind = text.split_once('#').map_or(text, |(_, behind)| behind);
    let is_link = !text.contains(char::is_whitespace)
        && ["v1", "v2"].iter().any(|version| {
            behind
                .strip_prefix(version)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('&'))
        });
    is_link.then_some(behind)
}

/// The scenario of a link, or of the part behind its `#`, whether it resolves or not.
///
/// # Errors
/// Sentences about a link that cannot be read.
pub fn scenario_of(link: &str) -> Result<Scenario, Vec<String>> {
    let decoded = codec::decode(link.split_once('#').map_or(link, |(_, behind)| behind));
    if decoded.failed { Err(decoded.notices) } else { Ok(decoded.scenario) }
}

/// The scenario of pasted texts: of a link, a `config.json`, or commands and files with what lies
/// beside them. What they leave open is taken from `present`.
///
/// # Errors
/// Sentences with a way out.
pub fn understood(pasted: &[Pasted<'_>], present: &Scenario) -> Result<Understood, Vec<String>> {
    let plain =
        |scenario| Understood { scenario, launched: None, imported: None, notices: Vec::new() };
    if let [Pasted { text, .. }] = pasted {
        if let Some(fragment) = fragment(text.trim()) {
            let decoded = codec::decode(fragment);
            let read = Understood { notices: decoded.notices.clone(), ..plain(decoded.scenario) };
            return if decoded.failed { Err(decoded.notices) } else { Ok(read) };
        }
        if kind_of(text) == Some(PastedKind::Config) {
            let imported = import::config_json(text).map_err(|error| vec![error.to_string()])?;
            let mut scenario = present.clone();
            scenario.apply_imported(&imported);
            return Ok(Understood { imported: Some(imported), ..plain(scenario) });
        }
    }
    let launched = launch::read(pasted, present).map_err(|error| vec![error.to_string()])?;
    Ok(Understood { launched: Some(launched.clone()), ..plain(launched.scenario) })
}

/// The report of what was understood.
///
/// # Errors
/// A sentence for each input that cannot be used, behind one about what was read.
pub fn report(understood: &Understood) -> Result<Report, Vec<String>> {
    let job = understood.scenario.resolve().map_err(|errors| {
        let problem =
            |error: &FieldError| format!("{}: {}", field(error.field).label, error.message);
        understood
            .launched
            .iter()
            .map(summary)
            .chain(errors.iter().map(problem))
            .collect::<Vec<_>>()
    })?;
    Ok(Report::of(&understood.scenario, &job, None).with_device(&understood.scenario, &job))
}

/// The answer for programs: the link, what came of every setting, the estimate with certainty and
/// source of every line, and changes that make it fit.
///
/// # Errors
/// As [`report`].
pub fn answer(understood: &Understood) -> Result<Value, Vec<String>> {
    let report = report(understood)?;
    let answer: Value =
        serde_json::from_str(&json(&report, &understood.scenario, &understood.notices))
            .unwrap_or(Value::Null);
    let launched = understood.launched.as_ref();
    let rows = launched.map(|launched| launched.report.iter().map(row).collect::<Vec<_>>());
    let helps =
        launched.map(|launched| remedies(&launched.scenario, launched.format)).unwrap_or_default();
    Ok(object!({
        "link": codec::encode(&understood.scenario),
        "format": launched.map(|launched| launched.format.key),
        "version": launched.map(|launched| launched.format.version),
        "report": rows,
        "answer": answer,
        "remedies": helps.iter().map(|remedy| object!({
            "title": remedy.title,
            "changes": remedy.in_words(),
            "link": codec::encode(&remedy.scenario),
        })).collect::<Vec<_>>(),
    }))
}

fn row(row: &Row) -> Value {
    object!({
        "flag": row.flag,
        "value": row.value,
        "way": row.way.word(),
        "note": row.note,
        "line": row.place.map(|place| place.line),
        "column": row.place.map(|place| place.column),
    })
}
