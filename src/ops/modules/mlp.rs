//! The feed-forward layer.

use super::norm::Norm;
use super::shared::{Narrow, narrowed};
use super::{Build, Linear, Part, Shapes};
use crate::config::{FeedForwardStyle, HiddenAct, MlpKind};
use crate::ops::tape::{
    Attends, ERF, EXPM1, Form, GELU, Order, POWER, Param, RELU, SCALE, SIGMOID, SILU, SOFTPLUS,
    TANH, Tape, Var,
};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The activation function, with the numbers that it learns and registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    kind: HiddenAct,
    /// `gelu` is written out.
    written: bool,
    /// The curvatures of xIELU, above and below 0.
    learned: Option<[Param; 2]>,
}

impl Activation {
    pub fn new(build: &Build<'_>) -> Self {
        let kind = build.model().hidden_act;
        let one = || [Dim("one", 1)];
        let learned = (kind == HiddenAct::Xielu).then(|| {
            for name in ["beta", "eps"] {
                build.tape.buffer(name, build.shapes.scalar, build.with.made_in);
            }
            ["alpha_p", "alpha_n"].map(|name| build.parameter(name, one()))
        });
        Self { kind, written: build.model().family.modules().encoder.writes_gelu, learned }
    }

    /// A function without numbers that it learns.
    pub const fn of(kind: HiddenAct) -> Self {
        Self { kind, written: false, learned: None }
    }

    /// The function of `x`, by the operators that run for it.
    pub fn run<'t>(self, x: &Var<'t>) -> Var<'t> {
        let input = || x.clone();
        match self.kind {
            HiddenAct::Silu => input().apply(SILU),
            // x · 0.5 · (1 + erf(x / √2))
            HiddenAct::Gelu if self.written => {
                let half = input().apply(SCALE);
                half.mul(input().apply(SCALE).apply(ERF).plus())
            }
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
            HiddenAct::Xielu => self.learned.map_or_else(input, |learned| xielu(x, learned)),
        }
    }
}

/// `XIELUActivation`: `αp · x² + β · x` above 0, else `(eˣ - 1 - x) · αn + β · x`.
fn xielu<'t>(x: &Var<'t>, [positive, negative]: [Param; 2]) -> Var<'t> {
    let tape = x.tape();
    let alpha_p = tape.read(positive).apply(SOFTPLUS);
    let alpha_n = tape.read(negative).apply(SOFTPLUS).plus();
    let above = tape.constant("above 0", x.form(), DType::Mask);
    let parabola = alpha_p.clone().mul(x.clone()).mul(x.clone());
    let parabola = parabola.add(x.clone().apply(SCALE));
    let exponential = x.clone().at_most().apply(EXPM1).sub(x.clone()).mul(alpha_n.clone());
    let exponential = exponential.add(x.clone().apply(SCALE));
    parabola.chosen(&exponential, &above)
}

/// The gate of a feed-forward layer.
#[derive(Clone, Copy, Debug)]
enum Gate {
    None,
    /// A matrix of its own.
    Own(Linear),
    /// The first half of `up`'s output; the shape of a half.
    WithUp(Form),
}

/// Up (and gate), activation, down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mlp {
    gate: Gate,
    up: Linear,
    down: Linear,
    act: Activation,
    /// A norm before `down`.
    last_norm: Option<Norm>,
    fused: bool,
    /// Fused, and gradients are written over gate and up.
    over: bool,
    /// Inner values are cast to the format of `down`'s weight.
    as_weights: bool,
    /// Gate and output are scaled.
    scaled: bool,
    /// Gate and up are kept within limits, and the gate is scaled before its sigmoid.
    limited: bool,
    /// Both are kept within limits before the activation function.
    clamped: bool,
    names: [&'static str; 2],
    shapes: Shapes,
    /// A pair of matrices whose output is added to gate and up.
    addition: Option<Narrow>,
}

impl Mlp {
    pub fn new(build: &Build<'_>) -> Self {
        Self::sized(build, build.with.ffn(), ["Feed-forward up", "Feed-forward down"])
    }

