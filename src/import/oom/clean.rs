//! A pasted text without the text that terminals, launchers and loggers put around messages.
//!
//! The text is split by rank, because several ranks print at once, and squeezed: lower case, ASCII,
//! no white space. So a message is found wherever a terminal broke its lines, even within a word.

use std::collections::BTreeMap;

/// A prefix of a line that is longer than this is not a prefix.
const LONGEST_PREFIX: usize = 120;
/// No logger puts more parts before a line.
const MOST_PARTS: usize = 10;

/// The lines of one rank, or those without a rank, as one squeezed text.
pub(super) struct Stream {
    /// The rank that the lines name.
    pub rank: Option<u32>,
    /// The squeezed text: ASCII, so that every byte is a character.
    pub text: String,
    /// Where the lines of the pasted text start in the squeezed text.
    starts: Vec<(usize, usize)>,
}

impl Stream {
    /// The line of the pasted text that a place of the squeezed text comes from.
    pub(super) fn line(&self, at: usize) -> usize {
        let next = self.starts.partition_point(|(start, _)| *start <= at);
        next.checked_sub(1).and_then(|index| self.starts.get(index)).map_or(0, |(_, line)| *line)
    }

    fn push(&mut self, line: usize, plain: &str) {
        self.starts.push((self.text.len(), line));
        squeeze(&mut self.text, plain);
    }
}

/// Splits a pasted text by rank. Lines without a rank continue the line before them, unless a
/// message starts in them.
pub(super) fn streams(text: &str) -> Vec<Stream> {
    // Messages inside JSON, as Ollama returns them, hold their line breaks as two letters.
    let text = text.replace("\\n", "\n");
    let mut streams: Vec<Stream> = Vec::new();
    let mut places: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let mut rank = None;
    for (number, line) in text.split(['\n', '\r']).enumerate() {
        let plain = plain(line);
        let (named, rest) = without_prefix(&plain);
        if named.is_some() || starts_a_message(rest) {
            rank = named;
        }
        let place = *places.entry(rank).or_insert_with(|| {
            streams.push(Stream { rank, text: String::new(), starts: Vec::new() });
            streams.len() - 1
        });
        if let Some(stream) = streams.get_mut(place) {
            stream.push(number, rest);
        }
    }
    streams
}

/// True if a line without a rank is the start of a message of its own.
fn starts_a_message(line: &str) -> bool {
    line.contains("out of memory") || line.contains("traceback (most recent")
}

/// A line in lower-case ASCII without escape sequences, frames and marks of quoting.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => skip_escape(&mut rest),
            // A colour whose escape character got lost on the way: "[31m".
            '[' => match colour_length(rest.as_str()) {
                Some(length) => rest = rest.as_str().get(length..).unwrap_or_default().chars(),
                None => plain.push('['),
            },
            // Frames of rich tracebacks, bytes that were no UTF-8, marks of Markdown.
            '\u{2500}'..='\u{259f}' | '\u{fffd}' | '`' | '*' => {}
            _ if letter.is_whitespace() => plain.push(' '),
            _ if letter.is_ascii() && !letter.is_ascii_control() => {
                plain.push(letter.to_ascii_lowercase());
            }
            _ if letter.is_ascii() => {}
            _ => plain.push('~'),
        }
    }
    plain
}

/// Skips the rest of a terminal's control sequence: `ESC [ … letter`, `ESC ] … BEL`, or `ESC
/// letter`.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => {
            for letter in rest.by_ref().take(LONGEST_PREFIX) {
                if ('@'..='~').contains(&letter) {
                    break;
                }
            }
        }
        Some(']') => {
            for letter in rest.by_ref().take(LONGEST_PREFIX) {
                if letter == '\u{7}' || letter == '\\' {
                    break;
                }
            }
        }
        _ => {}
    }
}

/// The length of "31m" or "0;31m", which stands for a colour after a bracket.
fn colour_length(text: &str) -> Option<usize> {
    let length = text
        .bytes()
        .take(10)
        .take_while(|letter| letter.is_ascii_digit() || *letter == b';')
        .count();
    (length > 0 && text.as_bytes().get(length) == Some(&b'm')).then_some(length + 1)
}

/// The rank that a line's prefix names, and the line without its prefix.
fn without_prefix(line: &str) -> (Option<u32>, &str) {
    let (mut rank, mut rest) = (None, line);
    // A host or a pod may stand before the rank: "worker-0: [rank7]: …".
    let tail = rest
        .find("[rank")
        .filter(|place| *place <= LONGEST_PREFIX)
        .and_then(|place| rest.get(place..));
    rest = tail.filter(|tail| prefix_length(tail, false).is_some()).unwrap_or(rest);
    rest = rest.trim_start_matches([' ', '>', '|', '#']);
    for part in 0..MOST_PARTS {
        let Some(length) = prefix_length(rest, part > 0) else { break };
        rank = rank.or_else(|| rest.get(..length).and_then(rank_of));
        rest = rest.get(length..).unwrap_or_default().trim_start_matches([' ', ':']);
    }
    (rank, rest)
}

