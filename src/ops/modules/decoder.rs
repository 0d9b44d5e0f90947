//! A decoder block as llama and its relatives write it: norm, attention, sum, norm, feed-forward, sum.

use super::attention::Attention;
use super::deepseek::{Latent, Sparse};
use super::mlp::Mlp;
use super::moe::Mixture;
use super::norm::Norm;
use super::state::State;
use super::{Block, Build, Cached, Tables};
use crate::config::{Feed, Keys};
use crate::ops::builder::Lowering;
use crate::ops::tape::{Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// What stands where the feed-forward layer is.
#[derive(Debug)]
enum FeedForward {
    Dense(Mlp),
    Experts(Mixture),
    Sparse(Box<Sparse>),
}

impl FeedForward {
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Option<Var<'t>>) {
        match self {
            Self::Dense(mlp) => (mlp.run(tape, x), None),
            Self::Experts(experts) => experts.run(tape, x),
            Self::Sparse(experts) => (experts.run(tape, x), None),
        }
    }
}

/// How tokens see each other.
#[derive(Debug)]
enum Mixer {
    Heads(Box<Attention>),
    Latent(Box<Latent>),
}

impl Mixer {
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        match self {
            Self::Heads(attention) => attention.run(tape, x, tables),
            Self::Latent(attention) => attention.run(tape, x, tables),
        }
    }
}

/// The tensors that a layer with heads, or one with latents, keeps of a token.
pub(crate) fn cached(with: &Lowering) -> Cached {
    with.model.mla.map_or_else(|| Attention::cached(with), Latent::cached)
}

/// One block of llama, mistral, qwen2, qwen3, mixtral, qwen3-moe, gpt-oss, or of a decoder put together from its fields.
#[derive(Debug)]
pub(super) struct Decoder {
    /// A state that the layer keeps, in place of attention or beside it.
    state: Option<State>,
    /// None in a layer that keeps a state instead, or has a feed-forward layer alone.
    attention: Option<Mixer>,
    /// None in a layer that has attention or a state alone.
    mlp: Option<FeedForward>,
    /// Before attention; before the feed-forward layer; behind attention; behind the feed-forward layer.
    norms: [Option<Norm>; 4],
    /// Attention and feed-forward read the same input.
    parallel: bool,
}

/// Names of the norms.
const NORMS: [&str; 4] = ["Input norm", "Post-attention norm", "Norm behind attention", "Norm behind feed-forward"];

impl Decoder {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let kind = build.model().kind_of(layer);
        let state = build.model().mixer().filter(|_| kind.mixer).map(|mixer| State::new(build, mixer));
        let attention = (kind.keys != Keys::None).then(|| match build.model().mla {
            Some(mla) => Mixer::Latent(Box::new(Latent::new(build, mla))),
            None => Mixer::Heads(Box::new(Attention::new(build, kind.keys))),
        });
        let routes_by_groups = build.model().family.modules().experts.routes_by_groups;
        let mlp = (kind.feed != Feed::None).then(|| match build.model().moe_at(layer) {
            Some(moe) if moe.shared_expert_intermediate_size > 0 || routes_by_groups => {
                FeedForward::Sparse(Box::new(Sparse::new(build, moe)))
            }
            Some(moe) => FeedForward::Experts(Mixture::new(build, moe)),
            None => FeedForward::Dense(Mlp::new(build)),
        });
        if kind.feed == Feed::Experts && build.model().norms_experts() {
            norms_of_experts(build, layer);
        }
        let halves = [kind.mixer || attention.is_some(), mlp.is_some()];
        let mut numbers = 1_u64..;
        // The first and third belong to attention, the second and fourth to the feed-forward layer.
        let mut belong = halves.into_iter().cycle();
        let norms = NORMS.map(|name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            let there = numbers.next().is_some_and(|number| build.model().norms_per_block >= number);
            let there = there && belong.next().unwrap_or(true);
            there.then(|| Norm::new(build, build.with.h(), build.shapes.rows))
        });
        let parallel = build.model().parallel_residual || build.model().norms_per_block == 1;
        Self { state, attention, mlp, norms, parallel }
    }

    /// Attention's contribution. Blocks without it, or with a state, run for their products alone: a job that trains them cannot be made.
    fn attend<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        if let Some(state) = &self.state {
            state.run(tape);
        }
        self.attention.as_ref().map_or_else(|| (x.clone(), None), |attention| attention.run(tape, x, tables))
    }

    /// What the feed-forward layer adds; as for attention.
    fn feed<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Option<Var<'t>>) {
        self.mlp.as_ref().map_or_else(|| (x.clone(), None), |mlp| mlp.run(tape, x))
    }

    /// `x` after the norm of that number; `x` itself where there is none.
    fn normed<'t>(&self, tape: &'t Tape, number: usize, x: &Var<'t>) -> Var<'t> {
        let (Some(Some(norm)), Some(name)) = (self.norms.get(number), NORMS.get(number)) else { return x.clone() };
        tape.at(name, sources::PYTORCH_AUTOGRAD);
        norm.run(x)
    }

    /// Feed-forward beside attention, on the same input; one norm serves both where there is only one.
    fn side_by_side<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let normed = self.normed(tape, 0, hidden);
        let (attention, _weights) = self.attend(tape, &normed, tables);
        let attention = self.normed(tape, 2, &attention);
        let second = if self.norms[1].is_some() { self.normed(tape, 1, hidden) } else { normed };
        let (feed_forward, _beside) = self.feed(tape, &second);
        let feed_forward = self.normed(tape, 3, &feed_forward);
        attention.add(feed_forward).add(hidden.clone()).named("block output")
    }
}

/// Gemma 4's norms before and behind its experts and behind the dense layer beside them, and its router's scales. They are declared and
/// counted, and never run here.
fn norms_of_experts(build: &Build<'_>, layer: u64) {
    for name in ["Norm before experts", "Norm behind experts", "Norm behind the layer beside"] {
        build.tape.at(name, sources::PYTORCH_AUTOGRAD);
        Norm::new(build, build.with.h(), build.shapes.rows);
    }
    build.tape.at("Router", sources::PYTORCH_AUTOGRAD);
    build.vector("router scale", build.with.h());
    if let Some(moe) = build.model().moe_at(layer) {
        build.vector("scale of each expert", Dim("num_experts", moe.num_experts));
    }
}

impl Block for Decoder {
    fn run<'t>(&self, tape: &'t Tape, residual: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        if self.parallel {
            return (self.side_by_side(tape, residual, tables), None);
        }
        let hidden = self.normed(tape, 0, residual);
        let (hidden, weights) = self.attend(tape, &{ hidden }, tables);
        let hidden = self.normed(tape, 2, &{ hidden });
        let hidden = residual.clone().add(hidden).named("attention residual");
        let residual = hidden;
        let hidden = self.normed(tape, 1, &residual);
        let (hidden, beside) = self.feed(tape, &{ hidden });
        let hidden = self.normed(tape, 3, &{ hidden });
        // What the feed-forward layer returns beside takes the place of the probabilities.
        let _beside = beside.or(weights);
        (residual.add(hidden).named("block output"), None)
    }
}
