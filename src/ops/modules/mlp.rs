//! The feed-forward layer.

use super::{Build, Linear, Part};
use crate::config::{HiddenAct, MlpKind};
use crate::ops::tape::{GELU, Order, POWER, RELU, SCALE, SIGMOID, SILU, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// The activation function, by the operators that run for it.
pub(super) fn activation<'t>(kind: HiddenAct, x: &Var<'t>) -> Var<'t> {
    let input = || x.clone();
    match kind {
        HiddenAct::Silu => input().apply(SILU),
        HiddenAct::Gelu => input().apply(GELU),
        HiddenAct::Relu => input().apply(RELU),
        HiddenAct::Relu2 => input().apply(RELU).apply(POWER),
        HiddenAct::QuickGelu => input().mul(input().apply(SCALE).apply(SIGMOID)),
        // 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
        HiddenAct::GeluNew | HiddenAct::GeluFast => {
            let half = input().apply(SCALE);
            let cubic = input().apply(POWER).apply(SCALE);
            half.mul(input().add(cubic).apply(SCALE).apply(TANH).plus())
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
    names: [&'static str; 2],
}

impl Mlp {
    pub fn new(build: &Build<'_>) -> Self {
        Self::sized(build, build.with.ffn(), ["Feed-forward up", "Feed-forward down"])
    }

    /// A feed-forward layer of that inner width, and what its two halves are called.
    pub fn sized(build: &Build<'_>, inner: Dim, names: [&'static str; 2]) -> Self {
        let (with, model) = (build.with, build.model());
        let (h, inner) = (with.h(), with.share(Part::FeedForward, inner));
        let form = build.tape.form([with.b(), with.s(), inner]);
        let bias = |name| model.mlp_bias.then_some(name);
        build.tape.at(names[0], sources::PYTORCH_AUTOGRAD);
        let gated = model.mlp == MlpKind::Gated;
        let gate = gated.then(|| build.column(Part::FeedForward, ("gate weight", bias("gate bias")), (inner, h), form));
        let up = build.column(Part::FeedForward, ("up weight", bias("up bias")), (inner, h), form);
        build.tape.at(names[1], sources::PYTORCH_AUTOGRAD);
        let down = build.row(Part::FeedForward, ("down weight", bias("down bias")), (h, inner), build.shapes.hidden);
        Self { gate, up, down, act: model.hidden_act, fused: build.kernels().fuses_gated_activation, names }
    }

    /// The feed-forward layer's contribution.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let inner = match &self.gate {
            Some(gate) if self.fused => {
                let (gate, up) = (gate.run(x).named("gate output"), self.up.run(x).named("up output"));
                let results = [("down input", gate.form(), gate.dtype())];
                tape.kernel(&[&gate, &up], &results, 0, (Order::Plain, false, 0.0))
            }
            Some(gate) => {
                let gate = activation(self.act, &gate.run(x).named("gate output"));
                gate.mul(self.up.run(x).named("up output")).named("down input")
            }
            None => activation(self.act, &self.up.run(x).named("up output")).named("down input"),
        };
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
        self.down.run(&inner)
    }

    /// Up, activation and down written into a block: each tensor is let go when the next has taken its name.
    pub fn in_line<'t>(&self, tape: &'t Tape, x: Var<'t>) -> Var<'t> {
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let up = self.up.run(&{ x }).named("up output");
        let inner = activation(self.act, &{ up }).named("down input");
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
        self.down.run(&{ inner })
    }
}
