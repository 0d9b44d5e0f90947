//! Shell scripts, to the extent that people use them to start a run: quotes, comments, continued
//! lines, variables, lists, arithmetic.
//!
//! Nothing is executed. Of `if`, `for` and functions, the commands inside are read.

mod documents;
mod made;
use made::Made;
use std::collections::BTreeMap;

use super::{Given, Place};

/// A command with the variables that are set in it or before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Its words, without redirections.
    pub words: Vec<ShellWord>,
    /// The variables that the script has set so far.
    pub environment: Vec<Given>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellWord {
    /// The word without quotes and with variables expanded; a variable that the script does not set
    /// stays as written.
    pub text: String,
    /// Its place.
    pub place: Place,
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub(super) enum Variable {
    /// A text.
    Text(String, Place),
    /// A list, `NAME=( … )`.
    List(Vec<ShellWord>),
}

/// Variables by name.
pub(super) type Variables = BTreeMap<String, Variable>;

/// A file that a script writes: its name and its text.
pub(super) type Written = (String, String);

/// The commands of a script, in order, and the files that it writes with `cat > NAME <<EOF`.
pub(super) fn read(text: &str) -> (Vec<Command>, Vec<Written>) {
    let mut reader = Reader {
        letters: text.chars().filter(|letter| *letter != '\r').collect(),
        ..Reader::default()
    };
    reader.read();
    (reader.commands, reader.files)
}

#[derive(Default)]
struct Reader {
    letters: Vec<char>,
    at: usize,
    line: usize,
    line_start: usize,
    variables: Variables,
    words: Vec<ShellWord>,
    commands: Vec<Command>,
    files: Vec<Written>,
    /// The file that the command's output goes to.
    output: Option<String>,
    /// Letters inserted by variables so far; the limit stops scripts whose variables double
    /// themselves.
    expanded: usize,
}

/// The most letters that variables may insert in one script.
const MOST_EXPANDED: usize = 1_000_000;

impl Reader {
    fn read(&mut self) {
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' => self.next(),
                '\\' if self.after(1) == Some('\n') => self.skip(2),
                '#' => self.skip_line(),
                // Of blocks and groups, the commands inside are read.
                '(' | ')' | '{' | '}' if self.words.is_empty() => self.next(),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    self.next();
                    self.end_command();
                }
                '<' | '>' => self.redirection(),
                _ => self.word(),
            }
        }
        self.end_command();
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn after(&self, count: usize) -> Option<char> {
        self.letters.get(self.at + count).copied()
    }

    fn next(&mut self) {
        if self.peek() == Some('\n') {
            self.line += 1;
            self.line_start = self.at + 1;
        }
        self.at += 1;
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|letter| letter != '\n') {
            self.next();
        }
    }

    const fn place(&self) -> Place {
        Place { line: self.line + 1, column: self.at - self.line_start + 1 }
    }

    /// Reads a word, which may set a variable, and may expand to several words.
    fn word(&mut self) {
        let place = self.place();
        let start = self.at;
        let mut made = Made::default();
        while let Some(letter) = self.peek() {
            match letter {
                '<' | '>' if made.text.chars().all(|digit| digit.is_ascii_digit()) => {
                    return self.redirection();
                }
                '(' if made.text.ends_with('=') && self.words.is_empty() => {
                    return self.list(&made.text);
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ => self.piece(&mut made),
            }
        }
        if self.at == start {
            return self.next();
        }
        if self.words.is_empty() && self.assignment(&made.text, place) {
            return;
        }
        self.words.extend(made.into_words(place));
    }

    /// Reads a letter, a quoted text or a variable and adds it to the word.
    fn piece(&mut self, made: &mut Made) {
        let Some(letter) = self.peek() else { return };
        match letter {
            '\'' => {
                self.next();
                made.is_quoted = true;
                while let Some(letter) = self.peek() {
                    self.next();
                    if letter == '\'' {
                        break;
                    }
                    made.text.push(letter);
                }
            }
            '"' => self.quoted(made),
            '\\' => {
                self.next();
                match self.peek() {
                    Some('\n') | None => {}
                    Some(letter) => made.text.push(letter),
                }
                if self.peek().is_some() {
                    self.next();
                }
            }
            '$' => self.variable(made, false),
            '`' => self.left_alone(made, '`'),
            other => {
                made.text.push(other);
                self.next();
            }
        }
    }

    /// Reads a text in double quotes, in which variables are expanded.
    fn quoted(&mut self, made: &mut Made) {
        self.next();
        made.is_quoted = true;
        while let Some(letter) = self.peek() {
            match letter {
                '"' => return self.next(),
                '\\' if matches!(self.after(1), Some('"' | '\\' | '$' | '`' | '\n')) => {
                    if let Some(escaped) = self.after(1).filter(|letter| *letter != '\n') {
                        made.text.push(escaped);
                    }
                    self.skip(2);
                }
                '$' => self.variable(made, true),
                other => {
                    made.text.push(other);
                    self.next();
                }
            }
        }
    }

    /// Reads a text up to the next `end`, as it is written.
    fn left_alone(&mut self, made: &mut Made, end: char) {
        made.text.push(end);
        self.next();
        while let Some(letter) = self.peek() {
            self.next();
            made.text.push(letter);
            if letter == end {
                break;
            }
        }
    }

    /// Reads the variable after a `$`.
    fn variable(&mut self, made: &mut Made, in_quotes: bool) {
        let start = self.at;
        let end = super::expand::end_of(&self.letters, start);
        let written: String = self.letters.get(start..end).unwrap_or_default().iter().collect();
        self.skip(end - start);
        let room = MOST_EXPANDED.saturating_sub(self.expanded);
        let (words, length) = super::expand::expanded(&written, &self.variables, room);
        self.expanded += length;
        made.add(words, in_quotes);
    }

    /// `NAME=( … )` and `NAME+=( … )`.
    fn list(&mut self, name: &str) {
        self.next();
        let outer = std::mem::take(&mut self.words);
        while let Some(letter) = self.peek() {
            match letter {
                ')' => {
                    self.next();
                    break;
                }
                ' ' | '\t' | '\n' => self.next(),
                '\\' if self.after(1) == Some('\n') => self.skip(2),
                '#' => self.skip_line(),
                _ => {
                    let before = self.at;
                    let words = self.words.len();
                    self.member();
                    if self.at == before && self.words.len() == words {
                        self.next();
                    }
                }
            }
        }
        let mut members = std::mem::replace(&mut self.words, outer);
        let name = name.trim_end_matches('=');
        if let (Some(own), Some(Variable::List(earlier))) =
            (name.strip_suffix('+'), self.variables.get(name.trim_end_matches('+')))
        {
            let earlier = earlier.clone();
            let own = own.to_owned();
            members.splice(0..0, earlier);
            self.variables.insert(own, Variable::List(members));
        } else {
            self.variables.insert(name.trim_end_matches('+').to_owned(), Variable::List(members));
        }
    }

    /// Reads a word of a list, in which `NAME=…` sets nothing.
    fn member(&mut self) {
        let place = self.place();
        let mut made = Made::default();
        while let Some(letter) = self.peek() {
            if matches!(letter, ' ' | '\t' | '\n' | ')') {
                break;
            }
            self.piece(&mut made);
        }
        self.words.extend(made.into_words(place));
    }

    /// Sets a variable if the word is an assignment; returns whether it was.
    fn assignment(&mut self, word: &str, place: Place) -> bool {
        let Some((name, value)) = word.split_once('=') else { return false };
        let (name, adds) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if !super::expand::is_name(name) {
            return false;
        }
        let earlier = match self.variables.get(name) {
            Some(Variable::Text(text, _)) if adds => text.clone(),
            _ => String::new(),
        };
        if self.expanded.saturating_add(earlier.len()) < MOST_EXPANDED {
            self.expanded += earlier.len();
            self.variables.insert(name.to_owned(), Variable::Text(earlier + value, place));
        }
        true
    }

    fn end_command(&mut self) {
        const BEFORE_COMMANDS: [&str; 13] = [
            "then", "else", "do", "if", "while", "elif", "exec", "nohup", "time", "sudo",
            "command", "env", "!",
        ];
        const DECLARES: [&str; 4] = ["export", "declare", "local", "readonly"];
        let mut words = std::mem::take(&mut self.words);
        self.output = None;
        loop {
            let Some(first) = words.first().map(|word| word.text.clone()) else { return };
            let place = words.first().map_or(Place { line: 1, column: 1 }, |word| word.place);
            let declares = DECLARES.contains(&first.as_str());
            if BEFORE_COMMANDS.contains(&first.as_str())
                || declares
                || self.assignment(&first, place)
            {
                words.remove(0);
                if declares {
                    words.retain(|word| !self.assignment(&word.text, word.place));
                }
            } else {
                break;
            }
        }
        let text = |(name, value): (&String, &Variable)| match value {
            Variable::Text(text, place) => Some(Given::new(name.clone(), text.clone(), *place)),
            Variable::List(..) => None,
        };
        let environment = self.variables.iter().filter_map(text).collect();
        self.commands.push(Command { words, environment });
    }
}
