//! A state space for every channel (`MambaMixer` in `models/mamba/modeling_mamba.py`,
//! `FalconMambaMixer` in `models/falcon_mamba/modeling_falcon_mamba.py`, `JambaMambaMixer` in
//! `models/jamba/modeling_jamba.py`).

use super::super::adapter::unread_linear;
use super::super::norm::Norm;
use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::delta::convolved;
use super::token_scan::TokenScan;
use crate::config::{Mixer, MixerKind};
use crate::ops::tape::{EXP, Form, Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;

/// A layer that keeps a state space for every channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Mamba {
    input: Linear,
    convolution: (Param, Option<Param>),
    decay: Param,
    /// Steps, inputs and readouts by one matrix, and steps from their narrow space.
    narrow: Linear,
    wide: Param,
    /// Of steps, inputs and readouts.
    norms: Option<[Norm; 3]>,
    /// Of steps, and the skipped values' scale.
    vectors: [Param; 2],
    scan: TokenScan,
    output: Linear,
    forms: Forms,
    several: bool,
    source: Source,
}

/// Shapes on the way to the scan.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, 2d, s]`, `[b, d, s]`, and the last with padding.
    joined: Form,
    values: Form,
    padded: Form,
    /// `[b, s, d]`.
    rows: Form,
    /// `[b, s, columns]` of steps, inputs and readouts.
    parts: [Form; 3],
}

impl Forms {
    fn new(build: &Build<'_>, sizes: &Sizes, both: Dim) -> Self {
        let (tape, b, s) = (build.tape, build.with.b(), build.with.s());
        let padded = s.1.saturating_add(sizes.kernel.1).saturating_sub(1);
        Self {
            joined: tape.form([b, both, s]),
            values: tape.form([b, sizes.inner, s]),
            padded: tape.form([b, sizes.inner, Dim("tokens and padding", padded)]),
            rows: build.of_tokens(sizes.inner),
            parts: [sizes.rank, sizes.state, sizes.state].map(|width| build.of_tokens(width)),
        }
    }
}

/// The norms of steps, inputs and readouts, where the kind has them.
fn norms(build: &Build<'_>, kind: MixerKind, sizes: &Sizes) -> Option<[Norm; 3]> {
    let (tape, rows) = (build.tape, build.of_tokens(Dim("row", 1)));
    match kind {
        MixerKind::Jamba => {
            let widths = [sizes.rank, sizes.state, sizes.state];
            Some(widths.map(|width| Norm::new(build, width, rows)))
        }
        MixerKind::FalconMamba => {
            let name = "ones of a norm without a scale";
            for width in [sizes.inner, sizes.state, sizes.state] {
                tape.buffer(name, tape.form([width]), build.with.made_in);
            }
            Some([rows; 3].map(|rows| Norm::unscaled(build, rows)))
        }
        _ => None,
    }
}

impl Mamba {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (b, s) = (build.with.b(), build.with.s());
        let (inner, state, rank) = (sizes.inner, sizes.state, sizes.rank);
        let both = sizes.all_columns(mixer.kind);
        let forms = Forms::new(build, &sizes, both);
        tape.at("State", source);
        let decay = build.parameter("decay", [inner, state]);
        let skip = build.vector("skip", inner);
        let convolution = (
            build.parameter("convolution", [inner, sizes.kernel]),
            Some(build.vector("convolution's bias", inner)),
        );
        tape.at("Projection into the state", source);
        let input = build.linear(
            ("columns into the state", None),
            (both, sizes.hidden),
            tape.form([b, s, both]),
        );
        tape.at("State", source);
        let columns = Dim("narrow columns", rank.1.saturating_add(state.1.saturating_mul(2)));
        let narrow = build.linear(
            ("step, input and readout weight", None),
            (columns, inner),
            tape.form([b, s, columns]),
        );
        let wide = unread_linear(build, "wide step weight", (inner, rank));
        let step = build.vector("step's bias", inner);
        let norms = norms(build, mixer.kind, &sizes);
        let scan = TokenScan::new(build, inner, mixer);
        tape.at("Projection out of the state", source);
        let output =
            build.linear(("state output weight", None), (sizes.hidden, inner), build.shapes.hidden);
        Self {
            input,
            convolution,
            decay,
            narrow,
            wide,
            norms,
            vectors: [step, skip],
            scan,
            output,
            forms,
            several: b.1 > 1,
            source,
        }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let joined =
            self.input.run(x).named("values and gate").heads(self.forms.joined, self.several);
        tape.at("State", self.source);
        let decay = tape.read(self.decay).cast(FP32).apply(EXP).apply(SCALE).named("decay");
        let [values, gate] = joined.clone().split([self.forms.values; 2]);
        let values = { convolved(&{ values }, self.convolution, self.forms.padded) };
        let narrow = self
            .narrow
            .run(&values.clone().merge(self.forms.rows, self.several))
            .named("steps, inputs and readouts");
        let parts = { narrow }.split(self.forms.parts);
        let [steps, input, readout] = match &self.norms {
            Some([steps, input, readout]) => {
                let [a, b, c] = parts;
                let a = steps.run(&{ a });
                let b = input.run(&{ b });
                [a, b, readout.run(&{ c })]
            }
            None => parts,
        };
        let steps = { steps }.linear_by(&tape.weight(self.wide), self.forms.rows);
        let steps = steps.heads(self.forms.values, self.several).copy();
        let scanned = {
            let vectors = self.vectors.map(|vector| tape.read(vector).cast(FP32));
            self.scan.run(tape, [&values, &steps, &decay, &input, &readout, &gate], vectors)
        };
        tape.at("Projection out of the state", self.source);
        let rows =
            scanned.clone().cast_as(x.dtype(), "state output").merge(self.forms.rows, self.several);
        self.output.run(&rows)
    }
}
