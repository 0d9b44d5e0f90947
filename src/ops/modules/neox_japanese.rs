//! GPT-NeoX Japanese's block (transformers 5.23,
//! `models/gpt_neox_japanese/modeling_gpt_neox_japanese.py`): the scores are one product with
//! zeros, always operator by operator, whatever the attention kernel.

use super::mlp::Mlp;
use super::norm::Norm;
use super::rotary::rotated;
use super::{Block, Build, Linear, Part, Tables, half};
use crate::ops::tape::{Form, Param, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// One block.
#[derive(Debug)]
pub(super) struct NeoxJapanese {
    norms: [Norm; 2],
    projection: Linear,
    output: Linear,
    /// Behind attention's output, in the last block.
    bias: Option<Param>,
    mlp: Mlp,
    batched: bool,
    several: bool,
    forms: Forms,
}

/// Shapes of the joint projection, of rotated parts and of scores.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, a, 3, d]`, with the last two in one, and one of the three.
    joint: Form,
    rows: Form,
    queries: Form,
    rotated: Form,
    half: Form,
    rest: Form,
    scores: Form,
    merged: Form,
}

impl Forms {
    fn new(build: &Build<'_>, columns: Dim) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (heads, d) = (with.own_heads(), with.head_dim());
        let rotated = build.model().rotary_dim.unwrap_or(d.1);
        let of_heads = |width| tape.form([with.b(), heads, with.s(), width]);
        let of_rows = |width| tape.form([with.b(), with.s(), heads, width]);
        Self {
            joint: of_rows(Dim("head_dim of q+k+v", d.1.saturating_mul(3))),
            rows: of_rows(d),
            queries: build.shapes.queries,
            rotated: of_heads(Dim("rotated width", rotated)),
            half: of_heads(half(rotated)),
            rest: of_heads(Dim("unrotated width", d.1.saturating_sub(rotated))),
            scores: build.shapes.scores,
            merged: build.of_tokens(columns),
        }
    }
}

impl NeoxJapanese {
    pub fn new(build: &Build<'_>, layer: u64) -> Self {
        let (with, tape, h) = (build.with, build.tape, build.with.h());
        let norm = |name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, h, build.shapes.rows)
        };
        let norms = [norm("Input norm"), norm("Post-attention norm")];
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let columns = with.own_heads().1.saturating_mul(with.head_dim().1);
        let joint = Dim("q+k+v width", columns.saturating_mul(3));
        let names = ("query, key and value weight", None);
        let projection = build.column(Part::Attention, names, (joint, h), build.of_tokens(joint));
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let columns = Dim("num_attention_heads", columns);
        let names = ("output weight", None);
        let output = build.row(Part::Attention, names, (h, columns), build.shapes.hidden);
        let is_last = build.model().kind_of(layer).biased_behind;
        let bias = is_last.then(|| build.vector("bias behind attention", h));
        Self {
            norms,
            projection,
            output,
            bias,
            mlp: Mlp::new(build),
            batched: with.micro_batch_size > 1,
            several: with.own_heads().1 > 1,
            forms: Forms::new(build, columns),
        }
    }

    /// The first part of each head is rotated, and joined with the rest.
    fn rotate<'t>(&self, x: &Var<'t>, rotated_part: Var<'t>) -> Var<'t> {
        let rest = x.clone().slice(self.forms.rest);
        rotated_part.cat(rest, self.forms.queries)
    }

    fn attention<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Var<'t>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let forms = &self.forms;
        let joint = self.projection.run(x).named("queries, keys and values").view(forms.joint);
        let part = || joint.clone().slice(forms.rows).swap(forms.queries, self.several);
        let (q, k, v) = (part(), part(), part());
        let (q, k) = match &tables.rotary {
            Some((cos, sin)) => {
                tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
                let turned =
                    |x: &Var<'t>| rotated(&x.clone().slice(forms.rotated), (cos, sin), forms.half);
                let (queries, keys) = (turned(&q), turned(&k));
                let queries = self.rotate(&q, queries).named("queries");
                (queries, self.rotate(&k, keys).named("keys"))
            }
            None => (q, k),
        };
        tape.at("Attention core", sources::PYTORCH_AUTOGRAD);
        let zeros = tape.constant("zeros", forms.scores, q.dtype());
        let cast = zeros.clone().for_product();
        let mut scores = q.clone().scaled_product(k.clone(), forms.scores);
        drop(cast);
        if let Some(mask) = &tables.mask {
            scores = scores.add(mask.clone());
        }
        let probabilities = scores.clone().apply(SOFTMAX).cast_as(v.dtype(), "probabilities");
        let context = probabilities.clone().matmul(v.clone(), forms.queries, self.batched);
        drop((zeros, scores));
        let context = context.merge(forms.merged, self.several);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&context), probabilities)
    }
}

impl Block for NeoxJapanese {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let normed = self.norms[0].run(hidden);
        let (mut attention, weights) = self.attention(tape, &normed, tables);
        if let Some(bias) = self.bias {
            attention = attention.add(tape.read(bias));
        }
        let attention = hidden.clone().add(attention).named("attention residual");
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let second = self.norms[1].run(&attention);
        let fed = self.mlp.run(tape, &second);
        drop((normed, second));
        (attention.add(fed).named("block output"), Some(weights))
    }
}
