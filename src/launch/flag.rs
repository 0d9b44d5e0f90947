//! The flags of a tool as a table: how each is written, and what it means here.

use super::{Given, Reading};
use crate::scenario::FieldId;

/// One flag of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its names, without dashes before them; the first is the one that is written. `_` and `-` are alike. A name that ends with `.*` stands
    /// for every key inside that one.
    pub names: &'static [&'static str],
    /// How many words of a command line follow it.
    pub takes: Takes,
    /// Its meaning.
    pub effect: Effect,
}

/// How many words of a command line belong to a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None: it stands for itself.
    Nothing,
    /// One.
    One,
    /// One, or none where another flag follows.
    Optional,
    /// All up to the next flag.
    Many,
}

/// The meaning of a flag.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// An input takes its value as it is written.
    Sets(FieldId),
    /// An input takes one of its own words (right) for one of the tool's (left). The first of several for one of our words is written. A
    /// word that is not listed is not modelled.
    Words(FieldId, &'static [(&'static str, &'static str)]),
    /// The flag, or `true`, is yes.
    Switch(FieldId),
    /// The flag, or `true`, is no.
    SwitchOff(FieldId),
    /// Code of the format reads it. An error is the rest of a sentence that begins with the flag: `takes a whole number`.
    By(fn(&mut Reading<'_>, &Given) -> Result<(), String>),
    /// It is looked at together with others when all are read ([`FormatSpec::end`](super::FormatSpec::end)), which reports it.
    Together,
    /// It changes neither memory nor time.
    NoEffect,
    /// It changes memory or time in a way that is not modelled, unless its value is one of those listed or switches it off. The sentence says
    /// what it changes.
    NotModelled(&'static [&'static str], &'static str),
}

impl Flag {
    /// Returns a flag whose value an input takes as it is written.
    pub const fn sets(names: &'static [&'static str], field: FieldId) -> Self {
        Self { names, takes: Takes::One, effect: Effect::Sets(field) }
    }

    /// Returns a flag whose words are translated: the tool's, then ours.
    pub const fn words(names: &'static [&'static str], field: FieldId, words: &'static [(&'static str, &'static str)]) -> Self {
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
    pub const fn by(names: &'static [&'static str], read: fn(&mut Reading<'_>, &Given) -> Result<(), String>) -> Self {
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

    /// As [`not_modelled`](Self::not_modelled), but for values that leave everything as it is.
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

/// True if two names are the same but for `_` and `-`.
pub fn is_same_name(one: &str, other: &str) -> bool {
    let letter = |byte: u8| if byte == b'_' { b'-' } else { byte };
    one.len() == other.len() && one.bytes().zip(other.bytes()).all(|(one, other)| letter(one) == letter(other))
}
