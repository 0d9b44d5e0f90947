//! Falcon's block (transformers 5.23, `models/falcon/modeling_falcon.py`): products written with
//! `@`, whose transposed weights autocast casts anew each time, and scores in the activations'
//! format. Only its FlashAttention class has no scores.

use super::attention_core::Core;
use super::mlp::Activation;
use super::norm::Norm;
use super::rotary::rotated;
use super::{Block, Build, FP32, Linear, Part, Shapes, Split, Tables, half};
use crate::config::AttentionKernel;
use crate::ops::tape::{Form, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// How queries, keys and values lie in the joint projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Three per head.
    Heads,
    /// All query heads, then one key and one value head (`multi_query`).
    One,
    /// For each key/value head its query heads, the key and the value (`new_decoder_architecture`);
    /// several query heads each.
    Groups(bool),
}

/// One block.
#[derive(Debug)]
pub(super) struct Falcon {
    projection: Linear,
    output: Linear,
    up: Linear,
    down: Linear,
    /// Before attention and, where it has one of its own, before the feed-forward layer.
    norms: [Option<Norm>; 2],
    core: Option<Core>,
    layout: Layout,
    parallel: bool,
    act: Activation,
    batched: bool,
    several: bool,
    shapes: Shapes,
    forms: Forms,
}

/// Shapes around the joint projection.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, a, d]`, as slices of the joint projection have it.
    queries: Form,
    /// Keys or values before they are spread over query heads: `[b, s, k, d]`, and as heads.
    picked: Form,
    keys: Form,
    /// Half of the rotated width of queries and keys.
    halves: [Form; 2],
    merged: Form,
}

impl Forms {
    fn new(build: &Build<'_>, layout: Layout) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        // Keys are as many as query heads once the groups are spread.
        let spread = if layout == Layout::One { kv } else { heads };
        Self {
            queries: tape.form([with.b(), with.s(), heads, d]),
            picked: tape.form([with.b(), with.s(), kv, d]),
            keys: tape.form([with.b(), spread, with.s(), d]),
            halves: [heads, spread].map(|heads| tape.form([with.b(), heads, with.s(), half(d.1)])),
            merged: tape.form([
                with.b(),
                with.s(),
                Dim("columns of heads", heads.1.saturating_mul(d.1)),
            ]),
        }
    }
}

