//! A matrix of every head with gates in the exponent (`xLSTMLayer` in
//! `models/xlstm/modeling_xlstm.py`).

use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::matrices::Matrices;
use crate::config::Mixer;
use crate::ops::tape::{Form, Order, Param, RSQRT, SCALE, SIGMOID, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;

/// A layer that keeps a matrix for every head.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Mlstm {
    /// Of queries, keys, values, and the output's gate.
    wide: [Linear; 4],
    /// Of the input's gate and of what is forgotten.
    narrow: [Linear; 2],
    scale: Param,
    output: Linear,
    rule: Matrices,
    forms: Forms,
    source: Source,
}

/// Shapes on the way to the rule and from it.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, n, s, r]`, `[b, n, s, p]` and `[b, n, s]`.
    keys: Form,
    values: Form,
    numbers: Form,
    /// `[b, s, n, p]`, `[b, s, n, 1]` and `[b, s, n · p]`.
    rows: Form,
    statistics: Form,
    columns: Form,
    /// `[b, s, n]`.
    gates: Form,
    heads: bool,
}

impl Mlstm {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (b, s, n) = (build.with.b(), build.with.s(), sizes.heads);
        let forms = Forms {
            keys: tape.form([b, n, s, sizes.state]),
            values: tape.form([b, n, s, sizes.head]),
            numbers: tape.form([b, n, s]),
            rows: tape.form([b, s, n, sizes.head]),
            statistics: tape.form([b, s, n, Dim("row", 1)]),
            columns: tape.form([b, s, sizes.inner]),
            gates: tape.form([b, s, n]),
            heads: n.1 > 1,
        };
        tape.at("Projection into the state", source);
        let of_keys = tape.form([b, s, sizes.keys]);
        let linear = |name, width, form| build.linear((name, None), (width, sizes.hidden), form);
        let gate = |names| build.linear(names, (n, sizes.hidden), forms.gates);
        let wide = [
            linear("state query weight", sizes.keys, of_keys),
            linear("state key weight", sizes.keys, of_keys),
            linear("state value weight", sizes.inner, forms.columns),
            linear("state gate weight", sizes.inner, forms.columns),
        ];
        let narrow = [
            gate(("input gate weight", Some("input gate bias"))),
            gate(("forget gate weight", Some("forget gate bias"))),
        ];
        tape.at("State", source);
        let scale = build.vector("scale", sizes.inner);
        tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        Self {
            wide,
            narrow,
            scale,
            output,
            rule: Matrices::new(build, &sizes, mixer),
            forms,
            source,
        }
    }

    /// The layer's output; the block returns the states with it, which are `held`.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let [query, key, value, gate] = self.wide.each_ref().map(|linear| linear.run(x));
        let capped = |linear: &Linear| {
            let made = linear.run(x).view(self.forms.gates);
            made.apply(SCALE).apply(TANH).apply(SCALE).swap(self.forms.numbers, self.forms.heads)
        };
        let [input, forget] = self.narrow.each_ref().map(capped);
        tape.at("State", self.source);
        let keys = |x: Var<'t>, name| x.named(name).heads(self.forms.keys, self.forms.heads);
        let (query, key) = (keys(query, "queries"), keys(key, "keys"));
        let value = value.named("values").heads(self.forms.values, self.forms.heads);
        let seen = self.rule.run(tape, [&query, &key, &value, &input, &forget], held);
        let rows = seen.swap(self.forms.rows, self.forms.heads);
        let normed = self.normed(tape, &rows);
        let gated = gate
            .clone()
            .apply(SIGMOID)
            .named("gate")
            .mul(normed.clone())
            .named("gated state output");
        tape.at("Projection out of the state", self.source);
        self.output.run(&gated)
    }

    /// Each head normed, and scaled (`xLSTMMultiHeadLayerNorm`).
    fn normed<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        let wide = x.clone().cast_as(FP32, "norm input in fp32");
        let mean = wide.clone().reduce(self.forms.statistics);
        let centred = wide.clone().sub(mean).named("centred norm input");
        let statistics = wide
            .clone()
            .variance(self.forms.statistics)
            .plus()
            .apply(RSQRT)
            .named("norm statistics");
        let normed = centred.clone().mul(statistics).cast_as(x.dtype(), "unscaled norm output");
        drop((wide, centred));
        let normed = if self.forms.heads { normed.copy() } else { normed };
        let normed = normed.ordered(Order::Plain).view(self.forms.columns);
        normed.clone().mul(tape.read(self.scale)).named("norm output")
    }
}
