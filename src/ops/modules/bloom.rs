//! BLOOM's block (transformers 5.23, `models/bloom/modeling_bloom.py`): linear biases in the
//! product of queries and keys, always operator by operator, whatever the attention kernel.

use super::norm::Norm;
use super::{Block, Build, FP32, Linear, Part, Tables};
use crate::ops::tape::{Form, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// `bloom_gelu_forward`: `x · 0.5 · (1 + tanh(0.798 · x · (1 + 0.0447 · x · x)))`, step by step.
const GELU_FORWARD: [i8; 17] = [1, 2, 3, 4, -3, 5, -4, 6, -2, -5, 7, -6, 8, -7, 9, -1, -8];
/// `bloom_gelu_back`: the tanh again, then its derivative times the gradient.
const GELU_BACKWARD: [i8; 35] = [
    1, 2, 3, -2, 4, -3, 5, -1, -4, 6, -5, // tanh
    1, 2, 3, -2, 4, 5, -4, 7, -5, 8, -3, -7, 9, -1,
    -8, // 0.5 · x · ((1 - t · t) · (a + b · x · x))
    1, 2, -1, 3, -9, -2, // + 0.5 · (1 + t)
    4, -3, -6, // times the gradient
];

/// One block.
#[derive(Debug)]
pub(super) struct Bloom {
    norms: [Norm; 2],
    projection: Linear,
    output: Linear,
    up: Linear,
    down: Linear,
    batched: bool,
    several: bool,
    forms: Forms,
}

#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, a, 3, d]`, with the last two in one.
    joint: Form,
    rows: Form,
    queries: Form,
    scores: Form,
    merged: Form,
}

impl Forms {
    fn new(build: &Build<'_>, part: Dim) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (heads, d) = (with.own_heads(), with.head_dim());
        let joint = Dim("head_dim of q+k+v", d.1.saturating_mul(3));
        Self {
            joint: tape.form([with.b(), with.s(), heads, joint]),
            rows: tape.form([with.b(), with.s(), heads, d]),
            queries: build.shapes.queries,
            scores: build.shapes.scores,
            merged: build.of_tokens(part),
        }
    }
}

impl Bloom {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape, h) = (build.with, build.tape, build.with.h());
        let norm = |name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, h, build.shapes.rows)
        };
        let first = norm("Input norm");
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let (heads, d) = (with.own_heads(), with.head_dim());
        let width = heads.1.saturating_mul(d.1);
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
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let inner = with.share(Part::FeedForward, with.ffn());
        let up = build.column(
            Part::FeedForward,
            ("up weight", Some("up bias")),
            (inner, h),
            build.shapes.inner,
        );
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let down = build.row(
            Part::FeedForward,
            ("down weight", Some("down bias")),
            (h, inner),
            build.shapes.hidden,
        );
        let forms = Forms::new(build, part);
        Self {
            norms: [first, second],
            projection,
            output,
            up,
            down,
            batched: with.micro_batch_size > 1,
            several: heads.1 > 1,
            forms,
        }
    }

    fn attention<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        residual: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Var<'t>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let forms = &self.forms;
        let fused = self.projection.run(x).named("queries, keys and values");
        let joint = fused.view(forms.joint);
        let part = || joint.clone().slice(forms.rows).swap(forms.queries, self.several);
        let (q, k, v) = (part(), part(), part());
        tape.at("Attention core", sources::PYTORCH_AUTOGRAD);
        let ordered = |x: Var<'t>| if self.batched { x.contiguous() } else { x };
        let (q, k, v) =
            (ordered(q).named("queries"), ordered(k).named("keys"), ordered(v).named("values"));
        let biases = tables.alibi.clone().map(Var::for_product);
        let scores = q.clone().scaled_product(k.clone(), forms.scores);
        drop(biases);
        let mut weights = scores.clone();
        if let Some(mask) = &tables.mask {
            weights = weights.add(mask.clone());
        }
        let probabilities =
            weights.clone().cast(FP32).apply(SOFTMAX).cast_as(q.dtype(), "probabilities");
        let context = probabilities.clone().matmul(v.clone(), forms.queries, self.batched);
        let context = context.merge(forms.merged, self.several);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let output = self.output.run(&context);
        let output = residual.clone().add(output).named("attention residual");
        (output, probabilities)
    }

    fn feed_forward<'t>(&self, tape: &'t Tape, x: &Var<'t>, residual: &Var<'t>) -> Var<'t> {
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let inner =
            self.up.run(x).named("up output").scripted("down input", &GELU_FORWARD, &GELU_BACKWARD);
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let output = self.down.run(&inner);
        residual.clone().add(output.clone()).named("block output")
    }
}

impl Block for Bloom {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let normed = self.norms[0].run(hidden);
        let (attention, weights) = self.attention(tape, &normed, hidden, tables);
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let normed = {
            let second = self.norms[1].run(&attention);
            drop(normed);
            second
        };
        (self.feed_forward(tape, &normed, &attention), Some(weights))
    }
}
