//! A word in the making: text and the lists that it expands to.

use super::ShellWord;
use crate::launch::notation::Place;

/// A word that is being read; variables may split it into several.
#[derive(Default)]
pub(super) struct Made {
    pub(super) finished: Vec<String>,
    pub(super) text: String,
    pub(super) is_quoted: bool,
}

impl Made {
    /// Adds an expanded variable: its first part joins the present word, and further parts are new
    /// words. In quotes a text stays one word.
    pub(super) fn add(&mut self, words: super::super::expand::Expanded, in_quotes: bool) {
        use super::super::expand::Expanded;
        let parts: Vec<String> = match words {
            Expanded::Text(text) if in_quotes => vec![text],
            Expanded::Text(text) => {
                let mut parts: Vec<String> = text.split_whitespace().map(unquoted).collect();
                if parts.is_empty() {
                    parts.push(String::new());
                }
                parts
            }
            // Without quotes around the list, a shell also splits its members at blanks.
            Expanded::Words(words) if !in_quotes => {
                words.iter().flat_map(|word| word.split_whitespace()).map(unquoted).collect()
            }
            Expanded::Words(words) => words,
        };
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                self.finished.push(std::mem::take(&mut self.text));
            }
            self.text.push_str(&part);
        }
    }

    pub(super) fn into_words(self, place: Place) -> Vec<ShellWord> {
        let keeps_last = !self.text.is_empty() || self.is_quoted;
        let last = keeps_last.then_some(self.text);
        self.finished
            .into_iter()
            .filter(|text| !text.is_empty())
            .chain(last)
            .map(|text| ShellWord { text, place })
            .collect()
    }
}

/// A word without the quotes around it. A shell would keep them, but in `ARGS="--a 'b'"` for `eval`
/// they are meant to be removed.
pub(super) fn unquoted(word: &str) -> String {
    let inner = |quote: char| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(word).to_owned()
}
