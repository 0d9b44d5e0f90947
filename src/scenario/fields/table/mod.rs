//! The table of inputs, by subject. Each file is a list of entries, in the order of the form and of links.

use super::{Choice, Field, FieldDefault, Group, Value};

/// Largest size or batch that an input takes.
const SIZE: u64 = 10_000_000;
/// Longest text that an input takes, tokens.
const LENGTH: u64 = 100_000_000;

/// One option of a choice: its word in links, its label in the form, and one sentence about what it does to memory.
const fn option(value: &'static str, label: &'static str, help: &'static str) -> Choice {
    Choice { value, label, help }
}

/// The members of a list as options, in the order of the list.
macro_rules! members_as_options {
    ($members:expr, $member:ident => $option:expr) => {{
        const OPTIONS: [super::Choice; $members.len()] = {
            let mut options = [option("", "", ""); $members.len()];
            let mut at = 0;
            while at < options.len() {
                let $member = $members[at];
                options[at] = $option;
                at += 1;
            }
            options
        };
        &OPTIONS
    }};
    ($members:expr) => {
        members_as_options!($members, member => option(member.key, member.label, member.help))
    };
}

fn optional(size: Option<u64>) -> Value {
    size.map_or(Value::Empty, Value::Integer)
}

/// The entries of one subject: `Id(key, name, label).takes(range).property(value)…`, each below its help.
///
/// It makes the static `FIELDS`, and a macro that adds the names of these inputs to [`FieldId`]. A macro cannot write the `$` of a
/// macro that it makes: the file hands one in.
macro_rules! fields {
    ($d:tt $(
        $(#[doc = $help:literal])+
        $id:ident($key:expr, $name:expr, $label:expr) $(.$property:ident($($value:expr),*))+
    ),+ $(,)?) => {
        pub(super) static FIELDS: &[super::Field] = &[$(
            super::Field::new(super::FieldId::$id, concat!($($help),+), $key, $name, $label) $(.$property($($value),*))+
        ),+];

        macro_rules! hand_on {
            ([$d($later:ident)*] { $d($earlier:tt)* }) => {
                gather! { [$d($later)*] { $d($earlier)* $($(#[doc = $help])+ $id,)+ } }
            };
        }
        pub(super) use hand_on;
    };
}

/// Takes the names of each subject's inputs, in order, and makes [`FieldId`] of them.
macro_rules! gather {
    ([$subject:ident $($later:ident)*] $earlier:tt) => {
        $subject::hand_on! { [$($later)*] $earlier }
    };
    ([] { $($variant:tt)* }) => {
        /// The name of one input: its place in the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FieldId { $($variant)* }
    };
}

/// The subjects, each a file, in the order of their inputs.
macro_rules! subjects {
    ($($subject:ident)+) => {
        $(mod $subject;)+

        gather! { [$($subject)+] {} }

        /// How many inputs there are.
        const COUNT: usize = 0 $(+ $subject::FIELDS.len())+;

        /// Every input, at the place that its [`FieldId`] names.
        pub(super) static FIELDS: [Field; COUNT] = joined(&[$($subject::FIELDS),+]);
    };
}

subjects! {
    scenario architecture structure hybrid config_keys training serving software tuning precision hardware layout stack_options reserve cost
}

#[allow(clippy::large_stack_arrays, reason = "the compiler evaluates it; no program does")]
const fn joined(subjects: &[&[Field]]) -> [Field; COUNT] {
    let mut all = [subjects[0][0]; COUNT];
    let (mut count, mut subject) = (0, 0);
    while subject < subjects.len() {
        let mut at = 0;
        while at < subjects[subject].len() {
            all[count] = subjects[subject][at];
            assert!(all[count].id as usize == count, "the entries and the names of inputs have one order");
            (count, at) = (count + 1, at + 1);
        }
        subject += 1;
    }
    all
}
