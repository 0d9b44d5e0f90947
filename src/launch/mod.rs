//! Commands and files that people start runs and servers with: read into a scenario, and written
//! from one.
//!
//! A text is read in three steps. A *notation* ([`notation`]) reads names and values, with their
//! places, from shell, YAML, TOML, JSON or Python. A *format* ([`formats`], one file each)
//! describes one tool: words by which its texts are recognised, the meaning of each flag, and its
//! defaults. A [`Reading`] turns the flags into a scenario, with a row of the report for each. The
//! format's table of flags also writes a scenario as a command or file.
//!
//! Nothing is dropped silently: a flag that the table does not have is listed as unknown, and a
//! flag that changes memory in a way that is not modelled is named beside the answer.

#![allow(
    clippy::unnecessary_wraps,
    reason = "functions that read a flag have one form, whether its value can be wrong or not"
)]

mod difference;
mod error;
mod flag;
pub mod formats;
pub mod logs;
mod model_names;
pub mod notation;
mod reading;
mod report;
mod shared;
mod writing;

pub use difference::{SettingChange, difference};
pub use error::LaunchError;
pub use flag::{Effect, Flag, Takes};
pub use formats::{Format, FormatRole, FormatSpec};
pub use notation::{Given, Place, Stated, Text};
pub use reading::Reading;
pub use report::{Launched, Row, Way};
pub use writing::{Item, Writing, Written};

use crate::scenario::Scenario;

/// The longest text that is read, bytes.
pub const MAX_BYTES: usize = 1_000_000;

/// A pasted text, or a dropped file.
#[derive(Clone, Copy, Debug)]
pub struct Pasted<'a> {
    /// The file's name; empty for a text that was pasted.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Reads commands and files into a scenario, with a row of the report for each flag and each
/// default.
///
/// The first text that starts something is the one; the others (a DeepSpeed file beside a command)
/// are read where it refers to them. Model and accelerator that no text names stay those of
/// `present`.
///
/// ```
/// use headroom::launch::{Pasted, read};
/// use headroom::scenario::{FieldId, Scenario, Value};
/// let text = "vllm serve Qwen/Qwen2.5-7B-Instruct -tp 2 --max-model-len 16k";
/// let read = read(&[Pasted { name: "", text }], &Scenario::default())?;
/// assert_eq!(read.scenario.get(FieldId::TensorParallel), Value::Integer(2));
/// assert_eq!(read.scenario.get(FieldId::ContextLength), Value::Integer(16_000));
/// # Ok::<(), headroom::launch::LaunchError>(())
/// ```
///
/// # Errors
/// [`LaunchError`], one sentence with line and column where there is one: a text longer than
/// [`MAX_BYTES`], one that no format knows, and a value that a flag does not take. An unknown flag
/// is no error, it is a row of the report.
pub fn read(pasted: &[Pasted<'_>], present: &Scenario) -> Result<Launched, LaunchError> {
    if pasted.iter().any(|pasted| pasted.text.len() > MAX_BYTES) {
        return Err(LaunchError::TooLong);
    }
    let texts: Vec<Text<'_>> =
        pasted.iter().map(|pasted| Text::new(pasted.name, pasted.text)).collect();
    let opened =
        [FormatRole::Whole, FormatRole::Part].into_iter().find_map(|role| first_of(&texts, role));
    let (at, format, stated) = opened.ok_or(LaunchError::NoFormat)?;
    // A script may itself write the files that its command reads.
    let inside: Vec<Text<'_>> =
        texts.iter().flat_map(Text::files).map(|(name, text)| Text::new(name, text)).collect();
    let others = texts.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, text)| text);
    let beside: Vec<&Text<'_>> = others.chain(&inside).collect();
    Reading::of(format, stated?, &beside, present)
}

/// A recognised text: its place in the list, its format, and its settings.
type Opened = (usize, Format, Result<Stated, LaunchError>);

/// The first text that a format of that role recognises.
fn first_of(texts: &[Text<'_>], role: FormatRole) -> Option<Opened> {
    let formats = || Format::ALL.into_iter().filter(move |format| format.role == role);
    let in_order = texts.iter().enumerate();
    in_order.flat_map(|(at, text)| formats().map(move |format| (at, format, text))).find_map(
        |(at, format, text)| {
            let stated = (format.open)(text)?;
            Some((at, format, stated))
        },
    )
}

/// Returns true if some format knows the text: it is a command or a file that starts something.
pub fn recognises(text: &str) -> bool {
    text.len() <= MAX_BYTES && {
        let text = Text::new("", text);
        Format::ALL.into_iter().any(|format| (format.open)(&text).is_some())
    }
}

/// Returns the tool's own defaults, which count where its text states nothing.
pub fn defaults(format: Format) -> Scenario {
    Reading::of_nothing(format, &Scenario::default())
}

/// Returns a scenario as a command or file of that format, and the inputs that the tool has no word
/// for.
///
/// Settings that equal the tool's own defaults are left out. A format that is only read gives an
/// empty text and says so.
///
/// ```
/// use headroom::launch::{Format, write};
/// use headroom::scenario::codec::decode;
///
/// let scenario = decode("v2&do=serve&m=qwen2.5-72b&srv=vllm&n=4&tp=4&ctx=32768").scenario;
/// let written = write(&scenario, Format::named("vllm").expect("a tool of the list"));
/// assert!(written.text.starts_with("vllm serve Qwen/Qwen2.5-72B"));
/// assert!(written.items.iter().any(|item| item.key == "max-model-len"));
/// ```
pub fn write(scenario: &Scenario, format: Format) -> Written {
    Writing::of(scenario, format).finish()
}

/// Returns true if a text is a model's `config.json`: an object that says its kind.
pub fn is_config(text: &str) -> bool {
    let keys = ["\"model_type\"", "\"architectures\"", "\"num_hidden_layers\""];
    text.trim_start().starts_with('{')
        && text.len() <= MAX_BYTES
        && keys.iter().any(|key| text.contains(key))
}
