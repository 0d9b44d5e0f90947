//! GPT-2's block (transformers 5.23, `models/gpt2/modeling_gpt2.py`), and those that are written as
//! it is: both halves have names of their own, which last to the block's end.

use super::attention_core::Core;
use super::mlp::Mlp;
use super::norm::Norm;
use super::{Block, Build, Linear, Part, Tables};
use crate::config::{Projections, ScoreStyle};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The projections of queries, keys and values.
#[derive(Debug)]
enum Projection {
    /// One for all, split into parts of those shapes.
    Joint(Linear, [Form; 3]),
    /// One for all, split by heads; by heads, with three in one, and as heads.
    ByHead(Linear, [Form; 2]),
    Separate([Linear; 3]),
}

/// One block.
#[derive(Debug)]
pub(super) struct Gpt2 {
    norms: [Norm; 2],
    projection: Projection,
    output: Linear,
    mlp: Mlp,
    core: Core,
    queries: Form,
    /// Keys and values.
    keys: Form,
    /// More than one head of queries, and of keys.
    several: [bool; 2],
    /// Both halves drop some of their output.
    drops: bool,
    returns_probabilities: bool,
}

/// Registers a layer's mask of all positions, where scores are chosen by it.
fn registers_mask(build: &Build<'_>) {
    let model = build.model();
    if model.family.modules().scores == ScoreStyle::InFp32ByBuffer {
        let positions = Dim("max_position_embeddings", model.max_position_embeddings);
        build.tape.buffer("mask of the layer", build.tape.form([positions; 2]), DType::Mask);
    }
}

/// Projections of queries, keys and values as the model's modules have them.
fn projection(build: &Build<'_>) -> Projection {
    let (with, tape, model) = (build.with, build.tape, build.model());
    let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
    let columns = |name, heads: u64| Dim(name, heads.saturating_mul(d.1));
    let width = columns("num_attention_heads", heads.1);
    let project = |names, width: Dim| {
        build.column(Part::Attention, names, (width, with.h()), build.of_tokens(width))
    };
    let one_for_all = || {
        let names = ("query, key and value weight", Some("query, key and value bias"));
        project(names, columns("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2))))
    };
    let parts = [width, columns("num_key_value_heads", kv.1)].map(|width| build.of_tokens(width));
    match model.family.modules().projections {
        Projections::JointByHead if heads.1 == kv.1 => {
            let triple = Dim("head_dim of q+k+v", d.1.saturating_mul(3));
            let rows = tape.form([with.b(), with.s(), heads, triple]);
            Projection::ByHead(
                one_for_all(),
                [rows, tape.form([with.b(), heads, with.s(), triple])],
            )
        }
        Projections::Joint | Projections::JointByHead => {
            Projection::Joint(one_for_all(), [parts[0], parts[1], parts[1]])
        }
        Projections::Separate
        | Projections::JointOfHeads
        | Projections::JointInFours
        | Projections::JointUnbound => {
            let [k, v, q] = ["key weight", "value weight", "query weight"]
                .map(|name| project((name, None), width));
            Projection::Separate([q, k, v])
        }
    }
}

impl Gpt2 {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape, h) = (build.with, build.tape, build.with.h());
        let norm = |name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, h, build.shapes.rows)
        };
        let first = norm("Input norm");
        registers_mask(build);
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let projection = projection(build);
        let width = with.own_heads().1.saturating_mul(with.head_dim().1);
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
            queries: build.shapes.queries,
            keys: build.shapes.keys,
            several: [with.own_heads().1 > 1, with.own_kv_heads().1 > 1],
            drops: with.dropout.residual,
            returns_probabilities: build.model().family.modules().returns_probabilities,
        }
    }

    /// Queries, keys and values as heads.
    fn heads<'t>(&self, x: &Var<'t>) -> [Var<'t>; 3] {
        let [several, several_keys] = self.several;
        let keys = |x: Var<'t>| x.heads(self.keys, several_keys);
        let (q, k, v) = match &self.projection {
            Projection::ByHead(joint, [rows, heads]) => {
                let joint = joint.run(x).named("queries, keys and values").view(*rows);
                return joint.swap(*heads, several).split([self.queries; 3]);
            }
            Projection::Joint(joint, parts) => {
                let [q, k, v] = joint.run(x).named("queries, keys and values").split(*parts);
                (q, k, v)
            }
            Projection::Separate([q, k, v]) => {
                let q = q.run(x).named("queries");
                let (k, v) = (k.run(x).named("keys"), v.run(x).named("values"));
                return [q.heads(self.queries, several), keys(k), keys(v)];
            }
        };
        let (k, v) = (keys(k), keys(v));
        [q.heads(self.queries, several), k, v]
    }

    fn attention<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let [q, k, v] = self.heads(x);
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
        let (attention, weights) = self.attention(tape, &hidden, tables);
        let residual = attention.clone().add(residual.clone()).named("attention residual");
        drop(hidden);
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let hidden = self.norms[1].run(&residual);
        let feed_forward = self.mlp.run(tape, &hidden).dropped_if(self.drops);
        let output = residual.clone().add(feed_forward.clone()).named("block output");
        (output, weights.filter(|_| self.returns_probabilities))
    }
}
