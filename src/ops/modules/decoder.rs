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
    input_norm: Norm,
    post_norm: Norm,
}

impl Decoder {
    pub fn new(build: &Build<'_>) -> Self {
        let attention = Attention::new(build);
        let mlp = Mlp::new(build);
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
        let (hidden, _weights) = self.attention.run(tape, &{ hidden }, tables);
        let hidden = residual.clone().add(hidden).named("attention residual");
        let residual = hidden;
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let hidden = self.post_norm.run(&residual);
        let hidden = self.mlp.run(tape, &{ hidden });
        (residual.add(hidden).named("block output"), None)
    }
}
