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
    input_norm: Option<Norm>,
    post_norm: Option<Norm>,
    /// Attention and feed-forward read the same input.
    parallel: bool,
}

const INPUT_NORM: &str = "Input norm";
const POST_NORM: &str = "Post-attention norm";

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
        let norm = |name, number| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            (build.model().norms_per_block >= number).then(|| Norm::new(build, build.with.h(), build.shapes.rows))
        };
        let parallel = build.model().parallel_residual || build.model().norms_per_block == 1;
        Self { attention, mlp, input_norm: norm(INPUT_NORM, 1), post_norm: norm(POST_NORM, 2), parallel }
    }

    /// Feed-forward beside attention, on the same input; one norm serves both where there is only one.
    fn side_by_side<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let normed = normed(tape, INPUT_NORM, self.input_norm.as_ref(), hidden);
        let (attention, _weights) = self.attention.run(tape, &normed, tables);
        let second = match &self.post_norm {
            Some(norm) => self::normed(tape, POST_NORM, Some(norm), hidden),
            None => normed,
        };
        let (feed_forward, _beside) = self.mlp.run(tape, &second);
        attention.add(feed_forward).add(hidden.clone()).named("block output")
    }
}

fn normed<'t>(tape: &'t Tape, name: &'static str, norm: Option<&Norm>, x: &Var<'t>) -> Var<'t> {
    tape.at(name, sources::PYTORCH_AUTOGRAD);
    norm.map_or_else(|| x.clone(), |norm| norm.run(x))
}

impl Block for Decoder {
    fn run<'t>(&self, tape: &'t Tape, residual: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        if self.parallel {
            return (self.side_by_side(tape, residual, tables), None);
        }
        let hidden = normed(tape, INPUT_NORM, self.input_norm.as_ref(), residual);
        let (hidden, weights) = self.attention.run(tape, &{ hidden }, tables);
        let hidden = residual.clone().add(hidden).named("attention residual");
        let residual = hidden;
        let hidden = normed(tape, POST_NORM, self.post_norm.as_ref(), &residual);
        let (hidden, beside) = self.mlp.run(tape, &{ hidden });
        // What the feed-forward layer returns beside takes the place of the probabilities.
        let _beside = beside.or(weights);
        (residual.add(hidden).named("block output"), None)
    }
}
