//! The questions that the page asks, each with all that its answer needs beside the scenario; and
//! the text in which it travels.

use super::wire::{MARK, What};
use crate::view::action::{FitsList, PlanVerb, TeachVerb};
use crate::view::export::ExportFormat;

/// A question about a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerQuestion {
    /// The five documents side by side.
    Methods,
    /// The evidence of the answer.
    Evidence,
    /// Memory over one step.
    Timeline,
    /// Memory as the GPU shows it.
    Device,
    /// The answers of PyTorch's allocator as numbers; behind a [`MARK`] a warning, where it does
    /// not find room for what would fit.
    Limits,
    /// How well the engine meets what was measured.
    Accuracy,
    /// The formulas of the figures with these paths, one a line.
    Explain(String),
    /// A text or files, read into the scenario.
    Paste(PastedInput),
    /// The search over layouts, with the inputs of its panel, one a line; answers stream until it
    /// ends.
    Plan(PlanQuestion, String),
    /// The best layout at each number of GPUs, as text.
    Stairs,
    /// Models that fit the scenario's accelerators.
    Fits(FitsList),
    /// The buttons of all files that can be downloaded; or one file, as text behind a line with its
    /// name and media type.
    Export(ExportQuestion),
    /// The panel of stories and exercises, with orders to the page before the HTML.
    Teach(TeachVerb, TeachingPage),
    /// A story to present, or an answer to a question of it.
    Story(StoryQuestion, TeachingPage),
    /// The figure of that name, of a story's step, for the scenario as it is now.
    Figure(String),
}

/// Something that was pasted, dropped or chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastedInput {
    /// A text of any kind.
    Text(String),
    /// A `config.json`, whose unknown kind is counted as a generic decoder.
    AsGeneric(String),
    /// The bytes of a memory snapshot, in base64.
    Snapshot(String),
    /// Files of a model: each one's name and its beginning, in base64.
    Files(Vec<(String, String)>),
}

/// A question about the search over layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanQuestion {
    /// The panel's buttons ask this.
    Panel(PlanVerb),
    /// A worker asks its helper for a share of the search.
    Share,
}

/// A question about files to take along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportQuestion {
    /// The file; nothing for the buttons of all.
    pub file: Option<ExportFormat>,
    /// The page's address, without a fragment.
    pub address: String,
    /// The moment in words.
    pub when: String,
    /// The moment, milliseconds since 1970.
    pub clock_ms: u64,
    /// True if the length axis goes by doublings.
    pub log: bool,
    /// Scenarios that are pinned; a link may have room for fewer.
    pub pinned: usize,
}

/// The state of the page that teaching depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeachingPage {
    /// The page's address, without a fragment.
    pub address: String,
    /// The panel's inputs, one a line.
    pub inputs: String,
    /// Own stories and progress on worksheets as the browser keeps them: names such as
    /// `story:own-1`, and records.
    pub records: Vec<(String, String)>,
}

/// A question about a story to present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoryQuestion {
    /// The story of that name.
    Named(String),
    /// The story that the input `story` holds.
    Packed,
    /// The right answer to the question of a step, beside the one in the inputs.
    Answer,
}

/// Words before what is pasted.
const AS_GENERIC: &str = "as-generic";
const SNAPSHOT: &str = "snapshot";
const FILES: &str = "files";
/// The word with which a helper is asked for its share.
const SHARE: &str = "share";
/// The word that asks for the buttons of all files.
const MENU: &str = "menu";
const PACKED: &str = "packed";
const ANSWER: &str = "answer";

impl WorkerQuestion {
    /// The kind of the question.
    pub const fn what(&self) -> What {
        match self {
            Self::Methods => What::Methods,
            Self::Evidence => What::Evidence,
            Self::Timeline => What::Timeline,
            Self::Device => What::Device,
            Self::Limits => What::Limits,
            Self::Accuracy => What::Accuracy,
            Self::Explain(_) => What::Explain,
            Self::Paste(_) => What::Paste,
            Self::Plan(..) => What::Plan,
            Self::Stairs => What::Stairs,
            Self::Fits(_) => What::Fits,
            Self::Export(_) => What::Export,
            Self::Teach(..) => What::Teach,
            Self::Story(..) => What::Story,
            Self::Figure(_) => What::Figure,
        }
    }

