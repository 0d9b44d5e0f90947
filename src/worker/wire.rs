//! Messages between page and worker: one line of words, then text.

use super::question::WorkerQuestion;
use crate::units::MemoryUnit;
use crate::view::markup::Html;

/// The worker's message once it listens.
pub const READY: &str = "ready";

/// Separates the parts of a question or an answer: a character that no text has.
pub const MARK: char = '\u{1e}';

/// Words of a reply that other replies follow, and of the last one.
const MORE: &str = "more";
const LAST: &str = "last";

/// The name of the workers' program, as its files begin.
pub const PROGRAM: &str = "headroom-worker";

/// One of the two workers that run the program. There are two, so that a panel does not wait until
/// a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// Panels and texts.
    Panels,
    /// Searches over layouts.
    Searches,
}

/// The kind of a [`WorkerQuestion`]. Of each kind the last one alone is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// [`WorkerQuestion::Methods`].
    Methods,
    /// [`WorkerQuestion::Evidence`].
    Evidence,
    /// [`WorkerQuestion::Timeline`].
    Timeline,
    /// [`WorkerQuestion::Device`].
    Device,
    /// [`WorkerQuestion::Limits`].
    Limits,
    /// [`WorkerQuestion::Accuracy`].
    Accuracy,
    /// [`WorkerQuestion::Explain`].
    Explain,
    /// [`WorkerQuestion::Paste`].
    Paste,
    /// [`WorkerQuestion::Plan`].
    Plan,
    /// [`WorkerQuestion::Stairs`].
    Stairs,
    /// [`WorkerQuestion::Fits`].
    Fits,
    /// [`WorkerQuestion::Export`].
    Export,
    /// [`WorkerQuestion::Teach`].
    Teach,
    /// [`WorkerQuestion::Story`].
    Story,
    /// [`WorkerQuestion::Figure`].
    Figure,
}

impl What {
    /// Every kind of request.
    pub const ALL: [Self; 15] = [
        Self::Methods,
        Self::Evidence,
        Self::Timeline,
        Self::Device,
        Self::Limits,
        Self::Accuracy,
        Self::Explain,
        Self::Paste,
        Self::Fits,
        Self::Export,
        Self::Plan,
        Self::Stairs,
        Self::Teach,
        Self::Story,
        Self::Figure,
    ];

    /// The worker that answers.
    pub const fn instance(self) -> Instance {
        match self {
            Self::Plan | Self::Stairs => Instance::Searches,
            Self::Methods
            | Self::Evidence
            | Self::Timeline
            | Self::Device
            | Self::Limits
            | Self::Accuracy
            | Self::Explain
            | Self::Paste
            | Self::Fits
            | Self::Export
            | Self::Teach
            | Self::Story
            | Self::Figure => Instance::Panels,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Methods => "methods",
            Self::Evidence => "evidence",
            Self::Timeline => "timeline",
            Self::Device => "device",
            Self::Limits => "limits",
            Self::Accuracy => "accuracy",
            Self::Explain => "explain",
            Self::Paste => "paste",
            Self::Fits => "fits",
            Self::Plan => "plan",
            Self::Stairs => "stairs",
            Self::Export => "export",
            Self::Teach => "teach",
            Self::Story => "story",
            Self::Figure => "figure",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.word() == word)
    }
}

/// A question of the page, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number; a later question has a higher one.
    pub number: u32,
    /// The unit that amounts are written in.
    pub unit: MemoryUnit,
    /// The scenario's link, the part after `#`.
    pub fragment: String,
    /// The question.
    pub question: WorkerQuestion,
}

impl Request {
    /// The text of the message.
    pub fn write(&self) -> String {
        let Self { number, unit, fragment, question } = self;
        format!("{number} {} {unit} {fragment}\n{}", question.what().word(), question.write())
    }

    /// Reads what [`Request::write`] wrote; nothing for any other text.
    pub fn read(message: &str) -> Option<Self> {
        let (head, text) = message.split_once('\n')?;
        let mut words = head.splitn(4, ' ');
        let number = words.next()?.parse().ok()?;
        let what = What::of(words.next()?)?;
        let unit = words.next()?;
        let unit =
            [MemoryUnit::Gib, MemoryUnit::Gb].into_iter().find(|known| known.name() == unit)?;
        let fragment = words.next()?.to_owned();
        Some(Self { number, unit, fragment, question: WorkerQuestion::read(what, text)? })
    }
}

/// The worker's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The question's number.
    pub number: u32,
    /// The kind of the request.
    pub what: What,
    /// True if further answers to the same question follow.
    pub more: bool,
    /// The link of the scenario with the pasted model, where the text could be read.
    pub fragment: Option<String>,
    /// Finished HTML; for a file, its name and media type in one line, then its text.
    pub html: String,
}

impl Reply {
    /// Its HTML, which the program's other half made.
    pub fn made(self) -> Html {
        Html::made(self.html)
    }

    /// The text of the message.
    pub fn write(&self) -> String {
        let Self { number, what, more, fragment, html } = self;
        let turn = if *more { MORE } else { LAST };
        format!(
            "{number} {} {turn} {}\n{html}",
            what.word(),
            fragment.as_deref().unwrap_or_default()
        )
    }

    /// Reads what [`Reply::write`] wrote; nothing for any other text.
    pub fn read(message: &str) -> Option<Self> {
        let (head, html) = message.split_once('\n')?;
        let mut words = head.splitn(4, ' ');
        let number = words.next()?.parse().ok()?;
        let what = What::of(words.next()?)?;
        let more = match words.next()? {
            MORE => true,
            LAST => false,
            _ => return None,
        };
        let fragment = words.next().filter(|fragment| !fragment.is_empty()).map(str::to_owned);
        Some(Self { number, what, more, fragment, html: html.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for question in [WorkerQuestion::Methods, WorkerQuestion::Explain("{\n}\n".to_owned())] {
            let what = question.what();
            let request = Request {
                number: 7,
                unit: MemoryUnit::Gb,
                fragment: "v1&m=llama3-8b".to_owned(),
                question,
            };
            assert_eq!(Request::read(&request.write()), Some(request));
            for fragment in [None, Some("v1&m=gpt2".to_owned())] {
                for more in [true, false] {
                    let reply = Reply {
                        number: 8,
                        what,
                        more,
                        fragment: fragment.clone(),
                        html: "<p>a\nb</p>".to_owned(),
                    };
                    assert_eq!(Reply::read(&reply.write()), Some(reply));
                }
            }
        }
    }

    #[test]
    fn other_texts_are_no_messages() {
        for text in [
            "",
            READY,
            "1 methods",
            "1 other GiB v1\n",
            "x methods GiB v1\n",
            "1 methods kB v1\n",
            "1 methods GiB\n",
        ] {
            assert_eq!(Request::read(text), None, "{text}");
        }
        for text in [
            "",
            READY,
            "failed: no program",
            "failed: TypeError\nat",
            "1 methods",
            "1 other last \n",
            "1 methods soon \n",
        ] {
            assert_eq!(Reply::read(text), None, "{text}");
        }
    }
}
