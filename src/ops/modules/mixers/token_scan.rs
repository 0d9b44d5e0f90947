//! A state for every channel, taken from token to token (`mamba_selective_scan` in
//! `models/mamba/modeling_mamba.py`, the same in every family with Mamba's layers).

use super::super::{Build, FP32};
use super::turns::{more, turns};
use crate::config::Mixer;
use crate::ops::tape::{EXP, Form, SILU, SOFTPLUS, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// A scan's operands: values `[b, d, s]`, steps of the same shape, decays `[d, n]`, inputs and
/// readouts `[b, s, n]`, gates.
pub(super) type Operands<'a, 't> = [&'a Var<'t>; 6];

/// The scan over one layer's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenScan {
    tokens: u64,
    forms: Forms,
}

/// Shapes of the scan.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, d, s, n]`.
    all: Form,
    /// `[b, d, s]`.
    values: Form,
    /// `[b, d, n]`, `[b, n]`, `[b, d]` of one token.
    state: Form,
    readout: Form,
    output: Form,
}

impl TokenScan {
    /// A scan of so many channels.
    pub fn new(build: &Build<'_>, inner: Dim, mixer: &Mixer) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let state = Dim("state_size", mixer.state_size);
        let forms = Forms {
            all: tape.form([b, inner, s, state]),
            values: tape.form([b, inner, s]),
            state: tape.form([b, inner, state]),
            readout: tape.form([b, state]),
            output: tape.form([b, inner]),
        };
        Self { tokens: s.1, forms }
    }

    /// The scan's gated output `[b, d, s]`, with the steps' bias and the scale of values that are
    /// skipped, both in fp32.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        [values, steps, decay, input, readout, gate]: Operands<'_, 't>,
        [bias, skip]: [Var<'t>; 2],
    ) -> Var<'t> {
        let format = values.dtype();
        let steps = { steps.clone().add(bias.clone().cast(steps.dtype())) };
        let steps = { steps }.apply(SOFTPLUS).named("steps");
        let decays = decay
            .clone()
            .outer(steps.clone(), self.forms.all)
            .apply(EXP)
            .named("decays of all tokens");
        let written = steps
            .clone()
            .outer(input.clone().cast_as(FP32, "inputs in fp32"), self.forms.all)
            .named("written inputs");
        let updates = written
            .clone()
            .mul(values.clone().cast_as(FP32, "values in fp32"))
            .named("updates of all tokens");
        let (mut outputs, mut held) = (Vec::new(), Vec::new());
        let mut state = tape.constant("state", self.forms.state, format);
        for tokens in turns(self.tokens) {
            let faded = decays.clone().slice(self.forms.state).mul(state.clone());
            if tokens > 1 && decays.wants_gradient() {
                faded.saves(&tape.constant(
                    "states of several tokens",
                    more(tape, tokens, self.forms.state),
                    FP32,
                ));
            }
            state = faded.add(updates.clone().slice(self.forms.state)).named("state");
            let read = readout.clone().slice(self.forms.readout);
            let seen = state.clone().cast(format).matrices(read, self.forms.output, false);
            if tokens > 1 {
                self.keeps_more(tape, &seen, (&state, readout, format), tokens);
                held.push(tape.constant(
                    "outputs of several tokens",
                    more(tape, tokens, self.forms.output),
                    format,
                ));
            }
            outputs.push(seen.slice(self.forms.output));
        }
        let scanned = Var::stacked(&outputs, self.forms.values).unwrap_or_else(|| values.clone());
        let scanned = scanned.add(values.clone().mul(skip.clone()));
        scanned.clone().mul(gate.clone().apply(SILU)).named("gated values")
    }
    /// Tensors that the products of all but one of a turn's tokens keep: states and readouts in
    /// their format, where they were cast.
    fn keeps_more(
        &self,
        tape: &Tape,
        seen: &Var<'_>,
        (state, readout, format): (&Var<'_>, &Var<'_>, DType),
        tokens: u64,
    ) {
        tape.count_product(
            more(tape, tokens, self.forms.output),
            tape.last_dim(self.forms.state).1,
        );
        let casts = [
            (state.dtype(), readout.wants_gradient(), self.forms.state),
            (readout.dtype(), state.wants_gradient(), self.forms.readout),
        ];
        for (_, _, form) in casts.into_iter().filter(|(own, kept, _)| *own != format && *kept) {
            seen.saves(&tape.constant("casts of several tokens", more(tape, tokens, form), format));
        }
    }
}
