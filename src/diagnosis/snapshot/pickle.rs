//! Python's pickles, as far as plain data needs them: numbers, texts, lists, tuples and
//! dictionaries.
//!
//! Nothing is ever called or imported: a pickle that asks for it is refused. A value that a pickle
//! refers to twice is one value here, too: hundreds of entries of a snapshot share one stack.
//! (`serde-pickle` 1.2 loses the values that a shared value shares in turn, and `pickled` is an
//! alpha version, so neither reads a snapshot with stacks.)
//!
//! The machine and its codes are those of `pickletools.py`, protocols 2 to 5.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The deepest nesting of values. A snapshot's frames lie 5 deep.
const DEEPEST: u8 = 32;

/// Plain data.
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Bool,
    Integer(i64),
    /// Floating-point numbers and bytes, which are not needed of a snapshot.
    Other,
    Text(Rc<str>),
    List(Rc<Container>),
    /// Keys and values in turn.
    Dict(Rc<Container>),
}

/// A list, tuple or dictionary.
#[derive(Debug, Default)]
pub(super) struct Container {
    values: RefCell<Vec<Value>>,
    depth: Cell<u8>,
    /// True if the container is part of another one: then it is complete.
    is_placed: Cell<bool>,
}

impl Value {
    /// The value of a key of a dictionary.
    pub fn get(&self, key: &str) -> Option<Self> {
        let Self::Dict(container) = self else { return None };
        container.values.borrow().chunks_exact(2).find_map(|pair| match pair {
            [Self::Text(name), value] if **name == *key => Some(value.clone()),
            _ => None,
        })
    }

    /// The values of a list; empty for anything else.
    pub fn list(&self) -> Vec<Self> {
        let Self::List(container) = self else { return Vec::new() };
        container.values.borrow().clone()
    }

    /// A whole number that is not negative.
    pub fn number(&self) -> Option<u64> {
        let Self::Integer(number) = self else { return None };
        u64::try_from(*number).ok()
    }

    pub fn text(&self) -> Option<Rc<str>> {
        let Self::Text(text) = self else { return None };
        Some(Rc::clone(text))
    }

    const fn container(&self) -> Option<&Rc<Container>> {
        match self {
            Self::List(container) | Self::Dict(container) => Some(container),
            Self::None | Self::Bool | Self::Integer(_) | Self::Other | Self::Text(_) => None,
        }
    }
}

impl Container {
    fn of(values: Vec<Value>) -> Result<Rc<Self>, String> {
        let container = Rc::new(Self::default());
        container.extend(values)?;
        Ok(container)
    }

    /// Puts values into the container; each of them is complete from now on.
    fn extend(&self, values: Vec<Value>) -> Result<(), String> {
        if self.is_placed.get() {
            return Err("a value is changed after it became part of another".to_owned());
        }
        for inner in values.iter().filter_map(Value::container) {
            if std::ptr::eq(Rc::as_ptr(inner), self) {
                return Err("a value holds itself".to_owned());
            }
            inner.is_placed.set(true);
            let depth = inner.depth.get().saturating_add(1);
            if depth > DEEPEST {
                return Err(format!("values lie more than {DEEPEST} deep in each other"));
            }
            self.depth.set(self.depth.get().max(depth));
        }
        self.values.borrow_mut().extend(values);
        Ok(())
    }
}

/// Reads a pickle of plain data.
///
/// # Errors
/// A clause that says what it is instead.
pub(super) fn read(file: &[u8]) -> Result<Value, String> {
    let mut machine =
        Machine { rest: file, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() };
    loop {
        let code = machine.byte()?;
        if code == b'.' {
            return machine.pop();
        }
        machine.carry_out(code)?;
    }
}

/// Pickle's machine: a stack, marks in it, and values to come back to.
struct Machine<'f> {
    rest: &'f [u8],
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u64, Value>,
}

impl<'f> Machine<'f> {
    fn carry_out(&mut self, code: u8) -> Result<(), String> {
        match code {
            0x80 => drop(self.bytes(1)?), // PROTO
            0x95 => drop(self.bytes(8)?), // FRAME
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.stack.push(Value::None),
            0x88 | 0x89 => self.stack.push(Value::Bool),
            b'K' | b'M' | b'J' | 0x8a => self.integer(code)?,
            b'G' => self.skip_over(8)?,
            b'X' | 0x8c | 0x8d => self.text(code)?,
            b'B' | b'C' | 0x8e => self.skip_bytes(code)?,
            b']' | b'l' | b')' | b't' | 0x85..=0x87 | b'}' | b'd' => self.container(code)?,
            b'a' | b'e' | b's' | b'u' => self.extend(code)?,
            b'q' | b'r' | 0x94 | b'h' | b'j' => self.remember(code)?,
            b'0' => drop(self.pop()?),
            b'c' | 0x93 | b'R' | b'b' | b'o' | b'i' | 0x81 | 0x92 => {
                return Err("the pickle asks for code to be run, which is not done here".to_owned());
            }
            other => {
                return Err(format!(
                    "the pickle holds something else than plain data (code {other:#04x})"
                ));
            }
        }
        Ok(())
    }