    /// All that it says besides its kind.
    pub fn write(&self) -> String {
        match self {
            Self::Methods
            | Self::Evidence
            | Self::Timeline
            | Self::Device
            | Self::Limits
            | Self::Accuracy
            | Self::Stairs => String::new(),
            Self::Explain(text) | Self::Figure(text) => text.clone(),
            Self::Paste(pasted) => pasted.write(),
            Self::Plan(verb, inputs) => lines(&[verb.word(), inputs]),
            Self::Fits(list) => list.write(),
            Self::Export(asked) => asked.write(),
            Self::Teach(verb, page) => page.write(&verb.write()),
            Self::Story(story, page) => page.write(story.word()),
        }
    }

    /// Reads a question of that kind as [`WorkerQuestion::write`] wrote it; nothing for any other
    /// text.
    pub fn read(what: What, text: &str) -> Option<Self> {
        Some(match what {
            What::Methods => Self::Methods,
            What::Evidence => Self::Evidence,
            What::Timeline => Self::Timeline,
            What::Device => Self::Device,
            What::Limits => Self::Limits,
            What::Accuracy => Self::Accuracy,
            What::Stairs => Self::Stairs,
            What::Explain => Self::Explain(text.to_owned()),
            What::Figure => Self::Figure(text.to_owned()),
            What::Paste => Self::Paste(PastedInput::read(text)?),
            What::Plan => {
                let (word, inputs) = text.split_once('\n')?;
                Self::Plan(PlanQuestion::read(word)?, inputs.to_owned())
            }
            What::Fits => Self::Fits(FitsList::read(text)?),
            What::Export => Self::Export(ExportQuestion::read(text)?),
            What::Teach => {
                let (verb, page) = TeachingPage::read(text)?;
                Self::Teach(TeachVerb::read(verb)?, page)
            }
            What::Story => {
                let (word, page) = TeachingPage::read(text)?;
                Self::Story(StoryQuestion::of(word), page)
            }
        })
    }
}

impl PastedInput {
    fn write(&self) -> String {
        let marked = |word: &str, rest: &str| [word, rest].join(MARK.encode_utf8(&mut [0; 4]));
        match self {
            Self::Text(text) => text.clone(),
            Self::AsGeneric(text) => marked(AS_GENERIC, text),
            Self::Snapshot(bytes) => marked(SNAPSHOT, bytes),
            Self::Files(files) => files.iter().fold(FILES.to_owned(), |written, (name, start)| {
                marked(&written, &marked(name, start))
            }),
        }
    }

    /// A text that has the mark by itself stays a text, unless one of the words is before it.
    fn read(text: &str) -> Option<Self> {
        Some(match text.split_once(MARK) {
            Some((AS_GENERIC, text)) => Self::AsGeneric(text.to_owned()),
            Some((SNAPSHOT, bytes)) => Self::Snapshot(bytes.to_owned()),
            Some((FILES, files)) => {
                let words: Vec<&str> = files.split(MARK).collect();
                let pair = |pair: &[&str]| match pair {
                    [name, start] => Some(((*name).to_owned(), (*start).to_owned())),
                    _ => None,
                };
                Self::Files(words.chunks(2).map(pair).collect::<Option<_>>()?)
            }
            _ => Self::Text(text.to_owned()),
        })
    }
}

impl PlanQuestion {
    const fn word(self) -> &'static str {
        match self {
            Self::Panel(verb) => verb.word(),
            Self::Share => SHARE,
        }
    }

    fn read(word: &str) -> Option<Self> {
        if word == SHARE { Some(Self::Share) } else { PlanVerb::read(word).map(Self::Panel) }
    }
}

impl ExportQuestion {
    fn write(&self) -> String {
        let Self { file, address, when, clock_ms, log, pinned } = self;
        let file = file.map_or(MENU, ExportFormat::word);
        lines(&[file, address, when, &clock_ms.to_string(), &log.to_string(), &pinned.to_string()])
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let mut line = || lines.next();
        Some(Self {
            file: match line()? {
                MENU => None,
                word => Some(ExportFormat::of(word)?),
            },
            address: line()?.to_owned(),
            when: line()?.to_owned(),
            clock_ms: line()?.parse().ok()?,
            log: line()?.parse().ok()?,
            pinned: line()?.parse().ok()?,
        })
    }
}

impl StoryQuestion {
    fn word(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Packed => PACKED,
            Self::Answer => ANSWER,
        }
    }

    fn of(word: &str) -> Self {
        match word {
            PACKED => Self::Packed,
            ANSWER => Self::Answer,
            name => Self::Named(name.to_owned()),
        }
    }
}

