//! The feed-forward layer.

use super::{Build, Linear};
use crate::config::{HiddenAct, MlpKind};
use crate::ops::tape::{GELU, POWER, RELU, SCALE, SIGMOID, SILU, TANH, Tape, Var};
use crate::sources;

/// The activation function, by the operators that run for it.
pub(super) fn activation<'t>(kind: HiddenAct, x: Var<'t>) -> Var<'t> {
    match kind {
        HiddenAct::Silu => x.apply(SILU),
        HiddenAct::Gelu => x.apply(GELU),
        HiddenAct::Relu => x.apply(RELU),
        HiddenAct::Relu2 => x.apply(RELU).apply(POWER),
        HiddenAct::QuickGelu => {
            let gate = x.clone().apply(SCALE).apply(SIGMOID);
            x.mul(gate)
        }
        // 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
        HiddenAct::GeluNew | HiddenAct::GeluFast => {
            let half = x.clone().apply(SCALE);
            let cubic = x.clone().apply(POWER).apply(SCALE);
            let inner = x.add(cubic).apply(SCALE).apply(TANH).apply(SCALE);
            half.mul(inner)
        }
    }
}

/// Up (and gate), activation, down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mlp {
    gate: Option<Linear>,
    up: Linear,
    down: Linear,
    act: HiddenAct,
    fused: bool,
}

impl Mlp {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model) = (build.with, build.model());
        let (h, inner, form) = (with.h(), with.local(with.ffn()), build.shapes.inner);
        let bias = |name| model.mlp_bias.then_some(name);
        build.tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let gated = model.mlp == MlpKind::Gated;
        let gate = gated.then(|| build.linear(("gate weight", bias("gate bias")), (inner, h), form));
        let up = build.linear(("up weight", bias("up bias")), (inner, h), form);
        build.tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let down = build.linear(("down weight", bias("down bias")), (h, inner), build.shapes.hidden);
        Self { gate, up, down, act: model.hidden_act, fused: build.fused() }
    }

    /// The feed-forward layer's contribution.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let inner = match &self.gate {
            Some(gate) if self.fused => {
                let (gate, up) = (gate.run(x).named("gate output"), self.up.run(x).named("up output"));
                let results = [("down input", gate.form(), gate.dtype())];
                tape.kernel(&[&gate, &up], &results, 0, (false, false, 0.0))
            }
            Some(gate) => {
                let gate = activation(self.act, gate.run(x).named("gate output"));
                gate.mul(self.up.run(x).named("up output")).named("down input")
            }
            None => activation(self.act, self.up.run(x).named("up output")).named("down input"),
        };
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        self.down.run(&inner)
    }
}