    fn bytes(&mut self, count: usize) -> Result<&'f [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("the pickle ends early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        self.bytes(1)?.first().copied().ok_or_else(|| "the pickle ends early".to_owned())
    }

    /// An unsigned number of `count` bytes, the lowest byte first.
    fn unsigned(&mut self, count: usize) -> Result<u64, String> {
        Ok(self.bytes(count)?.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    }

    /// A length that is stored in `count` bytes.
    fn length(&mut self, count: usize) -> Result<usize, String> {
        usize::try_from(self.unsigned(count)?).map_err(|_| "the pickle ends early".to_owned())
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(|| "the pickle takes more than it holds".to_owned())
    }

    /// The values above the last mark.
    fn above_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.marks.pop().filter(|mark| *mark <= self.stack.len());
        Ok(self.stack.split_off(mark.ok_or("the pickle has lost its place")?))
    }

    fn last(&mut self, count: usize) -> Result<Vec<Value>, String> {
        let from =
            self.stack.len().checked_sub(count).ok_or("the pickle takes more than it holds")?;
        Ok(self.stack.split_off(from))
    }

    fn integer(&mut self, code: u8) -> Result<(), String> {
        let bytes = match code {
            b'K' => 1,
            b'M' => 2,
            b'J' => 4,
            _ => usize::from(self.byte()?),
        };
        if bytes > 8 {
            // No size and no address has that many bytes.
            return self.skip_over(bytes);
        }
        let number = self.unsigned(bytes)?;
        // Numbers of one and two bytes are never negative; longer ones are if their highest bit is
        // set.
        let unused = u32::try_from(64 - 8 * bytes).unwrap_or(0);
        let signed = matches!(code, b'J' | 0x8a) && bytes > 0;
        let number = number.cast_signed();
        self.stack.push(Value::Integer(if signed {
            number.unbounded_shl(unused).unbounded_shr(unused)
        } else {
            number
        }));
        Ok(())
    }

    /// Skips that many bytes and puts a value in their place that is not needed.
    fn skip_over(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes(bytes)?;
        self.stack.push(Value::Other);
        Ok(())
    }

    fn skip_bytes(&mut self, code: u8) -> Result<(), String> {
        let length = self.length(match code {
            b'C' => 1,
            b'B' => 4,
            _ => 8,
        })?;
        self.skip_over(length)
    }

    fn text(&mut self, code: u8) -> Result<(), String> {
        let length = self.length(match code {
            0x8c => 1,
            b'X' => 4,
            _ => 8,
        })?;
        let text = String::from_utf8_lossy(self.bytes(length)?);
        self.stack.push(Value::Text(Rc::from(&*text)));
        Ok(())
    }

    fn container(&mut self, code: u8) -> Result<(), String> {
        let values = match code {
            b']' | b'}' | b')' => Vec::new(),
            0x85..=0x87 => self.last(usize::from(code - 0x84))?,
            _ => self.above_mark()?,
        };
        let container = Container::of(values)?;
        self.stack.push(if matches!(code, b'}' | b'd') {
            Value::Dict(container)
        } else {
            Value::List(container)
        });
        Ok(())
    }

    /// Moves the values on top of the stack into the list or dictionary below them.
    fn extend(&mut self, code: u8) -> Result<(), String> {
        let values = match code {
            b'a' => self.last(1)?,
            b's' => self.last(2)?,
            _ => self.above_mark()?,
        };
        let below = self
            .stack
            .last()
            .and_then(Value::container)
            .ok_or("the pickle adds to what is no list")?;
        below.extend(values)
    }

    fn remember(&mut self, code: u8) -> Result<(), String> {
        let number = match code {
            b'q' | b'h' => self.unsigned(1)?,
            b'r' | b'j' => self.unsigned(4)?,
            _ => u64::try_from(self.memo.len()).unwrap_or(u64::MAX),
        };
        if matches!(code, b'h' | b'j') {
            let value =
                self.memo.get(&number).ok_or("the pickle refers to what it has not made")?;
            self.stack.push(value.clone());
        } else {
            let top = self.stack.last().ok_or("the pickle takes more than it holds")?;
            self.memo.insert(number, top.clone());
        }
        Ok(())
    }
}
