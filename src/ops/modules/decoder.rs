//! A decoder block as llama and its relatives write it: norm, attention, sum, norm, feed-forward, sum.

use super::attention::Attention;
use super::deepseek::{Latent, Sparse};
use super::mlp::Mlp;
use super::moe::Mixture;
use super::norm::Norm;
use super::{Block, Build, Tables};
use crate::ops::tape::{Tape, Var};
use crate::sources;

/// What stands where the feed-forward layer is.
#[derive(Debug)]
enum FeedForward {
    Dense(Mlp),
    Experts(Mixture),
    Shared(Sparse),
}

impl FeedForward {
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Option<Var<'t>>) {
        match self {
            Self::Dense(mlp) => (mlp.run(tape, x), None),
            Self::Experts(experts) => experts.run(tape, x),
            Self::Shared(experts) => (experts.run(tape, x), None),
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

/// One block of llama, mistral, qwen2, qwen3, mixtral, qwen3-moe, gpt-oss, or of a decoder put together from its fields.
#[derive(Debug)]
pub(super) struct Decoder {
    attention: Mixer,
    mlp: FeedForward,
    input_norm: Norm,
    post_norm: Norm,
}

impl Decoder {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let attention = match build.model().mla {
            Some(mla) => Mixer::Latent(Box::new(Latent::new(build, mla))),
            None => Mixer::Heads(Box::new(Attention::new(build))),
        };
        let mlp = match build.model().moe_at(layer) {
            Some(moe) if moe.shared_expert_intermediate_size > 0 => FeedForward::Shared(Sparse::new(build, moe)),
            Some(moe) => FeedForward::Experts(Mixture::new(build, moe)),
            None => FeedForward::Dense(Mlp::new(build)),
        };
        let norm = |name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, build.with.h(), build.shapes.rows)
        };
        let input_norm = norm("Input norm");
        Self { attention, mlp, input_norm, post_norm: norm("Post-attention norm") }
    }
}

impl Block for Decoder {
    fn run<'t>(&self, tape: &'t Tape, residual: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let hidden = self.input_norm.run(residual);
        let (hidden, weights) = self.attention.run(tape, &{ hidden }, tables);
        let hidden = residual.clone().add(hidden).named("attention residual");
        let residual = hidden;
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let hidden = self.post_norm.run(&residual);
        let (hidden, beside) = self.mlp.run(tape, &{ hidden });
        // What the feed-forward layer returns beside takes the place of the probabilities.
        let _beside = beside.or(weights);
        (residual.add(hidden).named("block output"), None)
    }
}
