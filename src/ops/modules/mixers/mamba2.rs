//! A state space for every head (`Mamba2Mixer` in `models/mamba2/modeling_mamba2.py`, and its like
//! in other families).

use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::chunk_scan::ChunkScan;
use super::delta::convolved;
use crate::config::{Mixer, MixerKind};
use crate::ops::tape::{EXP, Form, POWER, Param, RSQRT, SCALE, SILU, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;
use crate::units::DType;

/// The gate, and the norm behind it: a scale, and shapes of its groups and of their statistics.
#[derive(Clone, Copy, Debug)]
struct Behind {
    scale: Option<Param>,
    groups: Form,
    rows: Form,
}

/// A layer that keeps a state space for every head.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Mamba2 {
    input: Linear,
    decay: Param,
    convolution: (Param, Option<Param>),
    scan: ChunkScan,
    behind: Behind,
    output: Linear,
    /// Factors on the input, and on each column, which a buffer holds.
    factors: Option<DType>,
    forms: Forms,
    source: Source,
}

/// Shapes on the way to the scan.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, columns]` of the gate, of what is convolved, and of steps.
    parts: [Form; 3],
    /// Columns by tokens, and that with padding.
    turned: Form,
    padded: Form,
    /// `[b, s, columns]` of values, and of inputs or readouts.
    columns: [Form; 2],
    /// `[b, s, heads, width]` of the same.
    heads: [Form; 2],
}

impl Forms {
    fn new(build: &Build<'_>, sizes: &Sizes, mixer: &Mixer) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let columns = Dim("columns of the convolution", mixer.conv_dim());
        let padding =
            Dim("tokens and padding", s.1.saturating_add(sizes.kernel.1).saturating_sub(1));
        let groups = Dim("groups of the state", mixer.num_key_heads);
        Self {
            parts: [sizes.inner, columns, sizes.heads].map(|width| tape.form([b, s, width])),
            turned: tape.form([b, columns, s]),
            padded: tape.form([b, columns, padding]),
            columns: [sizes.inner, sizes.keys].map(|width| tape.form([b, s, width])),
            heads: [
                tape.form([b, s, sizes.heads, sizes.head]),
                tape.form([b, s, groups, sizes.state]),
            ],
        }
    }
}

impl Mamba2 {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let forms = Forms::new(build, &sizes, mixer);
        tape.at("State", source);
        let [step, decay, skip] =
            ["step's bias", "decay", "skip"].map(|name| build.vector(name, sizes.heads));
        let all = Dim("columns of the convolution", mixer.conv_dim());
        let convolution = (
            build.parameter("convolution", [all, sizes.kernel]),
            Some(build.vector("convolution's bias", all)),
        );
        tape.at("Projection into the state", source);
        let columns = sizes.all_columns(MixerKind::Mamba2);
        let made = tape.form([build.with.b(), build.with.s(), columns]);
        let input = build.linear(("columns into the state", None), (columns, sizes.hidden), made);
        tape.at("State", source);
        let scale = (mixer.kind == MixerKind::Mamba2).then(|| build.vector("scale", sizes.inner));
        let groups = Dim("groups of the state", mixer.num_key_heads);
        let width = Dim("columns of a group", mixer.inner() / mixer.num_key_heads.max(1));
        let rows = |last| tape.form([build.with.b(), build.with.s(), groups, last]);
        let behind = Behind { scale, groups: rows(width), rows: rows(Dim("row", 1)) };
        tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let scan = ChunkScan::new(build, &sizes, mixer, [step, skip]);
        let scaled = build.model().family.modules().scales_branches;
        let factors = scaled.then_some(build.with.made_in);
        if let Some(format) = factors {
            tape.buffer("factors of the columns", tape.form([columns]), format);
        }
        Self { input, decay, convolution, scan, behind, output, factors, forms, source }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let scaled = self.factors.map(|_| x.clone().apply(SCALE).named("scaled input"));
        let mut projected =
            self.input.run(scaled.as_ref().unwrap_or(x)).named("columns into the state");
        if let Some(format) = self.factors {
            projected = { projected }.times_buffer(format).named("scaled columns");
        }
        tape.at("State", self.source);
        let decay = tape.read(self.decay).cast(FP32).apply(EXP).apply(SCALE).named("decay");
        let [gate, columns, steps] = projected.clone().split(self.forms.parts);
        let columns =
            convolved(&columns.swap(self.forms.turned, true), self.convolution, self.forms.padded);
        let columns = columns.swap(self.forms.parts[1], true);
        let [of_values, of_groups] = self.forms.columns;
        let [values, input, readout] = columns.clone().split([of_values, of_groups, of_groups]);
        let [heads, groups] = self.forms.heads;
        let scanned = {
            let (values, input, readout) = (
                values.clone().view(heads),
                input.clone().view(groups),
                readout.clone().view(groups),
            );
            self.scan.run(tape, [&values, &steps, &decay, &input, &readout])
        };
        let scanned = scanned.in_parts(of_values);
        let normed = self.behind.run(&{ scanned }, &gate);
        tape.at("Projection out of the state", self.source);
        self.output.run(&normed.clone().cast_as(x.dtype(), "state output"))
    }
}

impl Behind {
    /// `MambaRMSNormGated`; the gate alone where there is no norm.
    fn run<'t>(&self, x: &Var<'t>, gate: &Var<'t>) -> Var<'t> {
        let format = x.dtype();
        let Some(scale) = self.scale else { return x.clone().mul(gate.clone().apply(SILU)) };
        let gated = x
            .clone()
            .mul(gate.clone().cast_as(FP32, "gate in fp32").apply(SILU))
            .named("gated values");
        let groups = gated.clone().view(self.groups);
        let variance = groups.clone().apply(POWER).reduce(self.rows);
        let normed = groups.mul(variance.clone().plus().apply(RSQRT).named("norm statistics"));
        drop(gated);
        let form = x.form();
        x.tape()
            .read(scale)
            .mul(normed.clone().in_parts(form).cast_as(format, "unscaled norm output"))
            .named("norm output")
    }
}
