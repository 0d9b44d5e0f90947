//! The feed-forward layer of blocks with several streams, of which some keep the largest
//! activations alone.

use super::super::mlp::Activation;
use super::super::{Build, FP32, Linear, Part, Tables};
use crate::ops::tape::{Attends, Form, Order, RELU, Var};
use crate::sources;

/// Gate, up and down.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeedForward {
    gate: Linear,
    up: Linear,
    down: Linear,
    act: Activation,
    fused: bool,
    rows: Form,
    scalar: Form,
}

impl FeedForward {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, h, inner) =
            (build.with, build.with.h(), build.with.share(Part::FeedForward, build.with.ffn()));
        build.tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let column =
            |name| build.column(Part::FeedForward, (name, None), (inner, h), build.shapes.inner);
        let (gate, up) = (column("gate weight"), column("up weight"));
        build.tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let down = build.row(
            Part::FeedForward,
            ("down weight", None),
            (with.h(), inner),
            build.shapes.hidden,
        );
        let fused = build.kernels().fuses_gated_activation;
        Self {
            gate,
            up,
            down,
            act: Activation::new(build),
            fused,
            rows: build.shapes.rows,
            scalar: build.shapes.scalar,
        }
    }

    /// The feed-forward layer's contribution.
    pub fn run<'t>(&self, x: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let tape = x.tape();
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let mut gate = self.gate.run(x).named("gate output");
        if self.fused {
            let up = self.up.run(x).named("up output");
            let inner = tape.kernel(
                &[&gate, &up],
                &[("down input", gate.form(), gate.dtype())],
                0,
                (Order::Plain, false, Attends::No),
            );
            return self.down.run(&inner);
        }
        if tables.layer.as_ref().is_some_and(|layer| layer.is_sparse) {
            gate = self.largest(&{ gate });
        }
        let activated = self.act.run(&gate);
        let up = self.up.run(x).named("up output");
        let inner = activated.clone().mul(up.clone()).named("down input");
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        self.down.run(&inner)
    }

    /// `_gaussian_topk`: what lies above the mean by so many standard deviations, less that.
    fn largest<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let tape = x.tape();
        let _quantile = ["share", "mean of a normal distribution", "its deviation"]
            .map(|name| tape.constant(name, self.scalar, FP32));
        let deviations = tape.constant("deviations above the mean", self.scalar, x.dtype());
        let mean = x.clone().reduce(self.rows);
        let deviation = x.clone().deviation(self.rows);
        let cutoff = mean.clone().add(deviation.clone().mul(deviations)).named("cut-off");
        x.clone().sub(cutoff.clone()).apply(RELU).named("largest gate outputs")
    }
}
