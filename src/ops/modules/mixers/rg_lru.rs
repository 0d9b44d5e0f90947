//! A gated linear recurrence of every channel (`RecurrentGemmaRecurrentBlock` in
//! `models/recurrent_gemma/modeling_recurrent_gemma.py`): its gates are matrices of each head, and
//! its outputs are written token by token into one tensor.

use super::super::mlp::Activation;
use super::super::state::{Sizes, source};
use super::super::{Build, FP32, Linear};
use super::turns::{more, turns};
use crate::config::Mixer;
use crate::ops::tape::{EXP, Form, Param, SCALE, SIGMOID, SOFTPLUS, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources::Source;
use crate::units::DType;

/// Memory that forward of `SqrtBoundDerivative` takes: for the root.
const ROOT: &[i8] = &[1];
/// Memory that its backward takes and frees: for four times the operand, which is kept within
/// limits, the root of that, and the quotient.
const BOUND: &[i8] = &[1, 2, -1, 3, 4, -3, -2];

/// A layer that keeps a number for every channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct RgLru {
    gate: Linear,
    input: Linear,
    act: Activation,
    convolution: (Param, Option<Param>),
    decay: Param,
    /// Weights and biases of the input's gate and of the recurrence's.
    gates: [(Param, Param); 2],
    output: (Linear, Param),
    forms: Forms,
    tokens: u64,
    source: Source,
}

/// Shapes on the way to the recurrence and in it.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, d, s]`, and that with padding.
    turned: Form,
    padded: Form,
    /// `[b, s, d]`, by heads `[b, s, a, p]`, and `[a, b · s, p]`.
    rows: Form,
    by_heads: Form,
    matrices: Form,
    /// `[s]`: which tokens begin a text.
    begins: Form,
    /// `[b, d]` of one token.
    state: Form,
    /// True if there are several sequences; below, if there are several heads.
    several: bool,
    heads: bool,
}

