//! The field table: one entry per input. Its name in code, form, reading, ranges, link keys,
//! defaults, help and documentation come from it.
//!
//! To add an input:
//! 1. Write its entry in the file of `table/` for its subject, at the place where the form and
//!    links shall have it:
//!    ```text
//!    /// Tokens in one training sequence; activations grow in proportion.
//!    SeqLength("s", "seq_length", "Sequence length")
//!        .tokens(1..=LENGTH).group(Group::Run).train().default(FieldDefault::Integer(8192)),
//!    ```
//!    The comment is its help. `entry.rs` has the other words: kinds (`whole`, `choice`, `flag` …),
//!    `unit`, `optional`, modes, `folded`, and where the default is the model's or the
//!    accelerator's own value.
//! 2. Read it where the job is made of the scenario, in `resolve.rs` or beside it:
//!    `self.integer(FieldId::SeqLength)`.
//! 3. Add its key and its default to `tests/links/inputs/v1.txt`: the default must mean what links
//!    without the key meant.

mod entry;
mod read;
mod table;

pub(super) use read::EMPTY;
pub use read::{parse, range_text, show};
pub use table::FieldId;

use super::words::Word;
use crate::catalog::AcceleratorRow;
use crate::config::{LayerSet, ModelConfig};
use crate::stacks::Stack;

/// The value of one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// A finite number.
    Decimal(f64),
    /// One of the field's words.
    Choice(&'static str),
    /// Yes or no.
    Flag(bool),
    /// The scenario's name, or the id of a model or accelerator.
    Text(String),
    /// Some of the layers.
    Layers(LayerSet),
    /// Nothing: allowed where the field is optional.
    Empty,
}

impl Value {
    /// Returns the choice that stands for that case.
    ///
    /// ```
    /// # use headroom::{config::Recompute, scenario::Value};
    /// assert_eq!(Value::choice(Recompute::Full), Value::Choice("full"));
    /// ```
    pub fn choice<T: Word>(case: T) -> Self {
        Self::Choice(case.word())
    }
}

/// One option of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldOption {
    /// The word in links.
    pub value: &'static str,
    /// Text that the form shows.
    pub label: &'static str,
}

/// The values that a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// A whole number.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// How far one press of an arrow key goes; 0: it doubles or halves.
        step_hint: u64,
        /// True if it can be left empty.
        optional: bool,
    },
    /// A number.
    Decimal {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// True if it can be left empty.
        optional: bool,
    },
    /// One of a few words.
    Choice(&'static [FieldOption]),
    /// Yes or no.
    Flag,
    /// Some of the layers.
    Layers,
    /// A model of the catalog, by id.
    Model,
    /// An accelerator of the catalog, by id.
    Accelerator,
    /// Text of at most that many characters.
    Text {
        /// Longest text, characters.
        max_len: usize,
    },
    /// A word for each layer, with runs as numbers before them: `5 sliding_attention,
    /// full_attention`.
    Words {
        /// Longest text, characters.
        max_len: usize,
    },
    /// Names of keys, with commas between them.
    Keys {
        /// Longest list, characters.
        max_len: usize,
    },
}

/// Where the form shows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Which model.
    Model,
    /// Its architecture.
    Architecture,
    /// Parts that only some architectures have: windows, experts, latent attention.
    Structure,
    /// The work that is done with the model.
    Run,
    /// Number formats and optimizer.
    Precision,
    /// The accelerator.
    Hardware,
    /// How many, and how the model is spread.
    Layout,
    /// Options that one software stack alone has.
    StackOptions,
    /// Parts of a served model in the host's memory.
    HostMemory,
    /// Memory outside the model.
    Reserve,
    /// Time and money.
    Cost,
}

impl Group {
    /// All groups in the order of the form.
    pub const ALL: [Self; 11] = [
        Self::Model,
        Self::Architecture,
        Self::Structure,
        Self::Run,
        Self::Precision,
        Self::Hardware,
        Self::Layout,
        Self::StackOptions,
        Self::HostMemory,
        Self::Reserve,
        Self::Cost,
    ];

    /// Returns true if the group's fields belong to the model's architecture.
    pub const fn is_architecture(self) -> bool {
        matches!(self, Self::Architecture | Self::Structure)
    }

    /// Returns the heading.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Architecture => "Architecture",
            Self::Structure => "Experts and special layers",
            Self::Run => "Run",
            Self::Precision => "Precision",
            Self::Hardware => "Hardware",
            Self::Layout => "Layout",
            Self::StackOptions => Stack::WITH_OPTIONS.label,
            Self::HostMemory => "Host memory",
            Self::Reserve => "Reserve",
            Self::Cost => "Cost",
        }
    }
}

