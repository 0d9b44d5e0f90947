//! Attention: projections, rotation and the two cores.

use super::norm::Norm;
use super::{Build, FP32, Linear, Shapes, Tables, half};
use crate::config::{AttentionKernel, Family, PositionEmbedding};
use crate::ops::tape::{Form, Order, SCALE, SOFTMAX, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::to_f64;

/// The scores' half of an attention: from queries, keys and values to the output projection's input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    flash: bool,
    /// Keys and values are repeated for groups of query heads.
    repeat: bool,
    one_key: bool,
    /// Several sequences: products of tensors that are not in order copy them.
    batched: bool,
    several_heads: bool,
    soft_cap: bool,
    /// Softmax in fp32 whatever the format (all but GPT-2).
    wide: bool,
    /// How memory holds the kernel's output.
    order: Order,
    /// `[b, s, a · d]`.
    output: Form,
    flops: f64,
    shapes: Shapes,
}

impl Core {
    pub fn new(build: &Build<'_>) -> Self {
        let with = build.with;
        let (heads, kv, d) = (with.local(with.heads()), with.local(with.kv_heads()), with.head_dim());
        let flops = 2.0 * to_f64(with.seq_length) * to_f64(with.context_length) * to_f64(with.micro_batch_size);
        Self {
            flash: with.attention == AttentionKernel::Flash,
            repeat: heads.1 != kv.1,
            one_key: kv.1 == 1,
            batched: with.micro_batch_size > 1,
            several_heads: heads.1 > 1,
            soft_cap: build.model().attn_logit_softcapping,
            wide: build.model().family != Family::Gpt2,
            order: if heads.1 > 1 { Order::Swapped } else { Order::Plain },
            output: build.tape.form([with.b(), with.s(), heads, d]),
            flops: flops * to_f64(with.heads().1) * to_f64(d.1),
            shapes: build.shapes,
        }
    }

    /// The attention output `[b, s, a · d]`, and the probabilities that the module returns beside it.
    pub fn run<'t>(&self, (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>), tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        if self.flash {
            (self.flash(q, k, v), None)
        } else {
            let (output, weights) = self.eager(q, k, v, tables);
            (output, Some(weights))
        }
    }

    /// One kernel: saves queries, keys, values, output and one fp32 log-sum-exp per query and head.
    fn flash<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        tape.at("Attention core (FlashAttention)", sources::FLASH_ATTENTION_2022);
        let results = [("attention output", self.shapes.queries, q.dtype()), ("log-sum-exp", self.shapes.statistics, FP32)];
        let output = tape.kernel(&[q, k, v], &results, 0, (self.order, true, 2.0 * self.flops));
        output.merge(self.output, self.several_heads)
    }

    /// `eager_attention_forward`: product, scale, mask, softmax in fp32, product.
    fn eager<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Var<'t>) {
        q.tape().at("Attention core", sources::PYTORCH_AUTOGRAD);
        let (key, value) = (self.repeated(k), self.repeated(v));
        let scores = q.clone().matmul_transposed(key.clone(), self.shapes.scores, (self.batched, self.flops));
        let mut weights = scores.apply(SCALE);
        if self.soft_cap {
            weights = weights.apply(SCALE).apply(TANH).apply(SCALE);
        }
        if let Some(mask) = &tables.mask {
            weights = weights.add(mask.clone());
        }
        let input = if self.wide { weights.clone().cast(FP32) } else { weights.clone() };
        let probabilities = input.apply(SOFTMAX);
        if !self.wide {
            drop(weights);
            weights = probabilities.clone();
        }
        let probabilities = probabilities.cast(if self.wide { q.dtype() } else { v.dtype() });
        drop(weights);
        let output = probabilities.clone().matmul(value.clone(), self.shapes.queries, (self.batched, self.flops));
        (output.merge(self.output, self.several_heads), probabilities)
    }

    /// `repeat_kv`: a copy for each group's query heads; one head alone is repeated without a copy.
    fn repeated<'t>(&self, x: &Var<'t>) -> Var<'t> {
        match (self.repeat, self.one_key) {
            (true, true) => x.clone().expand(self.shapes.queries),
            (true, false) => x.clone().repeat(self.shapes.queries),
            (false, _) => x.clone(),
        }
    }
}

