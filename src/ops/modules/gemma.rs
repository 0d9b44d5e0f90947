//! Gemma 2's and 3's block (transformers 5.23, `models/gemma2/modeling_gemma2.py`, `models/gemma3/modeling_gemma3.py`): a norm
//! before and after each half; OLMo 2's (`models/olmo2/modeling_olmo2.py`) has those after only.

use super::attention::Attention;
use super::mlp::Mlp;
use super::norm::Norm;
use super::{Block, Build, Tables};
use crate::config::{BlockLayout, Keys};
use crate::ops::tape::{Tape, Var};
use crate::sources;

/// One block.
#[derive(Debug)]
pub(super) struct Sandwich {
    attention: Attention,
    mlp: Mlp,
    norms: [Option<Norm>; 4],
}

/// Names of the four norms.
const NORMS: [&str; 4] = ["Input norm", "Post-attention norm", "Pre-feed-forward norm", "Post-feed-forward norm"];

impl Sandwich {
    pub fn new(build: &Build<'_>) -> Self {
        let attention = Attention::new(build, Keys::Own);
        let mlp = Mlp::new(build);
        let norms = NORMS.map(|name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            let there = build.model().family.modules().block != BlockLayout::NormsBehind || name.starts_with("Post");
            there.then(|| Norm::new(build, build.with.h(), build.shapes.rows))
        });
        Self { attention, mlp, norms }
    }

    fn norm<'t>(&self, tape: &'t Tape, number: usize, x: &Var<'t>) -> Var<'t> {
        let (Some(Some(norm)), Some(name)) = (self.norms.get(number), NORMS.get(number)) else { return x.clone() };
        tape.at(name, sources::PYTORCH_AUTOGRAD);
        norm.run(x)
    }
}

impl Block for Sandwich {
    fn run<'t>(&self, tape: &'t Tape, residual: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        let hidden = self.norm(tape, 0, residual);
        let (hidden, _weights) = self.attention.run(tape, &{ hidden }, tables);
        let hidden = self.norm(tape, 1, &{ hidden });
        let residual = residual.clone().add(hidden).named("attention residual");
        let hidden = self.norm(tape, 2, &residual);
        let hidden = self.mlp.run(tape, &{ hidden });
        let hidden = self.norm(tape, 3, &{ hidden });
        (residual.add(hidden).named("block output"), None)
    }
}