impl RgLru {
    pub fn new(build: &Build<'_>, mixer: &Mixer) -> Self {
        let (sizes, source, tape) = (Sizes::of(build.with, mixer), source(mixer.kind), build.tape);
        let (b, s) = (build.with.b(), build.with.s());
        let padded =
            Dim("tokens and padding", s.1.saturating_add(sizes.kernel.1).saturating_sub(1));
        let forms = Forms {
            turned: tape.form([b, sizes.inner, s]),
            padded: tape.form([b, sizes.inner, padded]),
            rows: tape.form([b, s, sizes.inner]),
            by_heads: tape.form([b, s, sizes.heads, sizes.head]),
            matrices: tape.form([sizes.heads, Dim("tokens", b.1.saturating_mul(s.1)), sizes.head]),
            begins: tape.form([s]),
            state: tape.form([b, sizes.inner]),
            several: b.1 > 1,
            heads: sizes.heads.1 > 1,
        };
        tape.at("Projection into the state", source);
        let into = |names| build.linear(names, (sizes.inner, sizes.hidden), forms.rows);
        let gate = into(("state gate weight", Some("gate bias")));
        let input = into(("state input weight", Some("input bias")));
        tape.at("Projection out of the state", source);
        let output = build.linear(
            ("state output weight", None),
            (sizes.hidden, sizes.inner),
            build.shapes.hidden,
        );
        let bias = build.vector("output bias", sizes.hidden);
        tape.at("State", source);
        let convolution = build.parameter("convolution of values", [sizes.inner, sizes.kernel]);
        let convolution = (convolution, Some(build.vector("convolution's bias", sizes.inner)));
        let decay = build.vector("decay", sizes.inner);
        let of_gate = |weight, bias| {
            (build.parameter(weight, [sizes.inner, sizes.head]), build.vector(bias, sizes.inner))
        };
        let gates = [
            of_gate("input gate weight", "input gate bias"),
            of_gate("recurrent gate weight", "recurrent gate bias"),
        ];
        let act = Activation::of(build.model().hidden_act);
        Self {
            gate,
            input,
            act,
            convolution,
            decay,
            gates,
            output: (output, bias),
            forms,
            tokens: s.1,
            source,
        }
    }

    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        // The block calls its norm's output by a name of its own.
        held.push(x.clone());
        tape.at("Projection into the state", self.source);
        let first = tape.recorded();
        let gate = self.act.run(&{ self.gate.run(x).named("gate input") }).named("gate");
        let behind = tape.recorded();
        let values = self.input.run(x).named("values").heads(self.forms.turned, self.forms.several);
        tape.at("State", self.source);
        let values = values.convolved(self.convolution, self.forms.padded).slice(self.forms.turned);
        let values = values.view(self.forms.rows);
        let output = self.recurrence(tape, &values);
        if tape.recorded() > 0 {
            // The module's last state holds the graph that made it, where backward never comes,
            // until the module runs again.
            tape.hold_recorded(0..first);
            tape.hold_recorded(behind..tape.recorded());
        }
        tape.at("Projection out of the state", self.source);
        let gated = output.clone().mul(gate.clone()).named("gated state output");
        // Memory holds it by channels, which a product of several sequences does not read.
        let gated = if self.forms.several { gated.copy() } else { gated };
        let (projection, bias) = &self.output;
        projection.run(&gated).add(tape.weight(*bias))
    }

    /// Both gates of a token's values, and what they decay by.
    fn recurrence<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        let _begins = tape.constant("first tokens", self.forms.begins, DType::Mask);
        let others = || tape.constant("tokens that are not first", self.forms.begins, DType::Mask);
        let rows =
            if self.forms.several { x.clone().copy().named("values in order") } else { x.clone() };
        let seen = rows.view(self.forms.by_heads).swap(self.forms.matrices, self.forms.heads);
        let product =
            |(weight, bias)| seen.clone().biased_matrices((weight, bias), self.forms.matrices);
        let first = product(self.gates[0]);
        let input_gate = self.opened(&first).named("input gate");
        let second = product(self.gates[1]);
        drop(first);
        let recurrent = self.opened(&second).named("recurrent gate");
        let rate = tape.read(self.decay).apply(SOFTPLUS);
        let log = recurrent.clone().apply(SCALE).mul(rate).named("logarithm of the decay");
        let decay = log.clone().apply(EXP).named("decay");
        drop(recurrent);
        let square = log.clone().apply(SCALE).apply(EXP).named("square of the decay");
        let gated = x.clone().mul(input_gate.clone()).named("gated values");
        let root = square.clone().apply(SCALE).scripted("root of the rest", ROOT, BOUND);
        let factor = others().mul(root.clone()).plus().named("factor of values");
        drop(root);
        let written = gated.clone().mul(factor.clone().cast(x.dtype())).named("written values");
        let decay = decay.clone().mul(others()).named("decay from token to token");
        self.scan(tape, &decay, &written)
    }

    /// A gate of what its matrices made.
    fn opened<'t>(&self, made: &Var<'t>) -> Var<'t> {
        let rows = made.clone().swap(self.forms.by_heads, self.forms.heads);
        let rows = if self.forms.heads { rows.copy() } else { rows };
        rows.view(self.forms.rows).apply(SIGMOID)
    }

    /// From token to token: outputs `[b, s, d]`.
    fn scan<'t>(&self, tape: &'t Tape, decay: &Var<'t>, written: &Var<'t>) -> Var<'t> {
        let format = written.dtype();
        let mut state = tape.constant("state", self.forms.state, FP32);
        let mut outputs = tape.constant("outputs of all tokens", self.forms.rows, format);
        for tokens in turns(self.tokens) {
            let casts = decay.dtype() != FP32;
            let faded =
                decay.clone().slice(self.forms.state).cast_as(FP32, "decay in fp32").mul(state);
            if tokens > 1 {
                let further = more(tape, tokens, self.forms.state);
                faded.saves(&tape.constant("states of several tokens", further, FP32));
                if casts {
                    faded.saves(&tape.constant("decays of several tokens", further, FP32));
                }
            }
            state = faded
                .add(
                    written.clone().slice(self.forms.state).cast_as(FP32, "written values in fp32"),
                )
                .named("state");
            outputs = outputs.fill(&state.clone().cast(format));
        }
        if tape.recorded() == 0 {
            // The module keeps the last state until it runs again.
            state.named("last state").kept();
        }
        outputs
    }
}