impl TeachingPage {
    fn write(&self, verb: &str) -> String {
        let mut text = lines(&[verb, &self.address, &self.inputs]);
        for (name, record) in &self.records {
            text.push(MARK);
            text.push_str(&lines(&[name, record]));
        }
        text
    }

    fn read(text: &str) -> Option<(&str, Self)> {
        let mut parts = text.split(MARK);
        let (verb, rest) = parts.next()?.split_once('\n')?;
        let (address, inputs) = rest.split_once('\n')?;
        let named = |part: &str| {
            let (name, record) = part.split_once('\n')?;
            Some((name.to_owned(), record.to_owned()))
        };
        let page = Self {
            address: address.to_owned(),
            inputs: inputs.to_owned(),
            records: parts.map(named).collect::<Option<_>>()?,
        };
        Some((verb, page))
    }
}

fn lines(lines: &[&str]) -> String {
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{
        ExportQuestion, PastedInput, PlanQuestion, StoryQuestion, TeachingPage, WorkerQuestion,
    };
    use crate::view::action::{FitsList, FitsOrder, PlanVerb, TeachVerb};
    use crate::view::export::ExportFormat;
    use crate::worker::wire::What;

    fn page() -> TeachingPage {
        TeachingPage {
            address: "https://example.org/".to_owned(),
            inputs: "a=b\nc=d".to_owned(),
            records: vec![("story:own-1".to_owned(), "{\n}".to_owned())],
        }
    }

    fn every_question() -> Vec<WorkerQuestion> {
        let text = || "{\n\"a\": 1 }".to_owned();
        let file = ("config.json".to_owned(), "e30=".to_owned());
        let export = |file| ExportQuestion {
            file,
            address: "https://example.org/".to_owned(),
            when: "today".to_owned(),
            clock_ms: 12,
            log: true,
            pinned: 2,
        };
        vec![
            WorkerQuestion::Methods,
            WorkerQuestion::Evidence,
            WorkerQuestion::Timeline,
            WorkerQuestion::Device,
            WorkerQuestion::Limits,
            WorkerQuestion::Accuracy,
            WorkerQuestion::Stairs,
            WorkerQuestion::Explain("total\nledger".to_owned()),
            WorkerQuestion::Paste(PastedInput::Text(text())),
            WorkerQuestion::Paste(PastedInput::AsGeneric(text())),
            WorkerQuestion::Paste(PastedInput::Snapshot("gAJ9".to_owned())),
            WorkerQuestion::Paste(PastedInput::Files(vec![file.clone(), file])),
            WorkerQuestion::Plan(PlanQuestion::Panel(PlanVerb::Search), "q=at\nn=8".to_owned()),
            WorkerQuestion::Plan(PlanQuestion::Share, String::new()),
            WorkerQuestion::Fits(FitsList { order: FitsOrder::Speed, way: "awq".to_owned() }),
            WorkerQuestion::Export(export(None)),
            WorkerQuestion::Export(export(Some(ExportFormat::Ledger))),
            WorkerQuestion::Teach(TeachVerb::Delete("own-1".to_owned()), page()),
            WorkerQuestion::Story(StoryQuestion::Named("zero".to_owned()), page()),
            WorkerQuestion::Story(StoryQuestion::Packed, TeachingPage::default()),
            WorkerQuestion::Story(StoryQuestion::Answer, page()),
            WorkerQuestion::Figure("step-time".to_owned()),
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let all = every_question();
        for question in &all {
            let read = WorkerQuestion::read(question.what(), &question.write());
            assert_eq!(read.as_ref(), Some(question));
        }
        assert!(What::ALL.iter().all(|what| all.iter().any(|question| question.what() == *what)));
    }

    #[test]
    fn other_texts_are_no_questions() {
        for (what, text) in [
            (What::Plan, "search"),
            (What::Plan, "sell\nq=at"),
            (What::Fits, "beauty"),
            (What::Export, "menu"),
            (What::Export, "other\na\nb\n1\ntrue\n0"),
            (What::Teach, "fly\nhttps://example.org/\n"),
            (What::Teach, "show"),
            (What::Story, "zero"),
            (What::Paste, "files\u{1e}config.json"),
        ] {
            assert_eq!(WorkerQuestion::read(what, text), None, "{what:?} {text}");
        }
    }
}
