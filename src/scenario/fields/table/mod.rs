//! The table of inputs, by subject. Each file is a list of entries, in the order of the form and of
//! links.

use super::entry::{Entry, Explained};
use super::{Field, FieldDefault, FieldKind, FieldOption, Group, Value};

/// Largest size or batch that an input takes.
const SIZE: u64 = 10_000_000;
/// Longest text that an input takes, tokens.
const LENGTH: u64 = 100_000_000;

/// One option of a choice: its word in links, its label in the form, and one sentence about its
/// effect on memory.
const fn option(value: &'static str, label: &'static str, help: &'static str) -> Explained {
    Explained { choice: FieldOption { value, label }, help }
}

/// The members of a list as options, in the order of the list.
macro_rules! members_as_options {
    ($members:expr, $member:ident => $option:expr) => {{
        const OPTIONS: [super::Explained; $members.len()] = {
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

/// The entries of one subject: `Id(key, name, label).takes(range).property(value)…`, each below its
/// help.
///
/// The macro makes the list `ENTRIES`, and a macro that adds the names of these inputs to
/// [`FieldId`]. A macro cannot write the `$` of a macro that it makes: the file hands one in.
macro_rules! fields {
    ($d:tt $(
        $(#[doc = $help:literal])+
        $id:ident($key:expr, $name:expr, $label:expr) $(.$property:ident($($value:expr),*))+
    ),+ $(,)?) => {
        pub(super) const ENTRIES: &[super::Entry] = &[$(
            super::Entry::new(super::FieldId::$id, concat!($($help),+), $key, $name, $label) $(.$property($($value),*))+
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
        const COUNT: usize = 0 $(+ $subject::ENTRIES.len())+;

        /// Every entry, at the place that its [`FieldId`] names.
        const ENTRIES: [Entry; COUNT] = joined(&[$($subject::ENTRIES),+]);
    };
}

subjects! {
    scenario architecture structure hybrid config_keys vision source training serving images software tuning precision hardware host_memory layout libraries stack_options reserve cost
}

/// How many options all choices have together.
const OPTION_COUNT: usize = {
    let (mut count, mut at) = (0, 0);
    while at < COUNT {
        count += ENTRIES[at].options.len();
        at += 1;
    }
    count
};

/// The options of all choices without their sentences, in the order of the inputs.
const CHOICES: &[FieldOption] = &{
    let mut choices = [FieldOption { value: "", label: "" }; OPTION_COUNT];
    let (mut count, mut at) = (0, 0);
    while at < COUNT {
        let options = ENTRIES[at].options;
        let mut index = 0;
        while index < options.len() {
            choices[count] = options[index].choice;
            (count, index) = (count + 1, index + 1);
        }
        at += 1;
    }
    choices
};

/// Every input.
#[allow(clippy::large_stack_arrays, reason = "the compiler evaluates it; no program does")]
pub(super) static FIELDS: [Field; COUNT] = {
    let mut fields = [ENTRIES[0].field; COUNT];
    let (mut later, mut at) = (CHOICES, 0);
    while at < COUNT {
        fields[at] = ENTRIES[at].field;
        let (own, rest) = later.split_at(ENTRIES[at].options.len());
        if !own.is_empty() {
            fields[at].kind = FieldKind::Choice(own);
        }
        later = rest;
        at += 1;
    }
    fields
};

/// The help of every input.
#[allow(clippy::large_stack_arrays, reason = "the compiler evaluates it; no program does")]
pub(super) static HELPS: [&str; COUNT] = {
    let mut helps = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        helps[at] = ENTRIES[at].help;
        at += 1;
    }
    helps
};

/// The options of every input, with their sentences.
pub(super) static EXPLAINED: [&[Explained]; COUNT] = {
    let mut explained: [&[Explained]; COUNT] = [&[]; COUNT];
    let mut at = 0;
    while at < COUNT {
        explained[at] = ENTRIES[at].options;
        at += 1;
    }
    explained
};

#[allow(clippy::large_stack_arrays, reason = "the compiler evaluates it; no program does")]
const fn joined(subjects: &[&[Entry]]) -> [Entry; COUNT] {
    let mut all = [subjects[0][0]; COUNT];
    let (mut count, mut subject) = (0, 0);
    while subject < subjects.len() {
        let mut at = 0;
        while at < subjects[subject].len() {
            all[count] = subjects[subject][at];
            assert!(
                all[count].field.id as usize == count,
                "the entries and the names of inputs have one order"
            );
            (count, at) = (count + 1, at + 1);
        }
        subject += 1;
    }
    all
}