    /// A feed-forward layer of that inner width, and the names of its two halves.
    pub fn sized(build: &Build<'_>, inner: Dim, names: [&'static str; 2]) -> Self {
        let (with, model) = (build.with, build.model());
        let (h, inner) = (with.h(), with.share(Part::FeedForward, inner));
        let form = build.tape.form([with.b(), with.s(), inner]);
        let down_alone =
            model.family.modules().feed_forward == FeedForwardStyle::SeparateBiasedDown;
        let bias = |name| (model.mlp_bias && !down_alone).then_some(name);
        build.tape.at(names[0], sources::PYTORCH_AUTOGRAD);
        let style = model.family.modules().feed_forward;
        let limited = style == FeedForwardStyle::JointWithinLimits;
        let joint = limited || style == FeedForwardStyle::JointGateAndUp;
        let column = |names, width, form| build.column(Part::FeedForward, names, (width, h), form);
        let gate = match model.mlp {
            MlpKind::Plain => Gate::None,
            MlpKind::Gated if joint => Gate::WithUp(form),
            MlpKind::Gated => Gate::Own(column(("gate weight", bias("gate bias")), inner, form)),
        };
        let up = match gate {
            Gate::WithUp(_) => {
                let both = Dim("gate and up width", inner.1.saturating_mul(2));
                column(
                    ("gate and up weight", bias("gate and up bias")),
                    both,
                    build.tape.form([with.b(), with.s(), both]),
                )
            }
            Gate::None | Gate::Own(_) => column(("up weight", bias("up bias")), inner, form),
        };
        build.tape.at(names[1], sources::PYTORCH_AUTOGRAD);
        let down = build.row(
            Part::FeedForward,
            ("down weight", model.mlp_bias.then_some("down bias")),
            (h, inner),
            build.shapes.hidden,
        );
        let normed = model.family.modules().norms_before_last_products;
        let last_norm = normed.then(|| Norm::new(build, inner, build.shapes.rows));
        let kernels = build.kernels();
        Self {
            gate,
            up,
            down,
            act: Activation::new(build),
            last_norm,
            fused: kernels.fuses_gated_activation,
            over: kernels.fuses_gated_activation && kernels.writes_over,
            as_weights: model.family.modules().feeds_as_weights,
            scaled: model.family.modules().scales_branches,
            limited,
            clamped: model.family.modules().experts.limits_gates,
            names,
            shapes: build.shapes,
            addition: None,
        }
    }

    /// This layer, with the terms that a layer of its own adds to gate and up.
    pub fn adding(self, addition: Narrow) -> Self {
        Self { addition: Some(addition), ..self }
    }

    /// The feed-forward layer's contribution.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let x = &self.shapes.gathered(x);
        // The half of a joint product that is the gate keeps its name to the end.
        let mut _half = None;
        let inner = match &self.gate {
            Gate::Own(gate) if self.over => {
                let (gate, up) =
                    (gate.run(x).named("gate output"), self.up.run(x).named("up output"));
                tape.gated_in_place(&gate, &up)
            }
            Gate::Own(gate) if self.fused => {
                let (gate, up) =
                    (gate.run(x).named("gate output"), self.up.run(x).named("up output"));
                let results = [("down input", gate.form(), gate.dtype())];
                tape.kernel(&[&gate, &up], &results, 0, (Order::Plain, false, Attends::No))
            }
            Gate::WithUp(half) if self.over => {
                let (inner, gate) = self.by_copies(tape, x, *half);
                _half = Some(gate);
                inner
            }
            Gate::WithUp(half) if self.limited => return self.within_limits(tape, x, *half),
            Gate::WithUp(half) => {
                let mut both = self.up.run(x).named("gate and up output");
                if let Some(addition) = &self.addition {
                    both = both.clone().add(narrowed(addition, x)).named("gate and up output");
                }
                let [gate, up] = both.split([*half; 2]);
                let inner = up.mul(self.act.run(&gate)).named("down input");
                _half = Some(gate);
                inner
            }
            Gate::Own(gate) if self.scaled => {
                let up = self.up.run(x).named("up output");
                up.mul(self.act.run(&gate.run(x).apply(SCALE).named("gate output")))
                    .named("down input")
            }
            Gate::Own(gate) if self.clamped => {
                let gate = gate.run(x).clamp(1).named("gate output");
                let up = self.up.run(x).clamp(2).named("up output");
                let inner = self.act.run(&gate).mul(up.clone()).named("down input");
                tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
                return self.down.run(&inner);
            }
            Gate::Own(gate) => {
                let gate = self.act.run(&gate.run(x).named("gate output"));
                gate.mul(self.up.run(x).named("up output")).named("down input")
            }
            Gate::None => self.act.run(&self.up.run(x).named("up output")).named("down input"),
        };
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
        let inner = if self.as_weights {
            { inner }.cast_as(tape.read(self.down.weight).dtype(), "down input")
        } else {
            inner
        };
        let output = match &self.last_norm {
            Some(norm) => self.down.run(&norm.run(&{ inner })),
            None => self.down.run(&inner),
        };
        if self.scaled { output.apply(SCALE) } else { output }
    }

    /// The kernel reads copies of both halves of a joint product, each in one piece; the answer has
    /// the half that keeps its name to the end.
    fn by_copies<'t>(&self, tape: &'t Tape, x: &Var<'t>, half: Form) -> (Var<'t>, Var<'t>) {
        let both = self.up.run(x).named("gate and up output");
        let [gate, up] = both.split([half; 2]);
        let copies = (gate.clone().copy(), up.copy());
        let named = (copies.0.named("gate output"), copies.1.named("up output"));
        (tape.gated_in_place(&named.0, &named.1), gate)
    }

    /// `(up + 1) · gate · sigmoid(α · gate)`, both kept within limits first; every one of them
    /// keeps its name to the end.
    fn within_limits<'t>(&self, tape: &'t Tape, x: &Var<'t>, half: Form) -> Var<'t> {
        let joint = self.up.run(x).named("gate and up output");
        let [gate, up] = joint.clone().split([half; 2]);
        let gate = gate.clamp(1);
        let up = up.clamp(2);
        let gated = gate.clone().mul(gate.clone().apply(SCALE).apply(SIGMOID));
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
        let inner = up.clone().plus().mul(gated.clone()).named("down input");
        self.down.run(&inner)
    }

    /// Up, activation and down written into a block: each tensor is freed when the next has taken
    /// its name.
    pub fn in_line<'t>(&self, tape: &'t Tape, x: Var<'t>) -> Var<'t> {
        tape.at(self.names[0], sources::PYTORCH_AUTOGRAD);
        let up = self.up.run(&{ x }).named("up output");
        let inner = self.act.run(&{ up }).named("down input");
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
        self.down.run(&{ inner })
    }
}
