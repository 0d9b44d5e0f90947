//! Blocks of one stream with an input of their own (transformers 5.23, `Gemma4TextDecoderLayer`): norms before and behind attention and
//! feed-forward layer, then what the layer's own embedding adds, then a factor.

use super::super::mlp::Mlp;
use super::super::norm::Norm;
use super::super::{Block, Build, Tables};
use super::OwnInput;
use super::attention::Attention;
use super::{NORMS, normed};
use crate::ops::tape::{Tape, Var};
use crate::sources;

/// One block.
#[derive(Debug)]
pub(crate) struct WithInput {
    attention: Attention,
    mlp: Mlp,
    norms: [Norm; 4],
    own_input: Option<OwnInput>,
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
        Self { attention, mlp, norms, own_input: model.altup().map(|altup| OwnInput::new(build, altup)) }
    }
}

impl Block for WithInput {
    fn run<'t>(&self, tape: &'t Tape, hidden: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        let input = normed(&self.norms, 0, hidden);
        let led_here = tape.recorded();
        let (attention, _weights) = self.attention.run(tape, (&input, led_here), tables);
        drop(input);
        let attention = normed(&self.norms, 1, &{ attention });
        let residual = hidden.clone().add(attention).named("attention residual");
        let input = normed(&self.norms, 2, &residual);
        let fed = self.mlp.run(tape, &{ input });
        let fed = normed(&self.norms, 3, &{ fed });
        let mut output = residual.add(fed).named("block output");
        if let Some(own) = &self.own_input {
            tape.at("Input of the layer", sources::PYTORCH_AUTOGRAD);
            let added = own.run(output.clone(), tables.own_input.as_ref());
            output = output.add(added).named("block output");
        }
        (output.in_place().named("block output"), None)
    }
}
