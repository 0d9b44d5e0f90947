//! GPT-2's block (transformers 5.23, `models/gpt2/modeling_gpt2.py`): one projection for queries,
//! keys and values, split in three.

use super::attention_core::Core;
use super::mlp::Mlp;
use super::norm::Norm;
use super::{Block, Build, Linear, Part, Tables};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// One block.
#[derive(Debug)]
pub(super) struct Gpt2 {
    norms: [Norm; 2],
    projection: Linear,
    output: Linear,
    mlp: Mlp,
    core: Core,
    part: Form,
    queries: Form,
    several: bool,
    /// Both halves drop some of their output.
    drops: bool,
}

impl Gpt2 {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape, h) = (build.with, build.tape, build.with.h());
        let norm = |name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, h, build.shapes.rows)
        };
        let first = norm("Input norm");
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let width = with.own_heads().1.saturating_mul(with.head_dim().1);
        let joint = Dim("q+k+v width", width.saturating_mul(3));
        let form = tape.form([with.b(), with.s(), joint]);
        let projection = build.column(
            Part::Attention,
            ("query, key and value weight", Some("query, key and value bias")),
            (joint, h),
            form,
        );
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let part = Dim("num_attention_heads", width);
        let output = build.row(
            Part::Attention,
            ("output weight", Some("output bias")),
            (h, part),
            build.shapes.hidden,
        );
        let second = norm("Post-attention norm");
        let mlp = Mlp::new(build);
        Self {
            norms: [first, second],
            projection,
            output,
            mlp,
            core: Core::new(build),
            part: tape.form([with.b(), with.s(), part]),
            queries: build.shapes.queries,
            several: with.own_heads().1 > 1,
            drops: with.dropout.residual,
        }
    }

    fn attention<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let [q, k, v] =
            self.projection.run(x).named("queries, keys and values").split([self.part; 3]);
        let heads = |x: Var<'t>| x.heads(self.queries, self.several);
        let (k, v) = (heads(k), heads(v));
        let q = heads(q);
        let (k, v) = tables.seen((k, v));
        let (output, weights) = self.core.run((&q, &k, &v), tables);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output).dropped_if(self.drops), weights)
    }
}

impl Block for Gpt2 {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        residual: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let hidden = self.norms[0].run(residual);
        let (attention, _weights) = self.attention(tape, &hidden, tables);
        let residual = attention.clone().add(residual.clone()).named("attention residual");
        drop(hidden);
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let hidden = self.norms[1].run(&residual);
        let feed_forward = self.mlp.run(tape, &hidden).dropped_if(self.drops);
        let output = residual.clone().add(feed_forward.clone()).named("block output");
        (output, None)
    }
}
