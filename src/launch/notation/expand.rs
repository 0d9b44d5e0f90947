//! Variables of shell scripts: `$NAME`, `${NAME:-default}`, `${LIST[@]}`, `$((3 * N))` and `$(expr
//! 3 \* $N)`.

use super::shell::{Variable, Variables};

/// The value of an expanded variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expanded {
    /// A text.
    Text(String),
    /// The words of a list.
    Words(Vec<String>),
}

/// True if a shell accepts `name` as a variable's name.
pub(super) fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The end of the expression that begins with the `$` at `start`.
pub(super) fn end_of(letters: &[char], start: usize) -> usize {
    let (open, close) = match letters.get(start + 1) {
        Some('{') => ('{', '}'),
        Some('(') => ('(', ')'),
        Some(letter) if letter.is_ascii_alphabetic() || *letter == '_' => {
            let rest = letters.get(start + 1..).unwrap_or_default();
            return start
                + 1
                + rest
                    .iter()
                    .take_while(|letter| letter.is_ascii_alphanumeric() || **letter == '_')
                    .count();
        }
        Some('@' | '*' | '#' | '?' | '$' | '0'..='9') => return start + 2,
        _ => return start + 1,
    };
    let mut depth = 0usize;
    for (offset, letter) in letters.get(start + 1..).unwrap_or_default().iter().enumerate() {
        if *letter == open {
            depth += 1;
        } else if *letter == close {
            depth -= 1;
            if depth == 0 {
                return start + 2 + offset;
            }
        }
    }
    letters.len()
}

/// The value of an expression, and the number of letters that it inserts. An unknown value, or one
/// longer than `room` letters, leaves the expression as written.
pub(super) fn expanded(written: &str, variables: &Variables, room: usize) -> (Expanded, usize) {
    let found = meaning(written, variables);
    let length = match &found {
        Some(Expanded::Text(text)) => text.len(),
        Some(Expanded::Words(words)) => words.iter().map(|word| word.len() + 1).sum(),
        None => 0,
    };
    match found {
        Some(found) if length <= room => (found, length),
        _ => (Expanded::Text(written.to_owned()), 0),
    }
}

fn meaning(written: &str, variables: &Variables) -> Option<Expanded> {
    if written == "$@" || written == "$*" || written == "${@}" {
        return Some(Expanded::Text(String::new()));
    }
    if let Some(sum) = written.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")) {
        return computed(sum, variables);
    }
    if let Some(command) = written.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
        return computed(&command.trim().strip_prefix("expr ")?.replace('\\', ""), variables);
    }
    if let Some(inside) = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        return in_braces(inside, variables);
    }
    value(written.strip_prefix('$')?, variables)
}

fn in_braces(inside: &str, variables: &Variables) -> Option<Expanded> {
    if let Some(list) = inside.strip_suffix("[@]").or_else(|| inside.strip_suffix("[*]")) {
        return value(list, variables);
    }
    let end = inside
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    let own = value(name, variables);
    let default = rest
        .strip_prefix(":-")
        .or_else(|| rest.strip_prefix('-'))
        .or_else(|| rest.strip_prefix(":="));
    match (default, rest.is_empty()) {
        (_, true) => own,
        (Some(default), _) => {
            let is_empty = own.as_ref().is_none_or(|own| *own == Expanded::Text(String::new()));
            if !is_empty {
                return own;
            }
            let default = default.trim_matches(['"', '\'']);
            Some(if default.starts_with('$') {
                meaning(default, variables)?
            } else {
                Expanded::Text(default.to_owned())
            })
        }
        _ => None,
    }
}

fn value(name: &str, variables: &Variables) -> Option<Expanded> {
    Some(match variables.get(name)? {
        Variable::Text(text, _) => Expanded::Text(text.clone()),
        Variable::List(words) => {
            Expanded::Words(words.iter().map(|word| word.text.clone()).collect())
        }
    })
}

/// The value of arithmetic on whole numbers and variables; `None` where a part of it is unknown.
fn computed(sum: &str, variables: &Variables) -> Option<Expanded> {
    let letters: Vec<char> =
        sum.chars().filter(|letter| !letter.is_whitespace() && *letter != '"').collect();
    let mut sum = Sum { letters: &letters, at: 0, depth: 0, variables };
    let result = sum.added()?;
    (sum.at == letters.len()).then(|| Expanded::Text(result.to_string()))
}

struct Sum<'a> {
    letters: &'a [char],
    at: usize,
    depth: usize,
    variables: &'a Variables,
}

/// The deepest nesting of brackets that is read, far more than people write.
const DEEPEST: usize = 50;

impl Sum<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn added(&mut self) -> Option<i64> {
        let mut sum = self.multiplied()?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.at += 1;
            let next = self.multiplied()?;
            sum = if sign == '+' { sum.checked_add(next)? } else { sum.checked_sub(next)? };
        }
        Some(sum)
    }

    fn multiplied(&mut self) -> Option<i64> {
        let mut product = self.single()?;
        while let Some(sign @ ('*' | '/' | '%')) = self.peek() {
            self.at += 1;
            let next = self.single()?;
            product = match sign {
                '*' => product.checked_mul(next)?,
                '/' => product.checked_div(next)?,
                _ => product.checked_rem(next)?,
            };
        }
        Some(product)
    }

    fn single(&mut self) -> Option<i64> {
        if self.peek()? == '(' {
            self.depth += 1;
            if self.depth > DEEPEST {
                return None;
            }
            self.at += 1;
            let inner = self.added()?;
            self.depth -= 1;
            (self.peek()? == ')').then_some(())?;
            self.at += 1;
            return Some(inner);
        }
        let rest = self.letters.get(self.at..)?;
        let word: String = rest
            .iter()
            .take_while(|letter| {
                letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '{' | '}')
            })
            .collect();
        self.at += word.chars().count();
        let name = word.trim_matches(['$', '{', '}']);
        match self.variables.get(name) {
            Some(Variable::Text(text, _)) => text.trim().parse().ok(),
            Some(Variable::List(..)) => None,
            None => word.parse().ok(),
        }
    }
}