impl Falcon {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, model, tape, h) = (build.with, build.model(), build.tape, build.with.h());
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let layout = match (model.new_decoder_architecture, kv.1 == heads.1) {
            (true, same) => Layout::Groups(!same),
            (false, true) => Layout::Heads,
            (false, false) => Layout::One,
        };
        let columns = |name, count: u64| Dim(name, count.saturating_mul(d.1));
        let joint = columns("q+k+v width", heads.1.saturating_add(kv.1.saturating_mul(2)));
        let whole = columns(heads.0, heads.1);
        let row = |last| tape.form([with.b(), with.s(), last]);
        let biased = |names: (&'static str, &'static str)| {
            (names.0, model.attention_bias.then_some(names.1))
        };
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let names = biased(("query, key and value weight", "query, key and value bias"));
        let projection = build.column(Part::Attention, names, (joint, h), row(joint));
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = biased(("output weight", "output bias"));
        let output = build.row(Part::Attention, names, (h, whole), build.shapes.hidden);
        let inner = with.share(Part::FeedForward, with.ffn());
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let names = biased(("up weight", "up bias"));
        let up = build.column(Part::FeedForward, names, (inner, h), build.shapes.inner);
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        let names = biased(("down weight", "down bias"));
        let down = build.row(Part::FeedForward, names, (h, inner), build.shapes.hidden);
        let norm = |name| {
            tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, h, build.shapes.rows)
        };
        let second = model.norms_per_block > 1;
        let norms = if model.parallel_residual {
            let first = norm("Input norm");
            [Some(first), second.then(|| norm("Feed-forward norm"))]
        } else {
            // In the order of registration.
            let after = norm("Feed-forward norm");
            [Some(norm("Input norm")), Some(after)]
        };
        let forms = Forms::new(build, layout);
        Self {
            projection,
            output,
            up,
            down,
            norms,
            core: (with.attention == AttentionKernel::Flash).then(|| Core::new(build)),
            layout,
            parallel: model.parallel_residual,
            act: Activation::new(build),
            batched: with.micro_batch_size > 1,
            several: heads.1 > 1,
            shapes: build.shapes,
            forms,
        }
    }

    /// `_split_heads`: queries, keys and values as heads.
    fn split<'t>(&self, joint: &Var<'t>) -> [Var<'t>; 3] {
        let forms = &self.forms;
        let heads = |x: Var<'t>, form, several| x.swap(form, several);
        let query = joint.clone().slice(forms.queries);
        if self.layout == Layout::Heads {
            let [key, value] = [(); 2].map(|()| joint.clone().slice(forms.queries));
            return [query, key, value].map(|x| heads(x, self.shapes.queries, self.several));
        }
        let picked = [(); 2].map(|()| joint.clone().pick(forms.picked));
        if let Layout::Groups(several) = self.layout {
            let query = if several { query.copy() } else { query };
            let spread =
                |x: &Var<'t>| if several { x.clone().repeat(forms.queries) } else { x.clone() };
            let [key, value] = [spread(&picked[0]), spread(&picked[1])];
            return [query, key, value].map(|x| heads(x, self.shapes.queries, self.several));
        }
        let [key, value] = picked;
        let one = |x| heads(x, forms.keys, false);
        [heads(query, self.shapes.queries, self.several), one(key), one(value)]
    }

    /// Keys or values as the batched product reads them: one head is spread over all, after
    /// autocast has cast it.
    fn spread<'t>(&self, x: &Var<'t>) -> Var<'t> {
        if self.layout == Layout::One {
            x.clone().for_product().expand(self.shapes.queries)
        } else {
            x.clone()
        }
    }

    fn attention<'t>(
        &self,
        tape: &'t Tape,
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let joint = self.projection.falcon(x).named("queries, keys and values");
        let [mut q, mut k, v] = self.split(&joint);
        if let (Some((cos, sin)), None) = (&tables.rotary, &tables.alibi) {
            tape.at("Rotary positions", sources::PYTORCH_AUTOGRAD);
            let queries = rotated(&q, (cos, sin), self.forms.halves[0]).named("queries");
            k = rotated(&k, (cos, sin), self.forms.halves[1]).named("keys");
            q = queries;
        }
        let (context, weights) = match &self.core {
            Some(core) => core.run((&q, &k, &v), tables),
            None => self.scores((&q, &k, &v), x, tables),
        };
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.falcon(&context), weights)
    }

    fn scores<'t>(
        &self,
        (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>),
        x: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        q.tape().at("Attention core", sources::PYTORCH_AUTOGRAD);
        let product = q.clone().matmul_transposed(self.spread(k), self.shapes.scores, self.batched);
        // Divided in place; with linear biases they are added first, in fp32.
        let (mut weights, mut held) = (product.clone(), None);
        if let Some(alibi) = &tables.alibi {
            let wide = product.clone().cast_as(FP32, "scores in fp32");
            weights = wide.clone().add(alibi.clone());
            held = Some((product.clone(), wide));
        }
        drop(product);
        let mut logits = weights.in_place();
        let mut input = logits.clone();
        if let Some(mask) = &tables.mask {
            input = input.add(mask.clone());
        }
        let probabilities = input.clone().cast(x.dtype()).apply(SOFTMAX);
        drop(input);
        if tables.alibi.is_none() {
            logits = probabilities.clone();
        }
        let context =
            probabilities.clone().matmul(self.spread(v), self.shapes.queries, self.batched);
        let context = context.merge(self.forms.merged, self.several);
        drop((held, logits));
        (context, Some(probabilities))
    }

    fn feed<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        tape.at("Feed-forward up", sources::PYTORCH_AUTOGRAD);
        let inner = self.act.run(&self.up.falcon(x).named("up output")).named("down input");
        tape.at("Feed-forward down", sources::PYTORCH_AUTOGRAD);
        self.down.falcon(&inner)
    }

    fn norm<'t>(&self, tape: &'t Tape, number: usize, x: &Var<'t>) -> Option<Var<'t>> {
        let norm = self.norms.get(number)?.as_ref()?;
        tape.at(
            if number == 0 { "Input norm" } else { "Feed-forward norm" },
            sources::PYTORCH_AUTOGRAD,
        );
        Some(norm.run(x))
    }
}

impl Linear {
    /// `FalconLinear`: `x @ Wᵀ`, then `+ bias`.
    fn falcon<'t>(&self, input: &Var<'t>) -> Var<'t> {
        let x = if self.split == Split::Column {
            input.clone().summed_in_backward()
        } else {
            input.clone()
        };
        let tape = x.tape();
        let product = match self.packed {
            Some(packed) => x.linear_packed(packed, None, self.form),
            None => x.times(self.weight, self.form),
        };
        let product = if self.split == Split::Row { product.summed_over_ranks() } else { product };
        let output = match self.bias {
            Some(bias) => product.clone().add(tape.read(bias)),
            None => product,
        };
        self.adapted(input, output)
    }
}

impl Block for Falcon {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let Some(normed) = self.norm(tape, 0, hidden) else { return (hidden.clone(), None) };
        let own = if self.parallel { self.norm(tape, 1, hidden) } else { None };
        let (attention, weights) = self.attention(tape, &normed, tables);
        if self.parallel {
            let feed = self.feed(tape, own.as_ref().unwrap_or(&normed)).add_in_place(&attention);
            return (hidden.clone().add(feed.clone()).named("block output"), weights);
        }
        let residual = hidden.clone().add(attention.clone()).named("attention residual");
        let second = self.norm(tape, 1, &residual).unwrap_or_else(|| residual.clone());
        let feed = self.feed(tape, &second);
        (residual.clone().add(feed.clone()).named("block output"), weights)
    }
}
