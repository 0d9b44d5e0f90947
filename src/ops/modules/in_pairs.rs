//! A block of torchtune 0.6 (`modules/transformer.py`, `attention.py`, `feed_forward.py`,
//! `position_embeddings.py`): neighbours in a head are rotated together in fp32, keys and values
//! are repeated for every query head, and attention's output stays to the block's end.

use super::attention_core::Core;
use super::mlp::Mlp;
use super::norm::Norm;
use super::{Block, Build, FP32, Linear, Part, Shapes, Tables, half};
use crate::ops::tape::{Form, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// Projections, rotation, attention's kernel, feed-forward layer and two norms.
#[derive(Debug)]
pub(super) struct InPairs {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    mlp: Mlp,
    norms: [Norm; 2],
    core: Core,
    shapes: Shapes,
    /// True if there are several query heads; true if there are several key heads.
    several: [bool; 2],
    /// Queries share keys.
    repeats: bool,
    /// `[b, s, a, d]` and `[b, s, k, d]`, and the same of one of two neighbours.
    rows: [Form; 2],
    neighbours: [Form; 2],
    /// `[s, d / 2]` of the factors.
    table: Form,
}

impl InPairs {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        tape.at("Query, key and value projection", sources::TORCHTUNE);
        let columns = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(d.1));
        let project = |name, heads: Dim| {
            let width = columns(heads);
            build.column(
                Part::Attention,
                (name, None),
                (width, with.h()),
                tape.form([with.b(), with.s(), width]),
            )
        };
        let (query, key, value) = (
            project("query weight", heads),
            project("key weight", kv),
            project("value weight", kv),
        );
        tape.at("Output projection", sources::TORCHTUNE);
        let output = build.row(
            Part::Attention,
            ("output weight", None),
            (with.h(), columns(heads)),
            build.shapes.hidden,
        );
        let mlp = Mlp::new(build);
        let norms = ["Input norm", "Post-attention norm"].map(|name| {
            tape.at(name, sources::TORCHTUNE);
            Norm::new(build, with.h(), build.shapes.rows)
        });
        let in_rows =
            |width: Dim| [heads, kv].map(|heads| tape.form([with.b(), with.s(), heads, width]));
        Self {
            query,
            key,
            value,
            output,
            mlp,
            norms,
            core: Core::new(build).without_repeating(),
            shapes: build.shapes,
            several: [heads.1 > 1, kv.1 > 1],
            repeats: kv.1 < heads.1,
            rows: in_rows(d),
            neighbours: in_rows(half(d.1)),
            table: tape.form([with.s(), half(d.1)]),
        }
    }

    /// `RotaryPositionalEmbeddings.forward`: neighbours as complex numbers, operator by operator in
    /// fp32.
    fn turned<'t>(&self, x: &Var<'t>, neighbour: Form, factors: &Var<'t>) -> Var<'t> {
        let tape = x.tape();
        tape.at("Rotary positions", sources::TORCHTUNE);
        let wide = x.clone().cast_as(FP32, "heads in fp32");
        let by = || factors.clone().view(self.table);
        let times = |wide: &Var<'t>| wide.clone().slice(neighbour).mul(by());
        let left = times(&wide).sub(times(&wide));
        let right = times(&wide).add(times(&wide));
        let turned = left.clone().cat(right.clone(), x.form());
        drop((right, left));
        let turned = turned.clone().cast_as(x.dtype(), "rotated heads");
        drop(wide);
        turned
    }

    fn attend<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        tape.at("Query, key and value projection", sources::TORCHTUNE);
        let turned = |x: Var<'t>, at: usize| match &tables.rotary {
            Some((factors, _)) => self.turned(&x, self.neighbours[at], factors),
            None => x,
        };
        let q = self.query.run(x).named("queries").view(self.rows[0]);
        let q = turned(q, 0).swap(self.shapes.queries, self.several[0]);
        tape.at("Query, key and value projection", sources::TORCHTUNE);
        let k = self.key.run(x).named("keys").view(self.rows[1]);
        let v = self.value.run(x).named("values").view(self.rows[1]);
        let mut k = turned(k, 1).swap(self.shapes.keys, self.several[1]);
        let mut v = v.swap(self.shapes.values, self.several[1]);
        if self.repeats {
            k = k.repeat(self.shapes.repeated[0]).named("keys of every query head");
            v = v.repeat(self.shapes.repeated[1]).named("values of every query head");
        }
        let (output, _) = self.core.run((&q, &k, &v), tables);
        tape.at("Output projection", sources::TORCHTUNE);
        self.output.run(&output)
    }
}

impl Block for InPairs {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Input norm", sources::TORCHTUNE);
        let normed = self.norms[0].run(x);
        let attention = self.attend(tape, &normed, tables);
        let hidden = attention.clone().add(x.clone()).named("attention residual");
        drop(normed);
        tape.at("Post-attention norm", sources::TORCHTUNE);
        let normed = self.norms[1].run(&hidden);
        let fed = self.mlp.run(tape, &{ normed });
        let output = hidden.add(fed.clone()).named("block output");
        drop(attention);
        (output, None)
    }
}
