//! Orders of the panel of stories to the page: one line each, before the panel's HTML.

/// An order. Names of records say their kind: `story:own-1`, `sheet:algebra`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Keep a story under that name.
    Store(String, String),
    /// Keep the progress on a worksheet under that name.
    Progress(String, String),
    /// Forget a record.
    Forget(String),
    /// Put a record aside that cannot be read.
    Aside(String),
    /// Hand a story's file to the browser's downloads.
    File(String, String),
    /// Show a short message.
    Say(String),
    /// Tell of a problem.
    Problem(String),
    /// A step of the story to present.
    Step(StageStep),
}

/// A step of a story as the presenter needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageStep {
    /// The link of its scenario.
    pub link: String,
    /// The word of what to look at.
    pub look: String,
    /// Keys of the inputs that stay in sight, between blanks.
    pub live: String,
}

impl Order {
    /// As it travels.
    pub fn write(&self) -> String {
        match self {
            Self::Store(name, file) => format!("store {name} {file}"),
            Self::Progress(name, record) => format!("progress {name} {record}"),
            Self::Forget(name) => format!("forget {name}"),
            Self::Aside(name) => format!("aside {name}"),
            Self::File(id, file) => format!("file {id} {file}"),
            Self::Say(text) => format!("say {text}"),
            Self::Problem(text) => format!("problem {text}"),
            Self::Step(StageStep { link, look, live }) => {
                format!("step {link} {look} {}", live.replace(' ', ","))
            }
        }
    }

    /// Reads what [`Order::write`] wrote; nothing for any other text.
    pub fn read(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        let pair = || rest.split_once(' ').map(|(name, text)| (name.to_owned(), text.to_owned()));
        let all = || rest.to_owned();
        Some(match word {
            "store" => pair().map(|(name, file)| Self::Store(name, file))?,
            "progress" => pair().map(|(name, record)| Self::Progress(name, record))?,
            "forget" => Self::Forget(all()),
            "aside" => Self::Aside(all()),
            "file" => pair().map(|(id, file)| Self::File(id, file))?,
            "say" => Self::Say(all()),
            "problem" => Self::Problem(all()),
            "step" => {
                let mut words = rest.splitn(3, ' ').map(str::to_owned);
                let (link, look) = (words.next()?, words.next()?);
                Self::Step(StageStep { link, look, live: words.next()?.replace(',', " ") })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, StageStep};

    #[test]
    fn what_is_written_is_read() {
        let text = || "A sentence: with “marks” and blanks.".to_owned();
        let (story, sheet) = (|| "story:own-1".to_owned(), || "sheet:algebra".to_owned());
        let step = |live: &str| {
            Order::Step(StageStep {
                link: "v2&m=gpt2".to_owned(),
                look: "stack".to_owned(),
                live: live.to_owned(),
            })
        };
        let orders = [
            Order::Store(story(), "{\"a b\": 1}".to_owned()),
            Order::Progress(sheet(), "1 2 3".to_owned()),
            Order::Forget(story()),
            Order::Aside(sheet()),
            Order::File("own-1".to_owned(), "{}".to_owned()),
            Order::Say(text()),
            Order::Problem(text()),
            step(""),
            step("s n tp"),
        ];
        for order in orders {
            assert_eq!(Order::read(&order.write()).as_ref(), Some(&order), "{}", order.write());
        }
        for line in ["", "store", "store x", "other x", "step v1", "step v1 stack"] {
            assert_eq!(Order::read(line), None, "{line}");
        }
    }
}
