//! A state space for every channel, by heads that have projections and a scan of their own
//! (`ZambaMambaMixer` in `models/zamba/modeling_zamba.py`).

use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::delta::convolved;
use super::token_scan::TokenScan;
use crate::config::{Mixer, MixerKind};
use crate::ops::tape::{EXP, Form, Param, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;

/// A layer that keeps a state space for every channel, by heads.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ByHeads {
    input: Linear,
    convolution: (Param, Option<Param>),
    decay: Param,
    /// Steps, inputs and readouts by one matrix of each head, and steps from their narrow space by
    /// another.
    narrow: Weight,
    wide: Weight,
    /// Of steps, and the skipped values' scale.
    vectors: [Param; 2],
    scan: TokenScan,
    output: Linear,
    forms: Forms,
    heads: u64,
    source: Source,
}

/// A matrix of each head, for all sequences.
#[derive(Clone, Copy, Debug)]
struct Weight {
    matrix: Param,
    of_sequences: Form,
    output: Form,
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
    /// `[b, n, p, s]` and `[n, b, p, s]`.
    heads: [Form; 2],
    /// `[n, b, s, columns]` of steps, inputs and readouts.
    parts: [Form; 3],
    /// Of one head: `[b, p, s]`, `[p, r]`, `[b, s, r]`, `[p]`.
    head: [Form; 4],
    /// Several sequences, and several heads.
    several: [bool; 2],
}

impl Forms {
    fn new(build: &Build<'_>, mixer: &Mixer, sizes: &Sizes) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let padded =
            Dim("tokens and padding", s.1.saturating_add(sizes.kernel.1).saturating_sub(1));
        let both = sizes.all_columns(mixer.kind);
        let n = heads(mixer);
        let p = width(mixer);
        let (inner, state, rank) = (sizes.inner, sizes.state, sizes.rank);
        Self {
            joined: tape.form([b, both, s]),
            values: tape.form([b, inner, s]),
            padded: tape.form([b, inner, padded]),
            rows: tape.form([b, s, inner]),
            heads: [tape.form([b, n, p, s]), tape.form([n, b, p, s])],
            parts: [rank, state, state].map(|width| tape.form([n, b, s, width])),
            head: [
                tape.form([b, p, s]),
                tape.form([p, state]),
                tape.form([b, s, state]),
                tape.form([p]),
            ],
            several: [b.1 > 1, n.1 > 1],
        }
    }

    /// True if heads of all sequences lie otherwise than products read them.
    const fn copies(&self) -> bool {
        self.several[0] && self.several[1]
    }
}

/// Heads among which the channels are shared out.
const fn heads(mixer: &Mixer) -> Dim {
    Dim(
        "heads of the state's channels",
        if mixer.num_key_heads == 0 { 1 } else { mixer.num_key_heads },
    )
}

/// Channels of one of them.
const fn width(mixer: &Mixer) -> Dim {
    Dim("channels of a head", mixer.inner() / heads(mixer).1)
}

impl Weight {
    fn new(build: &Build<'_>, name: &'static str, [n, columns, input]: [Dim; 3]) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let matrix = build.parameter(name, [n, columns, input]);
        Self {
            matrix,
            of_sequences: tape.form([n, b, columns, input]),
            output: tape.form([n, b, columns, s]),
        }
    }

    /// The product with columns of every token; the weight is copied for each sequence where there
    /// are several heads as well.
    fn run<'t>(self, x: &Var<'t>, [batch, heads]: [bool; 2], copied: bool) -> Var<'t> {
        let mut weight = x.tape().read(self.matrix).for_product();
        let mut x = x.clone().for_product();
        if batch {
            weight = weight.expand(self.of_sequences);
        }
        if batch && heads {
            weight = weight.copy();
        }
        if copied {
            x = x.copy();
        }
        weight.matrices(x, self.output, false)
    }
}

impl ByHeads {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (n, p) = (heads(mixer), width(mixer));
        let (inner, state, rank) = (sizes.inner, sizes.state, sizes.rank);
        let forms = Forms::new(build, mixer, &sizes);
        tape.at("State", source);
        let columns = Dim("narrow columns", rank.1.saturating_add(state.1.saturating_mul(2)));
        let narrow = Weight::new(build, "step, input and readout weight", [n, columns, p]);
        let wide = Weight::new(build, "wide step weight", [n, p, rank]);
        let step = build.parameter("step's bias", [n, p]);
        // Made of numbers in fp32, and kept so.
        let decay = build.in_format(FP32).parameter("decay", [n, p, state]);
        let skip = build.parameter("skip", [n, p]);
        let convolution = (
            build.parameter("convolution", [inner, sizes.kernel]),
            Some(build.vector("convolution's bias", inner)),
        );
        tape.at("Projection into the state", source);
        let both = sizes.all_columns(MixerKind::Zamba);
        let made = tape.form([build.with.b(), build.with.s(), both]);
        let input = build.linear(("columns into the state", None), (both, sizes.hidden), made);
        let scan = TokenScan::new(build, p, mixer);
        tape.at("Projection out of the state", source);
        let output =
            build.linear(("state output weight", None), (sizes.hidden, inner), build.shapes.hidden);
        let vectors = [step, skip];
        Self {
            input,
            convolution,
            decay,
            narrow,
            wide,
            vectors,
            scan,
            output,
            forms,
            heads: n.1,
            source,
        }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        let Forms { joined, values, padded, rows, heads: [in_rows, by_heads], parts, .. } =
            self.forms;
        let several = self.forms.several;
        tape.at("Projection into the state", self.source);
        let joined = self.input.run(x).named("values and gate").heads(joined, several[0]);
        tape.at("State", self.source);
        let of_heads = |x: Var<'t>| x.view(in_rows).swap(by_heads, self.forms.copies());
        let [columns, gate] = joined.clone().split([values; 2]);
        let columns = columns.copy();
        let gate = of_heads(gate);
        let columns = of_heads(convolved(&{ columns }, self.convolution, padded));
        let narrow = self
            .narrow
            .run(&columns, several, self.forms.copies())
            .named("steps, inputs and readouts");
        let [steps, input, readout] = narrow.clone().split(parts);
        let steps = self.wide.run(&{ steps }, several, false);
        let bias = tape.read(self.vectors[0]).cast(FP32);
        let decay = tape.read(self.decay).cast(FP32).apply(EXP).apply(SCALE).named("decay");
        let [of_values, of_decay, of_input, vector] = self.forms.head;
        let part = |x: &Var<'t>, form| x.clone().slice(form);
        let outputs: Vec<Var<'t>> = (0..self.heads)
            .map(|_| {
                let skip = tape.read(self.vectors[1]).slice(vector).cast(FP32);
                let [columns, steps, gate] = [&columns, &steps, &gate].map(|x| part(x, of_values));
                let [input, readout] = [&input, &readout].map(|x| part(x, of_input));
                let decay = part(&decay, of_decay);
                let operands = [&columns, &steps, &decay, &input, &readout, &gate];
                self.scan.run(tape, operands, [part(&bias, vector), skip])
            })
            .collect();
        let scanned = Var::stacked(&outputs, values).unwrap_or(columns);
        tape.at("Projection out of the state", self.source);
        let behind = scanned.clone().cast_as(x.dtype(), "state output").merge(rows, several[0]);
        self.output.run(&behind)
    }
}
