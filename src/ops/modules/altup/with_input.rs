//! Blocks of one stream with an input of their own (transformers 5.23, `Gemma4TextDecoderLayer`):
//! norms before and behind attention and feed-forward layer, then what the layer's own embedding
//! adds, then a factor.

use super::super::mlp::Mlp;
use super::super::moe::{Experts, top_k};
use super::super::norm::Norm;
use super::super::{Block, Build, FP32, Linear, Tables};
use super::attention::Attention;
use super::{NORMS, OwnInput, normed};
use crate::config::Moe;
use crate::ops::tape::{Form, Param, SCALE, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// Experts beside the dense layer, with a router that norms and scales its input, and norms around
/// either.
#[derive(Clone, Copy, Debug)]
struct Beside {
    norm: Norm,
    scale: Param,
    of_each: Param,
    scores: Linear,
    experts: Experts,
    /// Behind the dense layer, behind the experts, and before them.
    norms: [Norm; 3],
    /// `[b, s, top_k]` and `[b, s, 1]`.
    chosen: Form,
    row: Form,
}

/// Names of the norms around experts.
const AROUND: [&str; 3] =
    ["Norm behind the layer beside", "Norm behind experts", "Norm before experts"];

impl Beside {
    fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let (with, tape) = (build.with, build.tape);
        let count = Dim("num_experts", moe.num_experts);
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let (scale, of_each) =
            (build.vector("router scale", with.h()), build.vector("scale of each expert", count));
        let scores = build.linear(
            ("router weight", None),
            (count, with.h()),
            tape.form([with.b(), with.s(), count]),
        );
        let norm = Norm::unscaled(build, build.shapes.rows);
        let experts = Experts::new(build, moe);
        let norms = AROUND.map(|name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, with.h(), build.shapes.rows)
        });
        let chosen = tape.form([with.b(), with.s(), top_k(moe)]);
        Self { norm, scale, of_each, scores, experts, norms, chosen, row: build.shapes.rows }
    }

    fn norm<'t>(&self, number: usize, x: &Var<'t>) -> Var<'t> {
        let (Some(norm), Some(name)) = (self.norms.get(number), AROUND.get(number)) else {
            return x.clone();
        };
        x.tape().at(name, sources::PYTORCH_AUTOGRAD);
        norm.run(x)
    }

    /// Probabilities of all experts, weights of those that are picked, and which they are.
    fn route<'t>(&self, x: &Var<'t>) -> [Var<'t>; 3] {
        let tape = x.tape();
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let input = self.norm.run(x);
        let scaled = input.mul(tape.read(self.scale));
        let input = scaled.apply(SCALE).named("router input");
        let scores = self.scores.run(&input).named("router scores");
        let probabilities = scores.clone().cast(FP32).apply(SOFTMAX).named("router probabilities");
        let (weights, experts) = probabilities.clone().topk(self.chosen);
        let sum = weights.clone().total(self.row);
        let weights = weights.divide_by(&{ sum });
        let factors = tape.read(self.of_each).gather(&experts, self.chosen);
        let weights = weights.mul(factors).named("expert weights");
        [probabilities, weights, experts]
    }

    /// The sum of what the dense layer and the experts add, and what the block holds to its end.
    fn run<'t>(&self, (dense, residual): (&Var<'t>, &Var<'t>)) -> (Var<'t>, Vec<Var<'t>>) {
        let tape = dense.tape();
        let first = self.norm(0, dense);
        let routed = self.route(residual);
        let mut second = self.norm(2, residual);
        second = self.experts.run(tape, &{ second }, &routed[1]);
        second = self.norm(1, &{ second });
        let sum = first.clone().add(second.clone()).named("feed-forward output");
        (sum, routed.into_iter().chain([first, second]).collect())
    }
}

/// One block.
#[derive(Debug)]
pub(crate) struct WithInput {
    attention: Attention,
    mlp: Mlp,
    norms: [Norm; 4],
    own_input: Option<OwnInput>,
    beside: Option<Beside>,
}

impl WithInput {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let model = build.model();
        let attention = Attention::new(build, model.kind_of(layer).keys);
        let mlp = Mlp::new(build);
        let norms = NORMS.map(|name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, build.with.h(), build.shapes.rows)
        });
        build.tape.buffer("factor of the layer", build.shapes.scalar, build.with.made_in);
        let own_input = model.altup().map(|altup| OwnInput::new(build, altup));
        Self {
            attention,
            mlp,
            norms,
            own_input,
            beside: model.moe_at(layer).map(|moe| Beside::new(build, moe)),
        }
    }
}

impl Block for WithInput {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let input = normed(&self.norms, 0, hidden);
        let led_here = tape.recorded();
        let (attention, _weights) = self.attention.run(tape, (&input, led_here), tables);
        drop(input);
        let attention = normed(&self.norms, 1, &{ attention });
        let residual = hidden.clone().add(attention).named("attention residual");
        let input = normed(&self.norms, 2, &residual);
        let mut fed = self.mlp.run(tape, &{ input });
        let mut _held = Vec::new();
        if let Some(beside) = &self.beside {
            let (sum, held) = beside.run((&fed, &residual));
            (fed, _held) = (sum, held);
        }
        fed = normed(&self.norms, 3, &{ fed });
        let mut output = residual.add(fed).named("block output");
        if let Some(own) = &self.own_input {
            tape.at("Input of the layer", sources::PYTORCH_AUTOGRAD);
            let added = own.run(output.clone(), tables.own_input.as_ref());
            output = output.add(added).named("block output");
        }
        (output.in_place().named("block output"), None)
    }
}
