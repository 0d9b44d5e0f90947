//! Weighted sums of every channel (`RwkvSelfAttention` and `rwkv_linear_attention_cpu` in
//! `models/rwkv/modeling_rwkv.py`): numerator, denominator and the largest exponent go from token
//! to token, and outputs are written one by one into one tensor.

use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::turns::{more, turns};
use crate::config::Mixer;
use crate::ops::tape::{EXP, Form, Param, SCALE, SIGMOID, Tape, Var};
use crate::sources::Source;

/// Tensors of one number for each channel that a token's arithmetic saves: its larger exponent's
/// operands, factors, sums and states.
const SAVED: u64 = 11;

/// A mix of each token with the one before, by a number for each channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Mix(Param);

impl Mix {
    /// Declares the numbers.
    pub fn new(build: &Build<'_>, name: &'static str) -> Self {
        Self(build.vector(name, build.with.h()))
    }

    /// `x · mix + shifted · (1 - mix)`.
    pub fn run<'t>(self, tape: &'t Tape, x: &Var<'t>, shifted: &Var<'t>) -> Var<'t> {
        let own = x.clone().mul(tape.read(self.0));
        let before = shifted.clone().mul(tape.read(self.0).apply(SCALE));
        own.add(before).named("mix of two tokens")
    }
}

/// Every token's hidden state moved to the next.
pub(in super::super) fn shifted<'t>(x: &Var<'t>) -> Var<'t> {
    x.clone().padded(x.form()).named("states of the tokens before")
}

/// A layer that keeps sums of every channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Sums {
    decay: Param,
    first: Param,
    /// Of keys, values and gates.
    mixes: [Mix; 3],
    projections: [Linear; 3],
    output: Linear,
    /// `[b, s, d]`, and `[b, d]` of one token.
    rows: Form,
    state: Form,
    tokens: u64,
    source: Source,
}

impl Sums {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (b, s) = (build.with.b(), build.with.s());
        let rows = tape.form([b, s, sizes.inner]);
        tape.at("State", source);
        let (decay, first) =
            (build.vector("decay", sizes.inner), build.vector("first decay", sizes.inner));
        let mixes = ["key's mix", "value's mix", "gate's mix"].map(|name| Mix::new(build, name));
        tape.at("Projection into the state", source);
        let names = ["state key weight", "state value weight", "state gate weight"];
        let projections =
            names.map(|name| build.linear((name, None), (sizes.inner, sizes.hidden), rows));
        tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let state = tape.form([b, sizes.inner]);
        Self { decay, first, mixes, projections, output, rows, state, tokens: s.1, source }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let [key, value, gate] = {
            let before = shifted(x);
            let mixed = self.mixes.map(|mix| mix.run(tape, x, &before));
            let [of_keys, of_values, of_gates] = &self.projections;
            let [key, value, gate] = mixed;
            let key = of_keys.run(&{ key }).named("keys");
            let value = of_values.run(&{ value }).named("values");
            [key, value, of_gates.run(&{ gate }).apply(SIGMOID).named("gate")]
        };
        tape.at("State", self.source);
        let sums = self.scan(tape, &key, &value);
        tape.at("Projection out of the state", self.source);
        self.output.run(&gate.clone().mul(sums.clone()).named("gated sums"))
    }

    /// From token to token: outputs `[b, s, d]`.
    fn scan<'t>(&self, tape: &'t Tape, key: &Var<'t>, value: &Var<'t>) -> Var<'t> {
        let format = key.dtype();
        let mut outputs = tape.constant("outputs of all tokens", self.rows, format);
        let zeros = |name| tape.constant(name, self.state, FP32);
        let (mut numerator, mut denominator) = (zeros("sum of values"), zeros("sum of keys"));
        let largest = zeros("largest key");
        let mut largest = largest.plus();
        let decay = tape.read(self.decay).apply(EXP).apply(SCALE).named("decay");
        let mut unread = tape.unread_from();
        for tokens in turns(self.tokens) {
            let key = key.clone().slice(self.state).cast_as(FP32, "keys in fp32");
            let value = value.clone().slice(self.state);
            let own = || key.clone().add(tape.read(self.first));
            let top = largest.clone().maximum(&own());
            let old = largest.clone().sub(top.clone()).apply(EXP);
            let new = own().sub(top.clone()).apply(EXP);
            let seen = old
                .clone()
                .mul(numerator.clone())
                .add(new.clone().mul(value.clone()))
                .named("numerator");
            let weight = old.clone().mul(denominator.clone()).add(new.clone()).named("denominator");
            outputs = outputs.fill(&seen.clone().over(&weight).cast(format));
            if tokens > 1 {
                let tensors = SAVED + u64::from(value.dtype() != FP32);
                let further = more(tape, (tokens - 1).saturating_mul(tensors) + 1, self.state);
                seen.saves(&tape.constant("sums of several tokens", further, FP32));
            }
            drop((top, old, new, seen, weight));
            unread = tape.unread_from();
            let faded = || largest.clone().add(decay.clone());
            let top = faded().maximum(&key);
            let old = faded().sub(top.clone()).apply(EXP);
            let new = key.clone().sub(top.clone()).apply(EXP);
            numerator = old
                .clone()
                .mul(numerator.clone())
                .add(new.clone().mul(value))
                .named("sum of values");
            denominator =
                old.clone().mul(denominator.clone()).add(new.clone()).named("sum of keys");
            largest = top.named("largest key");
        }
        // Nobody reads the sums behind the last token.
        tape.forget(unread);
        outputs
    }
}
