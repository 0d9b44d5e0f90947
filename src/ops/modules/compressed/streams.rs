//! Residual streams whose weights a small product makes of all of them: what collapses them to the
//! input of a half of a block, spreads its output, and mixes them with each other by a matrix whose
//! rows and columns sum to 1 (`DeepseekV4HyperConnection`, `DeepseekV4HyperHead`).

use super::super::{Build, FP32};
use crate::config::Compressed;
use crate::ops::tape::{Form, POWER, Param, RSQRT, SCALE, SIGMOID, SOFTMAX, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// Shapes of the streams.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, n, h]`, `[b, s, n · h]` and `[b, s, h]`.
    streams: Form,
    flat: Form,
    one: Form,
    /// `[b, s, 1]`.
    rows: Form,
    /// `[b, s, n]`, and that with one column for each.
    each: Form,
    factors: Form,
    /// `[b, s, 1, h]`.
    spread: Form,
}

impl Forms {
    fn new(build: &Build<'_>, sizes: &Compressed) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, h, n) = (with.b(), with.s(), with.h(), Dim("hc_mult", sizes.hc_mult));
        let one = Dim("one", 1);
        Self {
            streams: tape.form([b, s, n, h]),
            flat: tape.form([b, s, columns(build, sizes)]),
            one: build.shapes.hidden,
            rows: build.shapes.rows,
            each: tape.form([b, s, n]),
            factors: tape.form([b, s, n, one]),
            spread: tape.form([b, s, one, h]),
        }
    }

    /// All streams normed together, without a scale.
    fn normed<'t>(&self, streams: &Var<'t>) -> Var<'t> {
        let flat = streams.clone().view(self.flat).cast_as(FP32, "streams in fp32");
        unscaled(&flat, self.rows)
    }

    /// The sum of all streams by their weights.
    fn collapsed<'t>(&self, weights: &Var<'t>, streams: &Var<'t>) -> Var<'t> {
        let weighed = weights.clone().view(self.factors).mul(streams.clone());
        weighed.sum(self.one).cast_as(streams.dtype(), "one of the streams")
    }
}

/// `hc_mult · hidden_size`.
fn columns(build: &Build<'_>, sizes: &Compressed) -> Dim {
    Dim("hc_mult · hidden_size", sizes.hc_mult.saturating_mul(build.with.h().1))
}

/// `x` times the inverse root of its mean square, in its own format
/// (`DeepseekV4UnweightedRMSNorm`).
pub(super) fn unscaled<'t>(x: &Var<'t>, rows: Form) -> Var<'t> {
    let square = x.clone().cast_as(FP32, "norm input in fp32").apply(POWER).reduce(rows);
    let factor = square.plus().apply(RSQRT).named("norm statistics").cast(x.dtype());
    x.clone().mul(factor).named("norm output")
}

/// A matrix in fp32, as products read it.
fn wide<'t>(x: &Var<'t>, weight: Param, autocast: bool) -> Var<'t> {
    let weight = x.tape().weight(weight);
    if autocast { weight } else { weight.cast_as(FP32, "weight in fp32") }
}

/// The weights of one half of a block.
pub(super) struct Weights<'t> {
    /// `[b, s, n]`: by which its output is spread.
    spread: Var<'t>,
    /// `[b, s, n, n]`: how streams go over into each other.
    mixed: Var<'t>,
    /// Its input.
    pub collapsed: Var<'t>,
}

/// The module that makes them.
#[derive(Debug)]
pub(super) struct Mixing {
    weight: Param,
    base: Param,
    scale: Param,
    autocast: bool,
    /// How often rows and columns are made to sum to 1.
    turns: u64,
    forms: Forms,
    /// `[b, s, (2 + n) · n]`, `[b, s, n · n]` and `[b, s, n, n]`; `[n]`, `[n · n]` and `[n, n]` of
    /// biases; a number.
    all: Form,
    pairs: [Form; 2],
    of_base: [Form; 3],
    number: Form,
    /// Sums of columns and of rows.
    sums: [Form; 2],
}

impl Mixing {
    pub fn new(build: &Build<'_>, sizes: &Compressed) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, n) = (with.b(), with.s(), Dim("hc_mult", sizes.hc_mult));
        let squared = Dim("hc_mult²", n.1.saturating_mul(n.1));
        let weights = Dim("weights of streams", squared.1.saturating_add(n.1.saturating_mul(2)));
        let one = Dim("one", 1);
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        Self {
            weight: build
                .parameter("weight of the streams' weights", [weights, columns(build, sizes)]),
            base: build.vector("bias of the streams' weights", weights),
            scale: build.vector("scales of the streams' weights", Dim("kinds of weights", 3)),
            autocast: with.autocast,
            turns: sizes.hc_sinkhorn_iters,
            forms: Forms::new(build, sizes),
            all: tape.form([b, s, weights]),
            pairs: [tape.form([b, s, squared]), tape.form([b, s, n, n])],
            of_base: [tape.form([n]), tape.form([squared]), tape.form([n, n])],
            number: tape.form([one]),
            sums: [tape.form([b, s, one, n]), tape.form([b, s, n, one])],
        }
    }

