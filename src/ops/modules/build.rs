//! The tape of a model together with the shapes that its modules share: how modules declare
//! parameters and linear layers.

use super::super::builder::Lowering;
use super::super::division::{Division, Part};
use super::super::tape::{Form, Param, Tape};
use super::super::tensor::Dim;
use super::adapter::{Adapter, quantised};
use super::{Exchange, Linear, Shapes, Split, keys, splits_tokens, text};
use crate::config::{Float8, LinearStyle, ModelConfig};
use crate::stacks::{LossKernel, ModuleKernels};
use crate::units::DType;

/// Tape, settings and shapes with which modules are built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build<'a> {
    pub tape: &'a Tape,
    pub with: &'a Lowering<'a>,
    pub shapes: Shapes,
    /// Format in which parameters are declared.
    pub(super) format: DType,
}

impl<'a> Build<'a> {
    /// Prepares a tape for a model.
    pub fn new(tape: &'a Tape, with: &'a Lowering<'a>) -> Self {
        tape.freeze(with.tuning.freezes_model());
        tape.dispatch_to(with.dispatch);
        tape.casts_apart(with.float8.is_on());
        Self::again(tape, with)
    }

    /// Other shapes on a tape that is prepared.
    pub fn again(tape: &'a Tape, with: &'a Lowering<'a>) -> Self {
        let (b, s) = (with.b(), with.s());
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let parts = splits_tokens(with);
        let tokens = if parts { with.local(s) } else { s };
        let shapes = Shapes {
            hidden: tape.form([b, tokens, with.h()]),
            all_tokens: parts.then(|| tape.form([b, s, with.h()])),
            exchange: Exchange::of(with),
            tokens: tape.form([b, s]),
            text: tape.form([b, text(with)]),
            rows: tape.form([b, tokens, Dim("row", 1)]),
            queries: tape.form([b, heads, s, d]),
            keys: tape.form([b, kv, s, d]),
            values: tape.form([b, kv, s, with.value_dim()]),
            repeated: [d, with.value_dim()].map(|width| tape.form([b, heads, keys(with), width])),
            statistics: tape.form([b, heads, s]),
            scores: tape.form([b, heads, s, Dim("context_length", with.context_length)]),
            inner: tape.form([b, s, with.share(Part::FeedForward, with.ffn())]),
            logits: if with.training {
                tape.form([b, s, with.vocab_part()])
            } else {
                tape.form([
                    Dim("concurrent_sequences", with.concurrent_sequences),
                    with.vocab_part(),
                ])
            },
            scalar: tape.form([Dim("scalar", 1)]),
        };
        Self { tape, with, shapes, format: with.parameter }
    }

    /// A copy for modules whose parameters are made in that format, which they keep where nothing
    /// casts them.
    pub fn in_format(&self, own: DType) -> Self {
        Self { format: if self.with.keeps_formats { own } else { self.with.parameter }, ..*self }
    }

    /// The architecture.
    pub const fn model(&self) -> &'a ModelConfig {
        self.with.model
    }

    /// The kernels that the stack carries modules out with.
    pub fn kernels(&self) -> ModuleKernels {
        self.with.stack.modules()
    }

    /// How the loss is computed. Kernels that join head and loss are made for the next token; an
    /// encoder's logits are written.
    pub const fn loss(&self) -> LossKernel {
        match (self.model().encoder, self.model().source) {
            (Some(_), _) | (_, Some(_)) => LossKernel::FullLogits,
            (None, None) => self.with.loss.kernel(self.with.stack),
        }
    }

    /// The shape of so many columns for each token.
    pub fn of_tokens(&self, width: Dim) -> Form {
        self.tape.form([self.with.b(), self.with.s(), width])
    }

    /// A parameter.
    pub fn parameter<const N: usize>(&self, name: &'static str, dims: [Dim; N]) -> Param {
        self.tape.parameter(name, self.tape.form(dims), self.format)
    }

    /// A vector of parameters.
    pub fn vector(&self, name: &'static str, width: Dim) -> Param {
        self.parameter(name, [width])
    }

    /// A linear layer from `input` to `output` columns, which every tensor-parallel rank has; its
    /// results have shape `form`.
    pub fn linear(
        &self,
        names: (&'static str, Option<&'static str>),
        dims: (Dim, Dim),
        form: Form,
    ) -> Linear {
        self.split_linear(names, dims, (form, None), Split::None)
    }

    /// A linear layer of that part split by output columns over tensor-parallel ranks, of which it
    /// computes `output`.
    pub fn column(
        &self,
        part: Part,
        names: (&'static str, Option<&'static str>),
        (output, input): (Dim, Dim),
        form: Form,
    ) -> Linear {
        match self.with.division(part) {
            Division::Whole => self.linear(names, (output, input), form),
            Division::Divided => {
                self.split_linear(names, (output, input), (form, None), Split::Column)
            }
            Division::Gathered => {
                let own = self.with.local(output);
                let part = self.tape.form([self.with.b(), self.with.s(), own]);
                self.split_linear(names, (own, input), (form, Some(part)), Split::Column)
            }
        }
    }

    /// A linear layer of that part split by input columns, of which it is given `input`.
    pub fn row(
        &self,
        part: Part,
        names: (&'static str, Option<&'static str>),
        (output, input): (Dim, Dim),
        form: Form,
    ) -> Linear {
        match self.with.division(part) {
            Division::Whole => self.linear(names, (output, input), form),
            Division::Divided => {
                self.split_linear(names, (output, input), (form, None), Split::Row)
            }
            Division::Gathered => {
                let own = self.with.local(input);
                let part = self.tape.form([self.with.b(), self.with.s(), own]);
                self.split_linear(names, (output, own), (form, Some(part)), Split::Row)
            }
        }
    }

    /// How the products of a layer of that many outputs and inputs run in float8, if they do.
    fn float8(&self, (output, input): (Dim, Dim)) -> Option<Float8> {
        self.with.float8.casts(input.1, output.1).then_some(self.with.float8)
    }

    /// A linear layer of which every tensor-parallel rank has a part; `part`: its results or its
    /// input, where these are whole.
    fn split_linear(
        &self,
        names: (&'static str, Option<&'static str>),
        (output, input): (Dim, Dim),
        (form, part): (Form, Option<Form>),
        split: Split,
    ) -> Linear {
        let packed = quantised(self, names.0, (output, input));
        let weight =
            packed.map_or_else(|| self.parameter(names.0, [output, input]), |packed| packed.0);
        let bias = names.1.map(|name| self.vector(name, output));
        let adapter = Adapter::new(self, names.0, (output, input));
        let float8 = self.float8((output, input));
        if float8.is_some_and(|float8| float8.gathers) {
            self.tape.gathers_in_float8(weight);
        }
        let conv1d = self.model().family.modules().linear == LinearStyle::Conv1d;
        let packed = packed.map(|packed| packed.1);
        Linear {
            weight,
            bias,
            form,
            conv1d,
            split,
            part,
            all_tokens: self.shapes.all_tokens,
            exchange: self.shapes.exchange,
            packed,
            float8,
            adapter,
            autocast: self.with.autocast,
        }
    }
}
