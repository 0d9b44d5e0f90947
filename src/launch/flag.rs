//! The table of a tool's flags: the names of each and its meaning as inputs of a scenario.

use super::{Given, Reading};
use crate::scenario::FieldId;

/// One flag of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its names without leading dashes; commands are written with the first. `_` and `-` are
    /// alike. A name that ends with `.*` matches every key inside that group.
    pub names: &'static [&'static str],
    /// The number of words of a command line that are its value.
    pub takes: Takes,
    /// Its meaning.
    pub effect: Effect,
}

/// The number of words of a command line that are a flag's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None: a switch.
    Nothing,
    /// One.
    One,
    /// One, or none where another flag follows.
    Optional,
    /// All words up to the next flag.
    Many,
}

/// The meaning of a flag.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// The flag's value becomes the input's.
    Sets(FieldId),
    /// The tool's words (left) and the input's words for them (right). Where several words of the
    /// tool mean one of the input's, the first is written. A word that is not listed is not
    /// modelled.
    Words(FieldId, &'static [(&'static str, &'static str)]),
    /// The flag, or its value `true`, switches the input on.
    Switch(FieldId),
    /// The flag, or its value `true`, switches the input off.
    SwitchOff(FieldId),
    /// Code of the format reads it. An error is the rest of a sentence that begins with the flag:
    /// `takes a whole number`.
    By(fn(&mut Reading<'_>, &Given) -> Result<(), String>),
    /// It is interpreted together with others after all are read, by
    /// [`FormatSpec::end`](super::FormatSpec::end), which also reports it.
    Together,
    /// It changes neither memory nor time.
    NoEffect,
    /// It changes memory or time in a way that is not modelled, unless its value is one of those
    /// listed or switches it off. The sentence states what it changes.
    NotModelled(&'static [&'static str], &'static str),
}

impl Flag {
    /// Returns a flag whose value an input takes as it is written.
    pub const fn sets(names: &'static [&'static str], field: FieldId) -> Self {
        Self { names, takes: Takes::One, effect: Effect::Sets(field) }
    }

    /// Returns a flag whose words are translated: the tool's, then ours.
    pub const fn words(
        names: &'static [&'static str],
        field: FieldId,
        words: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { names, takes: Takes::One, effect: Effect::Words(field, words) }
    }

    /// Returns a flag that says yes to an input.
    pub const fn switch(names: &'static [&'static str], field: FieldId) -> Self {
        Self { names, takes: Takes::Nothing, effect: Effect::Switch(field) }
    }

    /// Returns a flag that says no to an input.
    pub const fn switch_off(names: &'static [&'static str], field: FieldId) -> Self {
        Self { names, takes: Takes::Nothing, effect: Effect::SwitchOff(field) }
    }

    /// Returns a flag that code of the format reads.
    pub const fn by(
        names: &'static [&'static str],
        read: fn(&mut Reading<'_>, &Given) -> Result<(), String>,
    ) -> Self {
        Self { names, takes: Takes::One, effect: Effect::By(read) }
    }

    /// Returns a flag that counts together with others.
    pub const fn together(names: &'static [&'static str]) -> Self {
        Self { names, takes: Takes::One, effect: Effect::Together }
    }

    /// Returns a flag that changes neither memory nor time.
    pub const fn no_effect(names: &'static [&'static str]) -> Self {
        Self { names, takes: Takes::One, effect: Effect::NoEffect }
    }

    /// Returns a flag that changes memory or time in a way that is not modelled, and the sentence
    /// about it.
    pub const fn not_modelled(names: &'static [&'static str], why: &'static str) -> Self {
        Self { names, takes: Takes::One, effect: Effect::NotModelled(&[], why) }
    }

    /// As [`not_modelled`](Self::not_modelled), with values that change nothing and are therefore
    /// accepted.
    pub const fn not_modelled_unless(
        names: &'static [&'static str],
        harmless: &'static [&'static str],
        why: &'static str,
    ) -> Self {
        Self { names, takes: Takes::One, effect: Effect::NotModelled(harmless, why) }
    }

    /// Returns the flag, which takes other words of a command line.
    #[must_use]
    pub const fn taking(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    /// Returns the flag, which stands for itself.
    #[must_use]
    pub const fn alone(self) -> Self {
        self.taking(Takes::Nothing)
    }

    /// Returns true if it goes by that name. A name that ends in `.*` stands for all keys inside
    /// that one.
    pub fn is_called(&self, name: &str) -> bool {
        self.names.iter().any(|own| match own.strip_suffix('*') {
            Some(outer) => name.get(..outer.len()).is_some_and(|begin| is_same_name(outer, begin)),
            None => is_same_name(own, name),
        })
    }
}

/// True if two names are equal, where `_` and `-` count as equal.
pub fn is_same_name(one: &str, other: &str) -> bool {
    let letter = |byte: u8| if byte == b'_' { b'-' } else { byte };
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).all(|(one, other)| letter(one) == letter(other))
}