    /// The weights that all streams make.
    pub fn weigh<'t>(&self, streams: &Var<'t>) -> Weights<'t> {
        let tape = streams.tape();
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        let normed = self.forms.normed(streams);
        let made = normed
            .linear_by(&wide(streams, self.weight, self.autocast), self.all)
            .named("weights of streams");
        tape.multiplied(self.forms.flat, self.all);
        let (each, [row, square, matrix]) = (self.forms.each, self.of_base);
        let parts = made.parts_of(&[each, each, self.pairs[0]]);
        let biases = tape.read(self.base).parts_of(&[row, row, square]);
        let scales = tape.read(self.scale).parts_alike(self.number, 3);
        let scaled = |at: usize| {
            let (part, bias, scale) =
                (parts.get(at)?.clone(), biases.get(at)?.clone(), scales.get(at)?);
            let (part, bias) =
                if at == 2 { (part.view(self.pairs[1]), bias.view(matrix)) } else { (part, bias) };
            Some(part.by_number(scale).add(bias))
        };
        let (into, spread, mixed) = (scaled(0), scaled(1), scaled(2));
        let [into, spread, mixed] =
            [into, spread, mixed].map(|made| made.unwrap_or_else(|| streams.clone()));
        let into = into.apply(SIGMOID).plus();
        let spread = spread.apply(SIGMOID).apply(SCALE).named("weights of the output");
        let mixed = self.balanced(mixed.apply(SOFTMAX).plus());
        let collapsed = self.forms.collapsed(&into, streams);
        Weights { spread, mixed, collapsed }
    }

    /// Columns and rows made to sum to 1, in turns (Sinkhorn and Knopp).
    fn balanced<'t>(&self, mut mixed: Var<'t>) -> Var<'t> {
        let turns = self.turns.saturating_mul(2).saturating_sub(1).max(1);
        for turn in 0..turns {
            let sums = if turn % 2 == 0 { self.sums[0] } else { self.sums[1] };
            let sums = mixed.clone().sum(sums).plus();
            mixed = mixed.clone().divided_by(&sums);
        }
        mixed.named("mix of streams")
    }

    /// The streams behind a half of a block: its output by their weights, and what they become of
    /// each other.
    pub fn spread<'t>(
        &self,
        weights: &Weights<'t>,
        output: &Var<'t>,
        streams: &Var<'t>,
    ) -> Var<'t> {
        streams.tape().at("Streams", sources::PYTORCH_AUTOGRAD);
        let format = streams.dtype();
        let by = weights.spread.clone().cast(format).view(self.forms.factors);
        let spread = by.outer(output.clone().view(self.forms.spread), self.forms.streams);
        let mixed = weights
            .mixed
            .clone()
            .cast(format)
            .matrices_of_columns(streams.clone(), self.forms.streams);
        spread.add(mixed)
    }
}

/// Both ends: streams of embedded tokens, and what collapses them before the final norm.
#[derive(Debug)]
pub(in crate::ops::modules) struct Streams {
    weight: Param,
    base: Param,
    scale: Param,
    autocast: bool,
    forms: Forms,
}

impl Streams {
    /// Declares what collapses them.
    pub fn new(build: &Build<'_>, sizes: &Compressed) -> Self {
        let n = Dim("hc_mult", sizes.hc_mult);
        build.tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        Self {
            weight: build.parameter("weight of the streams' weights", [n, columns(build, sizes)]),
            base: build.vector("bias of the streams' weights", n),
            scale: build.vector("scale of the streams' weights", Dim("one", 1)),
            autocast: build.with.autocast,
            forms: Forms::new(build, sizes),
        }
    }

    /// Embedded tokens, once for each stream: of so many streams and tokens as a model with these
    /// sizes has.
    pub fn spread<'t>(build: [Dim; 4], hidden: &Var<'t>) -> Var<'t> {
        let tape = hidden.tape();
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        hidden.clone().repeat(tape.form(build)).named("streams")
    }

    /// The last hidden states.
    pub fn joined<'t>(&self, streams: &Var<'t>) -> Var<'t> {
        let tape = streams.tape();
        tape.at("Streams", sources::PYTORCH_AUTOGRAD);
        let normed = self.forms.normed(streams);
        let made =
            { normed }.linear_by(&wide(streams, self.weight, self.autocast), self.forms.each);
        tape.multiplied(self.forms.flat, self.forms.each);
        let scale = tape.read(self.scale).cast_as(FP32, "scale in fp32");
        let scaled = made.clone().mul(scale);
        let base = tape.read(self.base).cast_as(FP32, "bias in fp32");
        let weights = scaled.add(base).apply(SIGMOID).plus();
        self.forms.collapsed(&weights, streams).named("joined streams")
    }
}
