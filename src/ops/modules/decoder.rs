//! A decoder block as llama and its relatives write it: norm, attention, sum, norm, feed-forward, sum.

use super::attention::Attention;
use super::mlp::Mlp;
use super::norm::Norm;
use super::{Block, Build, Tables};
use crate::ops::tape::{Tape, Var};
use crate::sources;

/// One block of llama, mistral, qwen2, qwen3, or of a decoder put together from its fields.
#[derive(Debug)]
pub(super) struct Decoder {
    attention: Attention,
    mlp: Mlp,
    input_norm: Option<Norm>,
    post_norm: Option<Norm>,
    /// Attention and feed-forward read the same input.
    parallel: bool,
}

const INPUT_NORM: &str = "Input norm";
const POST_NORM: &str = "Post-attention norm";

impl Decoder {
    pub fn new(build: &Build<'_>) -> Self {
        let attention = Attention::new(build);
        let mlp = Mlp::new(build);
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
        let feed_forward = self.mlp.run(tape, &second);
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
        let (hidden, _weights) = self.attention.run(tape, &{ hidden }, tables);
        let hidden = residual.clone().add(hidden).named("attention residual");
        let residual = hidden;
        let hidden = normed(tape, POST_NORM, self.post_norm.as_ref(), &residual);
        let hidden = self.mlp.run(tape, &{ hidden });
        (residual.add(hidden).named("block output"), None)
    }
}