/// Rotary positions: `x · cos + rotate_half(x) · sin`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotary {
    queries_half: Form,
    keys_half: Form,
}

impl Rotary {
    pub fn new(build: &Build<'_>) -> Self {
        let with = build.with;
        let form = |heads: Dim| build.tape.form([with.b(), heads, with.s(), half(with.head_dim().1)]);
        Self { queries_half: form(with.local(with.heads())), keys_half: form(with.local(with.kv_heads())) }
    }

    /// `apply_rotary_pos_emb`: both are rotated before either original is let go.
    pub fn run<'t>(&self, (q, k): (Var<'t>, Var<'t>), tables: &Tables<'t>) -> (Var<'t>, Var<'t>) {
        let Some((cos, sin)) = &tables.rotary else { return (q, k) };
        q.tape().at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        let queries = rotated(&q, (cos, sin), self.queries_half).named("queries");
        let keys = rotated(&k, (cos, sin), self.keys_half).named("keys");
        (queries, keys)
    }
}

pub(super) fn rotated<'t>(x: &Var<'t>, (cos, sin): (&Var<'t>, &Var<'t>), half: Form) -> Var<'t> {
    let straight = x.clone().mul(cos.clone());
    let first = x.clone().slice(half);
    let turned = x.clone().slice(half).apply(SCALE).cat(first, x.form());
    straight.add(turned.mul(sin.clone()))
}

/// Self-attention as llama and its relatives write it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    norms: Option<(Norm, Norm)>,
    rotary: Option<Rotary>,
    core: Core,
    shapes: Shapes,
    several: (bool, bool),
    /// `[b, s, a, d]` and `[b, s, k, d]`.
    rows: (Form, Form),
}

impl Attention {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let (heads, kv, d) = (with.local(with.heads()), with.local(with.kv_heads()), with.head_dim());
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let columns = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(d.1));
        let bias = |name| model.attention_bias.then_some(name);
        let project =
            |names, heads: Dim| build.column(names, (columns(heads), with.h()), tape.form([with.b(), with.s(), columns(heads)]));
        let query = project(("query weight", bias("query bias")), heads);
        let key = project(("key weight", bias("key bias")), kv);
        let value = project(("value weight", bias("value bias")), kv);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", model.attention_output_bias.then_some("output bias"));
        let output = build.row(names, (with.h(), columns(heads)), build.shapes.hidden);
        tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let norm = |heads: Dim| Norm::new(build, d, tape.form([with.b(), with.s(), heads]));
        let norms = model.qk_norm.then(|| (norm(heads), norm(kv)));
        let rotary = (model.position_embedding == PositionEmbedding::Rotary).then(|| Rotary::new(build));
        let several = (heads.1 > 1, kv.1 > 1);
        let in_rows = |heads: Dim| tape.form([with.b(), with.s(), heads, d]);
        let rows = (in_rows(heads), in_rows(kv));
        Self { query, key, value, output, norms, rotary, core: Core::new(build), shapes: build.shapes, several, rows }
    }

    /// The attention's contribution, and the probabilities it returns.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let (q, k) = if let Some((query, key)) = &self.norms {
            let q = query.run(&self.query.run(x).view(self.rows.0)).swap(self.shapes.queries, self.several.0);
            let k = key.run(&self.key.run(x).view(self.rows.1)).swap(self.shapes.keys, self.several.1);
            (q, k)
        } else {
            let q = self.query.run(x).named("queries").heads(self.shapes.queries, self.several.0);
            (q, self.key.run(x).named("keys").heads(self.shapes.keys, self.several.1))
        };
        let v = self.value.run(x).named("values").heads(self.shapes.keys, self.several.1);
        let (q, k) = match &self.rotary {
            Some(rotary) => rotary.run((q, k), tables),
            None => (q, k),
        };
        let (output, weights) = self.core.run((&q, &k, &v), tables);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output), weights)
    }
}