/// The length of the part of a logger's prefix that a line starts with; `goes_on` where a part
/// stands before it.
fn prefix_length(line: &str, goes_on: bool) -> Option<usize> {
    let until =
        |close: char| line.find(close).filter(|end| *end <= LONGEST_PREFIX).map(|end| end + 1);
    let part = |end: usize| line.get(..end).unwrap_or_default();
    if line.starts_with('(') {
        // vLLM and Ray: "(VllmWorker rank=3 pid=1090)".
        return until(')').filter(|end| part(*end).contains("pid="));
    }
    if line.starts_with('[') {
        return until(']').filter(|end| {
            let part = part(*end);
            let is_time =
                part.as_bytes().get(1).is_some_and(u8::is_ascii_digit) && part.contains(':');
            is_time || part.contains(".py:") || part.contains("pid=") || rank_of(part).is_some()
        });
    }
    let end = line.find(' ')?;
    let word = part(end);
    // A level is one where a time stands beside it: a broken line may start with "e" or "error" as
    // well.
    let is_level = || {
        let next = line.as_bytes().get(end + 1).copied().unwrap_or_default();
        let is_long = matches!(word, "error" | "info" | "warning" | "warn" | "critical");
        is_long && (goes_on || next.is_ascii_digit() || next == b'[')
            || goes_on && matches!(word, "e" | "w" | "i")
    };
    (is_time(word) || is_level()).then_some(end)
}

/// A date, a time, or llama.cpp's clock ("0.03.654.086").
fn is_time(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let others =
        word.bytes().all(|letter| letter.is_ascii_digit() || b"-:.,tz/+".contains(&letter));
    let marks = word.matches(['-', ':']).count();
    others && digits >= 4 && (marks > 0 || word.matches('.').count() >= 2)
}

/// The rank that a part of a prefix names: "[rank3]", "[default3]", "rank=3", "worker_tp3", "[… dp0
/// tp3]".
fn rank_of(part: &str) -> Option<u32> {
    ["[rank", "[default", "rank=", "_tp", " tp"].into_iter().find_map(|name| {
        let after = part.split_once(name)?.1.trim_start_matches([' ', ':']);
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        after.get(..length)?.parse().ok()
    })
}

/// Adds a line to a squeezed text. White space stays where it parts two numbers.
fn squeeze(text: &mut String, line: &str) {
    let of_number = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == ',';
    let mut parted = true;
    for letter in line.chars() {
        if letter == ' ' {
            parted = true;
            continue;
        }
        if parted && of_number(letter) && text.chars().next_back().is_some_and(of_number) {
            text.push(' ');
        }
        parted = false;
        text.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(text: &str) -> Vec<(Option<u32>, String)> {
        streams(text).into_iter().map(|stream| (stream.rank, stream.text)).collect()
    }

    #[test]
    fn lines_are_joined_and_numbers_stay_apart() {
        let text = "Tried to al\nlocate 20.00\nMiB. of size 506\n0.02 E (1, 141.24 GiB)";
        assert_eq!(
            squeezed(text),
            [(None, "triedtoallocate20.00mib.ofsize506 0.02e(1, 141.24gib)".to_owned())]
        );
    }

    #[test]
    fn ranks_are_parted() {
        let text = "[rank0]: one\n[rank1]: two\nmore of two\n\
            worker-1: [rank0]: three\n(VllmWorker rank=7 pid=9) ERROR 06-05 06:18:13 [a.py:4] four\n\
            [2025-07-02 07:41:58 DP0 TP3] five\n[Rank:7] six";
        let expected = [(0, "onethree"), (1, "twomoreoftwo"), (7, "foursix"), (3, "five")];
        assert_eq!(squeezed(text), expected.map(|(rank, text)| (Some(rank), text.to_owned())));
    }

    #[test]
    fn colours_frames_and_clocks_go() {
        let text = "\u{1b}[31mred\u{1b}[0m [1;31mlost[0m \u{2502} framed \u{2502}\n\
            0.03.654.086 E loaded\n2024-06-28T06:11:52.685Z INFO said";
        assert_eq!(squeezed(text), [(None, "redlostframedloadedsaid".to_owned())]);
    }

    #[test]
    fn lines_are_remembered() {
        let found = streams("a\n\nbc");
        let stream = found.first().unwrap();
        assert_eq!([0, 1, 2].map(|at| stream.line(at)), [0, 2, 2]);
    }
}
