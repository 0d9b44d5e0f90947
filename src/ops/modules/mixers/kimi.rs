//! Linear attention with a decay for every channel (`KimiLinearDeltaAttention` in
//! `models/kimi_linear/modeling_kimi_linear.py`).

use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::channel_rule::ChannelRule;
use super::delta::convolved;
use crate::config::{Mixer, MixerKind};
use crate::ops::tape::{EXP, Form, LOG, POWER, Param, RSQRT, SCALE, SIGMOID, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;
use crate::units::DType;

/// A layer that keeps a state whose every channel has a decay.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Kimi {
    /// Queries, keys and values.
    wide: [Linear; 3],
    convolution: Param,
    /// Into the narrow space of decays, where there is one, and out of it; the same of the gate.
    decays: (Option<Linear>, Linear),
    gate: (Option<Linear>, Linear),
    /// Decays are kept within limits by a sigmoid, and are made by one matrix.
    whole: bool,
    step: Param,
    decay: Param,
    strength: Linear,
    scale: Param,
    output: Linear,
    rule: ChannelRule,
    forms: Forms,
    source: Source,
}

/// Shapes on the way to the rule and from it.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, columns]` of queries, keys and values together, the other way round, and that with
    /// padding.
    mixed: Form,
    turned: Form,
    padded: Form,
    /// `[b, s, n · d]`, `[b, s, n, d]`, `[b, s, n, 1]`.
    columns: Form,
    heads: Form,
    rows: Form,
}

/// Runs `x` through the narrow pair, or through one matrix.
fn through<'t>((into, out): &(Option<Linear>, Linear), x: &Var<'t>) -> Var<'t> {
    match into {
        Some(into) => out.run(&into.run(x)),
        None => out.run(x),
    }
}

impl Kimi {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (b, s) = (build.with.b(), build.with.s());
        let all = Dim("columns of the convolution", mixer.conv_dim());
        let padding =
            Dim("tokens and padding", s.1.saturating_add(sizes.kernel.1).saturating_sub(1));
        let forms = Forms {
            mixed: tape.form([b, s, all]),
            turned: tape.form([b, all, s]),
            padded: tape.form([b, all, padding]),
            columns: tape.form([b, s, sizes.inner]),
            heads: tape.form([b, s, sizes.heads, sizes.head]),
            rows: tape.form([b, s, sizes.heads, Dim("row", 1)]),
        };
        let linear = |name, width: Dim, input: Dim| {
            build.linear((name, None), (width, input), tape.form([b, s, width]))
        };
        tape.at("Projection into the state", source);
        let wide = ["state query weight", "state key weight", "state value weight"];
        let wide = wide.map(|name| linear(name, sizes.inner, sizes.hidden));
        tape.at("State", source);
        let convolution = build.parameter("convolution", [all, sizes.kernel]);
        let step = build.vector("step's bias", sizes.inner);
        let decay = build.vector("decay", sizes.heads);
        tape.at("Projection into the state", source);
        let whole = mixer.kind == MixerKind::KimiWhole;
        let pair = |[narrow, wide, one]: [&'static str; 3]| {
            if whole {
                return (None, linear(one, sizes.inner, sizes.hidden));
            }
            let into = linear(narrow, sizes.head, sizes.hidden);
            (Some(into), linear(wide, sizes.inner, sizes.head))
        };
        let decays = pair(["narrow decay weight", "wide decay weight", "state decay weight"]);
        let strength = linear("state strength weight", sizes.heads, sizes.hidden);
        let gate = pair(["narrow gate weight", "wide gate weight", "state gate weight"]);
        tape.at("State", source);
        let scale = build.vector("scale", sizes.head);
        tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let rule = ChannelRule::new(build, &sizes);
        Self {
            wide,
            convolution,
            decays,
            gate,
            whole,
            step,
            decay,
            strength,
            scale,
            output,
            rule,
            forms,
            source,
        }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Projection into the state", self.source);
        let Forms { mixed, turned, padded, columns, heads, .. } = self.forms;
        let mut all = {
            let [query, key, value] = self.wide.map(|linear| linear.run(x));
            Var::joined([&query, &key, &value], mixed).swap(turned, true)
        };
        tape.at("State", self.source);
        all = convolved(&{ all }, (self.convolution, None), padded);
        // A slice of all tokens is one all the same; where projections are whole, there is none.
        if !self.whole {
            all = all.slice(turned);
        }
        let parts = all.clone().swap(mixed, true).split([columns; 3]);
        let [query, key, value] = parts.map(|part| part.view(heads));
        let decays = if self.whole { self.forgotten_within_limits(x) } else { self.forgotten(x) };
        let strength = self.strength.run(x).apply(SIGMOID).named("strength of an update");
        let core = self.rule.run(tape, [&query, &key, &value, &decays, &strength]);
        let gate = through(&self.gate, x).named("gate").view(heads);
        let normed = self.normed(&core, &gate);
        tape.at("Projection out of the state", self.source);
        self.output.run(&normed.in_parts(columns))
    }

    /// `KimiLinearForgetGate`: the logarithm of what each channel keeps.
    fn forgotten<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let tape = x.tape();
        let made = through(&self.decays, x);
        let steps =
            made.clone().cast(FP32).add(tape.read(self.step).cast(FP32)).view(self.forms.heads);
        let decay = tape.read(self.decay).cast(FP32);
        let rate = decay.clone().apply(EXP);
        let large = tape.constant("large steps", steps.form(), DType::Mask);
        let softened = steps.clone().apply(EXP).plus().apply(LOG);
        let softened = steps.clone().chosen(&{ softened }, &large);
        rate.clone().apply(SCALE).mul(softened.clone()).named("decays")
    }

    /// `BailingHybridForgetGate`: the same by a sigmoid, in the format of hidden states.
    fn forgotten_within_limits<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let tape = x.tape();
        let mut steps = self.decays.1.run(x).cast(FP32).view(self.forms.heads);
        steps = steps.clone().add(tape.read(self.step));
        let rate = tape.read(self.decay).apply(EXP);
        let gate = rate.clone().mul(steps.clone()).apply(SIGMOID).apply(SCALE).named("decays");
        gate.clone().cast_as(x.dtype(), "decays")
    }

    /// `KimiLinearRMSNormGated`: all in fp32, the norm before the gate.
    fn normed<'t>(&self, x: &Var<'t>, gate: &Var<'t>) -> Var<'t> {
        let mut hidden = x.clone().cast_as(FP32, "norm input in fp32");
        let variance = hidden.clone().apply(POWER).reduce(self.forms.rows);
        hidden = hidden.clone().mul(variance.clone().plus().apply(RSQRT).named("norm statistics"));
        hidden = x.tape().read(self.scale).cast(FP32).mul(hidden.clone());
        hidden = hidden.clone().mul(gate.clone().cast_as(FP32, "gate in fp32").apply(SIGMOID));
        hidden.clone().cast_as(x.dtype(), "norm output")
    }
}