/// In which mode a field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applies {
    /// Training and serving.
    Both,
    /// Training and fine-tuning.
    Train,
    /// Training alone.
    Scratch,
    /// Fine-tuning only.
    Tune,
    /// Serving only.
    Serve,
}

impl Applies {
    /// Returns true if the input counts in that mode.
    pub const fn in_mode(self, mode: super::Mode) -> bool {
        use super::Mode;
        matches!(
            (self, mode),
            (Self::Both, _)
                | (Self::Train, Mode::Train | Mode::Tune)
                | (Self::Scratch, Mode::Train)
                | (Self::Tune, Mode::Tune)
                | (Self::Serve, Mode::Serve)
        )
    }
}

/// A field's value while nobody has set it.
#[derive(Clone, Copy, Debug)]
pub enum FieldDefault {
    /// A whole number.
    Integer(u64),
    /// A number.
    Decimal(f64),
    /// A word.
    Choice(&'static str),
    /// Yes or no.
    Flag(bool),
    /// A text or an id.
    Text(&'static str),
    /// Nothing.
    Empty,
    /// The value of the model that the architecture starts from.
    OfModel(fn(&ModelConfig) -> Value),
    /// The value of the file whose keys the architecture is read from; nothing where its family
    /// does not read the key.
    OfFile,
    /// The value of the accelerator that the hardware starts from; nothing where the catalog knows
    /// none.
    OfAccelerator(fn(&AcceleratorRow) -> Value),
}

impl FieldDefault {
    /// Returns true if the default is the model's or the accelerator's own value.
    pub const fn is_preset(self) -> bool {
        matches!(self, Self::OfModel(_) | Self::OfFile | Self::OfAccelerator(_))
    }

    /// Returns true if the default is the model's own value: the input is about its architecture.
    pub const fn is_of_model(self) -> bool {
        matches!(self, Self::OfModel(_) | Self::OfFile)
    }
}

/// One input.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Which input.
    pub id: FieldId,
    /// Its key in links, never changed: 1 to 6 lower-case letters, or the name of a key of
    /// `config.json` with `-` for `_`.
    pub key: &'static str,
    /// Its Hugging Face or Megatron-LM name.
    pub name: &'static str,
    /// Its name in the form.
    pub label: &'static str,
    /// Its unit; empty where there is none.
    pub unit: &'static str,
    /// The values that it takes.
    pub kind: FieldKind,
    /// The factor that `k` stands for when typed: 1024 for lengths in tokens, 1000 elsewhere.
    pub kilo: u64,
    /// Its value until set.
    pub default: FieldDefault,
    /// Where the form shows it.
    pub group: Group,
    /// In which mode it counts.
    pub applies: Applies,
    /// True if the form hides it behind its group's summary line.
    pub folded: bool,
}

impl Field {
    /// The value that a model has for it; `None` for an input that is not about the architecture.
    pub(super) fn of_model(&self, model: &ModelConfig) -> Option<Value> {
        let FieldDefault::OfModel(of) = self.default else { return None };
        Some(of(model))
    }
}

/// Returns all fields, in the order of the form and of links.
pub fn fields() -> &'static [Field] {
    &table::FIELDS
}

/// Returns the entry of one input: its key, label, unit, range and default.
pub fn field(id: FieldId) -> &'static Field {
    &table::FIELDS[id as usize]
}

/// Returns one or two sentences about an input: its meaning, and its effect on memory or time.
pub fn help(id: FieldId) -> &'static str {
    table::HELPS[id as usize]
}

/// Returns one sentence about an option of a choice: its effect on memory. Empty where the input
/// has no such option.
pub fn option_help(id: FieldId, value: &str) -> &'static str {
    table::EXPLAINED[id as usize]
        .iter()
        .find(|option| option.choice.value == value)
        .map_or("", |option| option.help)
}

/// Returns the field with that key, as the form and links of version 1 name it; `None` where no
/// field has it.
///
/// ```
/// use headroom::scenario::{FieldId, field_of_key};
/// assert_eq!(field_of_key("n").map(|field| field.id), Some(FieldId::Gpus));
/// ```
pub fn field_of_key(key: &str) -> Option<&'static Field> {
    table::FIELDS.iter().find(|field| field.key == key)
}

/// Returns the table of all inputs in Markdown, for the documentation.
pub fn reference() -> String {
    let row = |field: &Field| {
        let takes = range_text(field.id);
        format!(
            "| `{}` | `{}` | {} | {takes} | {} |\n",
            field.key,
            field.name,
            field.label,
            help(field.id)
        )
    };
    let head = "| key | name | input | takes | what it does |\n|---|---|---|---|---|\n";
    std::iter::once(head.to_owned()).chain(fields().iter().map(row)).collect()
}
