//! The words that an entry of the table is written with. All are constant, and so is the table.

use std::ops::RangeInclusive;

use super::{Applies, Field, FieldDefault, FieldId, FieldKind, FieldOption, Group, Value};
use crate::catalog::AcceleratorRow;
use crate::config::ModelConfig;
use crate::engines::{Engine, Share};

/// The help of every input about adapters.
const ADAPTER: &str = "A layer with an adapter keeps its input for it; one that does the work of \
    several has one if any has. With experts gate, up and down start without: theirs are modelled \
    under Megatron-LM alone.";

/// One option of a choice, with one sentence about its effect on memory.
#[derive(Clone, Copy)]
pub(super) struct Explained {
    pub(super) choice: FieldOption,
    pub(super) help: &'static str,
}

/// An input as the table writes it. Its sentences become tables of their own, because the page's
/// first program goes without them.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The input; one that takes a choice has its options below.
    pub(super) field: Field,
    pub(super) help: &'static str,
    pub(super) options: &'static [Explained],
}

impl Entry {
    /// An entry of the group *Model* for every mode, in sight, without a default. Its help is the
    /// comment above it, which begins with a blank.
    pub(super) const fn new(
        id: FieldId,
        help: &'static str,
        key: &'static str,
        name: &'static str,
        label: &'static str,
    ) -> Self {
        let field = Field {
            id,
            key,
            name,
            label,
            unit: "",
            kind: FieldKind::Flag,
            kilo: 1000,
            default: FieldDefault::Empty,
            group: Group::Model,
            applies: Applies::Both,
            folded: false,
        };
        Self { field, help: help.trim_ascii_start(), options: &[] }
    }

    const fn kind(mut self, kind: FieldKind) -> Self {
        self.field.kind = kind;
        self
    }

    /// The input takes a whole number. One press of an arrow key doubles or halves it, unless a
    /// step is stated.
    pub(super) const fn whole(self, range: RangeInclusive<u64>) -> Self {
        self.kind(FieldKind::Integer {
            min: *range.start(),
            max: *range.end(),
            step_hint: 0,
            optional: false,
        })
    }

    /// The input takes a length in tokens, where `4k` means 4096.
    pub(super) const fn tokens(mut self, range: RangeInclusive<u64>) -> Self {
        self.field.kilo = 1024;
        self.whole(range).unit("tokens")
    }

    /// The input takes a number.
    pub(super) const fn number(self, range: RangeInclusive<f64>) -> Self {
        self.kind(FieldKind::Decimal { min: *range.start(), max: *range.end(), optional: false })
    }

    /// The input takes one of a few words.
    pub(super) const fn choice(mut self, options: &'static [Explained]) -> Self {
        self.options = options;
        self.kind(FieldKind::Choice(&[]))
    }

    /// The input takes yes or no.
    pub(super) const fn flag(self) -> Self {
        self.kind(FieldKind::Flag)
    }

    /// The input takes some of the layers.
    pub(super) const fn layers(self) -> Self {
        self.kind(FieldKind::Layers)
    }

    /// The input takes a model of the catalog.
    pub(super) const fn model(self) -> Self {
        self.kind(FieldKind::Model)
    }

    /// The input takes an accelerator of the catalog.
    pub(super) const fn accelerator(self) -> Self {
        self.kind(FieldKind::Accelerator)
    }

    /// The input takes a text of at most that many characters.
    pub(super) const fn text(self, max_len: usize) -> Self {
        self.kind(FieldKind::Text { max_len })
    }

    /// The input takes names of keys, together at most that many characters.
    pub(super) const fn keys(self, max_len: usize) -> Self {
        self.kind(FieldKind::Keys { max_len })
    }

    /// The input takes the share of memory that an engine is told to use; words and default are
    /// those of the engine whose setting has the entry's key.
    pub(super) const fn memory_share(mut self) -> Self {
        let Share { flag, label, help, default, .. } = Engine::share_of_key(self.field.key);
        (self.field.name, self.field.label, self.help) = (flag, label, help);
        self.number(0.01..=1.0)
            .group(Group::Reserve)
            .serve()
            .folded()
            .default(FieldDefault::Decimal(*default))
    }

    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.field.unit = unit;
        self
    }

    /// One press of an arrow key goes that far.
    pub(super) const fn step(mut self, step: u64) -> Self {
        if let FieldKind::Integer { step_hint, .. } = &mut self.field.kind {
            *step_hint = step;
        }
        self
    }

    /// The number can be left empty.
    pub(super) const fn optional(mut self) -> Self {
        if let FieldKind::Integer { optional, .. } | FieldKind::Decimal { optional, .. } =
            &mut self.field.kind
        {
            *optional = true;
        }
        self
    }

    pub(super) const fn default(mut self, default: FieldDefault) -> Self {
        self.field.default = default;
        self
    }

    pub(super) const fn group(mut self, group: Group) -> Self {
        self.field.group = group;
        self
    }

    /// The input belongs to the architecture: the model's own value is its default.
    pub(super) const fn architecture(self, of: fn(&ModelConfig) -> Value) -> Self {
        self.group(Group::Architecture).folded().default(FieldDefault::OfModel(of))
    }

    /// The input belongs to a rarer part of the architecture.
    pub(super) const fn structure(self, of: fn(&ModelConfig) -> Value) -> Self {
        self.group(Group::Structure).folded().default(FieldDefault::OfModel(of))
    }

    /// The input is a key of `config.json` files that only some families read: its default is the
    /// value of the file, or else of the library.
    ///
    /// The form calls it by that key; in links `-` stands for `_`.
    pub(super) const fn of_file(mut self) -> Self {
        self.field.key = self.field.name;
        self.field.label = self.field.name;
        self.group(Group::Structure).folded().default(FieldDefault::OfFile)
    }

    /// The input takes a word for each layer, in short, of at most that many characters.
    pub(super) const fn words(self, max_len: usize) -> Self {
        self.kind(FieldKind::Words { max_len })
    }

    /// The accelerator's own value is its default.
    pub(super) const fn of_accelerator(self, of: fn(&AcceleratorRow) -> Value) -> Self {
        self.default(FieldDefault::OfAccelerator(of))
    }

    /// The input is an option of the stack whose options the form asks for; other stacks do not
    /// read it.
    pub(super) const fn stack_option(self) -> Self {
        self.group(Group::StackOptions).train().folded()
    }

    /// A sentence of help that stands elsewhere, in place of the comment.
    pub(super) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// The input says whether linear layers of that kind have adapters.
    pub(super) const fn adapter(self) -> Self {
        self.flag()
            .help(ADAPTER)
            .group(Group::Run)
            .tune()
            .folded()
            .default(FieldDefault::Flag(true))
    }

    const fn applies(mut self, applies: Applies) -> Self {
        self.field.applies = applies;
        self
    }

    /// The input counts in training and fine-tuning.
    pub(super) const fn train(self) -> Self {
        self.applies(Applies::Train)
    }

    /// The input counts in training alone.
    pub(super) const fn scratch(self) -> Self {
        self.applies(Applies::Scratch)
    }

    /// The input counts in fine-tuning.
    pub(super) const fn tune(self) -> Self {
        self.applies(Applies::Tune)
    }

    /// The input counts in serving.
    pub(super) const fn serve(self) -> Self {
        self.applies(Applies::Serve)
    }

    /// The form hides it behind its group's summary line.
    pub(super) const fn folded(mut self) -> Self {
        self.field.folded = true;
        self
    }
}
