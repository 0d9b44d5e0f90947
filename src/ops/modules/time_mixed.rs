//! A block whose halves read mixes of two tokens (`RwkvBlock` in transformers 5.23,
//! `models/rwkv/modeling_rwkv.py`): weighted sums in place of attention, and a gate on the
//! feed-forward layer's output. The first block norms embedded tokens itself.

use super::mixers::{Mix, Sums, shifted};
use super::mlp::Activation;
use super::norm::Norm;
use super::{Block, Build, Linear, Tables};
use crate::config::Mixer;
use crate::ops::tape::{SIGMOID, Tape, Var};
use crate::sources;

/// The feed-forward layer.
#[derive(Clone, Copy, Debug)]
struct FeedForward {
    /// Of inner values, and of the gate.
    mixes: [Mix; 2],
    up: Linear,
    gate: Linear,
    down: Linear,
    act: Activation,
}

impl FeedForward {
    fn new(build: &Build<'_>) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (h, inner) = (with.h(), with.ffn());
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let mixes = ["inner mix", "feed-forward gate's mix"].map(|name| Mix::new(build, name));
        let up =
            build.linear(("up weight", None), (inner, h), tape.form([with.b(), with.s(), inner]));
        let gate = build.linear(("feed-forward gate weight", None), (h, h), build.shapes.hidden);
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let down = build.linear(("down weight", None), (h, inner), build.shapes.hidden);
        Self { mixes, up, gate, down, act: Activation::of(build.model().hidden_act) }
    }

    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let before = shifted(x);
        let [inner, gate] = self.mixes.map(|mix| mix.run(tape, x, &before));
        let inner =
            self.act.run(&{ self.up.run(&{ inner }).named("up output") }).named("down input");
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let value = self.down.run(&inner);
        let gate = self.gate.run(&{ gate }).apply(SIGMOID).named("feed-forward gate");
        gate.clone().mul(value.clone()).named("gated feed-forward output")
    }
}

/// One block.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeMixed {
    /// The norm of embedded tokens.
    first: Option<Norm>,
    norms: [Norm; 2],
    sums: Sums,
    feed: FeedForward,
}

impl TimeMixed {
    /// The block of that layer; `None` of a model that is served, or keeps no sums.
    pub fn new(build: &Build<'_>, layer: u64) -> Option<Self> {
        let kind = build.model().kind_of(layer);
        let mixer: &Mixer = build.model().mixer().filter(|_| build.with.training && kind.mixer)?;
        let norm = |name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, build.with.h(), build.shapes.rows)
        };
        let first = kind.norms_embedded.then(|| norm("Embedding norm"));
        let norms = ["Input norm", "Post-attention norm"].map(norm);
        Some(Self { first, norms, sums: Sums::new(build, mixer), feed: FeedForward::new(build) })
    }
}

impl Block for TimeMixed {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        _tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let hidden = match &self.first {
            Some(norm) => {
                tape.at("Embedding norm", sources::PYTORCH_AUTOGRAD);
                norm.run(hidden)
            }
            None => hidden.clone(),
        };
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let sums = self.sums.run(tape, &{ self.norms[0].run(&hidden) });
        let hidden = hidden.add(sums.clone()).named("attention residual");
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let fed = self.feed.run(tape, &{ self.norms[1].run(&hidden) });
        (hidden.add(fed.clone()).named("block output"), None)
    }
}
