//! Calls in Python whose arguments are literals: `LLM(model="…", tensor_parallel_size=2)`.

use serde_json::Value;

use super::{Given, Place};

/// A call with its arguments. An argument that is not a literal is its source text after a `$`, so
/// that it counts as an unknown value.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The full dotted name of the called function or class.
    pub name: String,
    /// Its arguments; those without a name have an empty one.
    pub arguments: Vec<Given>,
    /// Its place.
    pub place: Place,
}

/// The deepest nesting of calls that is read, more than people write by hand.
const DEEPEST: usize = 20;

/// The calls of a text, in the order in which they begin.
pub(super) fn calls(text: &str) -> Vec<Call> {
    let letters: Vec<char> = text.chars().collect();
    let mut reader = Reader {
        letters: &letters,
        at: 0,
        line: 1,
        column: 1,
        names: Vec::new(),
        calls: Vec::new(),
    };
    while reader.at < letters.len() {
        reader.statement();
    }
    reader.calls
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
    line: usize,
    column: usize,
    /// Names that were given a literal: `max_seq_length = 2048`.
    names: Vec<(String, Value)>,
    calls: Vec<Call>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) {
        if self.peek() == Some('\n') {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
        self.at += 1;
    }

    const fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    /// Blanks, comments and ends of lines.
    fn blanks(&mut self, lines_too: bool) {
        while let Some(letter) = self.peek() {
            match letter {
                '#' => {
                    while self.peek().is_some_and(|letter| letter != '\n') {
                        self.next();
                    }
                }
                '\n' if !lines_too => return,
                '\\' | '\n' | ' ' | '\t' | '\r' => self.next(),
                _ => return,
            }
        }
    }

    /// Reads one piece of the text outside of calls: an assignment, a call, a string, or a single
    /// letter.
    fn statement(&mut self) {
        self.blanks(true);
        match self.peek() {
            Some('"' | '\'') => _ = self.quoted(),
            Some(letter) if letter.is_alphabetic() || letter == '_' => self.named(),
            Some(_) => self.next(),
            None => {}
        }
    }

    fn named(&mut self) {
        let place = self.place();
        let name = self.name();
        self.blanks(false);
        match self.peek() {
            Some('(') => _ = self.call(&name, place, 0),
            Some('=') if self.letters.get(self.at + 1) != Some(&'=') => {
                self.next();
                self.blanks(false);
                if let Some(value) = self.value(0) {
                    self.names.push((name, value));
                }
            }
            _ => {}
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) =
            self.peek().filter(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.'))
        {
            name.push(letter);
            self.next();
        }
        name
    }

    /// The arguments of a call, up to its closing bracket.
    fn call(&mut self, name: &str, place: Place, depth: usize) -> Value {
        self.next();
        let index = self.calls.len();
        self.calls.push(Call { name: name.to_owned(), arguments: Vec::new(), place });
        let mut arguments = Vec::new();
        loop {
            self.blanks(true);
            match self.peek() {
                None => break,
                Some(')') => {
                    self.next();
                    break;
                }
                Some(',') => self.next(),
                Some(_) => {
                    let before = self.at;
                    arguments.push(self.argument(depth));
                    if self.at == before {
                        self.next();
                    }
                }
            }
        }
        if let Some(call) = self.calls.get_mut(index) {
            call.arguments = arguments;
        }
        Value::String(format!("${name}()"))
    }

    fn argument(&mut self, depth: usize) -> Given {
        let (start, place) = (self.at, self.place());
        let (line, column) = (self.line, self.column);
        let name = self.name();
        self.blanks(true);
        let is_named = !name.is_empty()
            && self.peek() == Some('=')
            && self.letters.get(self.at + 1) != Some(&'=');
        if is_named {
            self.next();
            self.blanks(true);
        } else {
            (self.at, self.line, self.column) = (start, line, column);
        }
        let written = self.at;
        let value = self.value(depth);
        self.blanks(true);
        let ends = matches!(self.peek(), Some(',' | ')' | ']' | '}') | None);
        let value = match value {
            Some(value) if ends => value,
            _ => {
                self.skip_expression();
                let text: String =
                    self.letters.get(written..self.at).unwrap_or_default().iter().collect();
                Value::String(format!("${}", text.trim()))
            }
        };
        Given { key: if is_named { name } else { String::new() }, value, place }
    }

    /// Moves to the next comma or closing bracket of this level.
    fn skip_expression(&mut self) {
        let mut depth = 0usize;
        while let Some(letter) = self.peek() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' | ',' if depth == 0 => return,
                ')' | ']' | '}' => depth -= 1,
                '"' | '\'' => {
                    self.quoted();
                    continue;
                }
                _ => {}
            }
            self.next();
        }
    }

    /// A literal, a name that was assigned one, or a call.
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let letter = self.peek()?;
        if matches!(letter, '"' | '\'') {
            return Some(Value::String(self.quoted()));
        }
        if matches!(letter, '[' | '(') {
            return self.list(depth);
        }
        if letter == '{' {
            return self.dictionary(depth);
        }
        let place = self.place();
        if letter.is_ascii_digit() || matches!(letter, '-' | '.') {
            return self.number();
        }
        if !letter.is_alphabetic() && letter != '_' {
            return None;
        }
        let name = self.name();
        if self.peek() == Some('(') {
            return Some(self.call(&name, place, depth + 1));
        }
        match name.as_str() {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            _ if name.contains('.') => Some(Value::String(name)),
            _ => self
                .names
                .iter()
                .rev()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.clone()),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let mut text = String::new();
        while let Some(letter) = self.peek().filter(|letter| {
            letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '+')
        }) {
            if matches!(letter, '-' | '+') && !text.is_empty() && !text.ends_with(['e', 'E']) {
                break;
            }
            if letter != '_' {
                text.push(letter);
            }
            self.next();
        }
        text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<f64>().map(Value::from)).ok()
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.blanks(true);
            match self.peek()? {
                ']' | ')' => {
                    self.next();
                    return Some(Value::Array(items));
                }
                ',' => self.next(),
                _ => items.push(self.value(depth + 1)?),
            }
        }
    }

    fn dictionary(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut items = serde_json::Map::new();
        loop {
            self.blanks(true);
            match self.peek()? {
                '}' => {
                    self.next();
                    return Some(Value::Object(items));
                }
                ',' => self.next(),
                '"' | '\'' => {
                    let key = self.quoted();
                    self.blanks(true);
                    (self.peek()? == ':').then_some(())?;
                    self.next();
                    self.blanks(true);
                    let value = self.value(depth + 1)?;
                    items.insert(key, value);
                }
                _ => return None,
            }
        }
    }

    /// A string in single or triple quotes.
    fn quoted(&mut self) -> String {
        let Some(quote) = self.peek() else { return String::new() };
        let is = |at: usize| self.letters.get(at) == Some(&quote);
        let width = if is(self.at + 1) && is(self.at + 2) { 3 } else { 1 };
        for _ in 0..width {
            self.next();
        }
        let mut text = String::new();
        while let Some(letter) = self.peek() {
            if letter == '\\' {
                self.next();
                if let Some(escaped) = self.peek() {
                    text.push(escaped);
                    self.next();
                }
                continue;
            }
            let closes =
                (0..width).all(|offset| self.letters.get(self.at + offset) == Some(&quote));
            if closes || (width == 1 && letter == '\n') {
                for _ in 0..if closes { width } else { 0 } {
                    self.next();
                }
                break;
            }
            text.push(letter);
            self.next();
        }
        text
    }
}
