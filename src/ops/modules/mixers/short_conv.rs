//! A gated convolution over a few tokens (`Lfm2ShortConv` in `models/lfm2/modeling_lfm2.py`).

use super::super::state::{Sizes, source};
use super::super::{Build, Linear};
use crate::config::{Mixer, MixerKind};
use crate::ops::tape::{Form, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;

/// Three projections in one matrix, of which two are multiplied before the convolution and one
/// behind it.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ShortConv {
    weight: Param,
    input: Linear,
    output: Linear,
    /// `[b, 3h, s]`, `[b, h, s]`, and the same with the tokens that padding adds.
    joined: Form,
    third: Form,
    padded: Form,
    /// `[b, s, h]`.
    hidden: Form,
    /// There are several sequences.
    several: bool,
    source: Source,
}

impl ShortConv {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (with, sizes, source) = (build.with, Sizes::of(build.with, mixer), source(mixer.kind));
        let (b, s, columns) = (with.b(), with.s(), sizes.all_columns(MixerKind::Lfm2));
        build.tape.at("State", source);
        let weight = build.parameter("convolution of values", [sizes.inner, sizes.kernel]);
        build.tape.at("Projection into the state", source);
        let made = build.tape.form([b, s, columns]);
        let input = build.linear(("columns into the state", None), (columns, sizes.hidden), made);
        build.tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let padded =
            Dim("tokens and padding", s.1.saturating_add(sizes.kernel.1).saturating_sub(1));
        Self {
            weight,
            input,
            output,
            joined: build.tape.form([b, columns, s]),
            third: build.tape.form([b, sizes.inner, s]),
            padded: build.tape.form([b, sizes.inner, padded]),
            hidden: build.shapes.hidden,
            several: b.1 > 1,
            source,
        }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let joined = self.input.run(x).named("gates and values").heads(self.joined, self.several);
        tape.at("State", self.source);
        let [before, behind, values] = joined.clone().split([self.third; 3]);
        let gated = before.clone().mul(values.clone()).named("gated values");
        let (written, format) = (tape.read(self.weight).dtype(), gated.dtype());
        let convolved =
            gated.clone().cast(written).convolved((self.weight, None), self.padded).cast(format);
        drop(gated);
        let convolved = convolved.slice(self.third);
        let output = behind.clone().mul(convolved.clone()).named("gated convolution");
        let output = output.merge(self.hidden, self.several);
        tape.at("Projection out of the state", self.source);
        self.output.run(&output)
    }
}
