//! Redirections, and the documents that a command reads from the lines below it.

use super::{MOST_EXPANDED, Reader};

impl Reader {
    /// Reads a redirection (`> file`, `2>&1`, `<<EOF …`), which is not a word of the command.
    pub(super) fn redirection(&mut self) {
        let is_output = self.peek() == Some('>');
        let reads_on =
            self.peek() == Some('<') && self.after(1) == Some('<') && self.after(2) != Some('<');
        while self.peek().is_some_and(|letter| matches!(letter, '<' | '>' | '&' | '-' | ' ')) {
            self.next();
        }
        let mark: String = std::iter::from_fn(|| {
            let letter = self
                .peek()
                .filter(|letter| !letter.is_whitespace() && !matches!(letter, ';' | '|' | ')'))?;
            self.next();
            Some(letter)
        })
        .collect();
        let plain = mark.trim_matches(['"', '\'']).to_owned();
        if is_output && !plain.chars().all(|letter| letter.is_ascii_digit()) {
            self.output = Some(self.filled(&plain));
        } else if reads_on && !plain.is_empty() {
            let is_literal = plain != mark;
            self.document(&plain, is_literal);
        }
    }

    /// Reads a here-document up to its mark. Where the command's output goes to a file, the lines
    /// are that file's text.
    pub(super) fn document(&mut self, mark: &str, is_literal: bool) {
        let rest_of_line = self.at;
        self.skip_line();
        let rest: String =
            self.letters.get(rest_of_line..self.at).unwrap_or_default().iter().collect();
        let output =
            rest.rsplit_once('>').map(|(_, name)| name.trim().trim_matches(['"', '\'']).to_owned());
        let begin = (self.at + 1).min(self.letters.len());
        let mut end = begin;
        while self.peek().is_some() {
            self.next();
            let start = self.at;
            self.skip_line();
            let line: String =
                self.letters.get(start..self.at).unwrap_or_default().iter().collect();
            if line.trim() == mark {
                break;
            }
            end = self.at;
        }
        let teed = self
            .words
            .first()
            .filter(|word| word.text == "tee")
            .and(self.words.last())
            .map(|word| word.text.clone());
        let name = output.map(|name| self.filled(&name)).or_else(|| self.output.clone()).or(teed);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let body: String =
                self.letters.get(begin..end.max(begin)).unwrap_or_default().iter().collect();
            let body = if is_literal { body } else { self.filled(&body) };
            let is_further = rest.contains(">>");
            match self.files.iter_mut().find(|(known, _)| is_further && *known == name) {
                Some((_, text)) => *text = format!("{text}\n{body}"),
                None => self.files.push((name, body)),
            }
        }
    }

    /// A text with its variables expanded.
    pub(super) fn filled(&mut self, text: &str) -> String {
        let letters: Vec<char> = text.chars().collect();
        let mut filled = String::new();
        let mut at = 0;
        while let Some(letter) = letters.get(at) {
            if *letter != '$' {
                filled.push(*letter);
                at += 1;
                continue;
            }
            let end = super::super::expand::end_of(&letters, at).max(at + 1);
            let written: String = letters.get(at..end).unwrap_or_default().iter().collect();
            let room = MOST_EXPANDED.saturating_sub(self.expanded);
            let (found, length) = super::super::expand::expanded(&written, &self.variables, room);
            self.expanded += length;
            match found {
                super::super::expand::Expanded::Text(text) => filled.push_str(&text),
                super::super::expand::Expanded::Words(words) => filled.push_str(&words.join(" ")),
            }
            at = end;
        }
        filled
    }
}
