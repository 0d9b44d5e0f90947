//! Attention: projections, rotation and the two cores.

use std::rc::Rc;

use super::gate::Behind;
use super::norm::Norm;
use super::rotary::Rotary;
use super::rotation::{Rotated, Rotation};
use super::sinks::Sinks;
use super::{Build, Cached, FP32, Linear, Part, Shapes, Tables};
use crate::config::{AttentionKernel, EmbeddedParts, Keys, PositionEmbedding, QueryKeyNorm, Recompute, RotationStyle, SinkStyle};
use crate::ops::builder::Lowering;
use crate::ops::tape::{Again, Attends, EFFICIENT_ROWS, Form, Order, SCALE, SIGMOID, SOFTMAX, TANH, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::stacks::SelectiveRecompute;
use crate::units::DType;

/// How keys and values are repeated for groups of query heads.
#[derive(Clone, Copy, Debug)]
enum Repeat {
    None,
    /// A single head: `expand` and `reshape` leave a view.
    View,
    Copy,
}

/// The scores' half of an attention: from queries, keys and values to the output projection's input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Core {
    flash: bool,
    repeat: Repeat,
    /// Several sequences: products of tensors that are not in order copy them.
    batched: bool,
    several_heads: bool,
    soft_cap: bool,
    /// Biases of how far keys lie are added to scores.
    adds_biases: bool,
    /// Attention is written out, and holds scores to its end.
    holds_scores: bool,
    /// Selective recomputation: scores and probabilities are made again in backward.
    again: bool,
    sinks: Option<Sinks>,
    /// Softmax in fp32 whatever the format (all but GPT-2).
    wide: bool,
    /// Each query's largest score is subtracted before the softmax.
    less_largest: bool,
    /// `[b, a, s, 1]`.
    largest: Form,
    /// How memory holds the kernel's output.
    order: Order,
    /// `[b, a, s, d]` and `[b, s, a · d]`.
    output: [Form; 2],
    /// `[b, a, s]` with queries padded, as the memory-efficient kernel pads its log-sum-exp.
    padded: Form,
    /// Numbers that say where random numbers of dropout begin.
    random: [Form; 2],
    shapes: Shapes,
}

impl Again for Core {
    fn run<'t>(&self, _tape: &'t Tape, inputs: Vec<Var<'t>>) {
        if let [q, k, v, mask @ ..] = inputs.as_slice() {
            drop(self.eager((q, k, v), (mask.first(), None)));
        }
    }
}

impl Core {
    pub fn new(build: &Build<'_>) -> Self {
        let with = build.with;
        let (heads, kv, value) = (with.own_heads(), with.own_kv_heads(), with.value_dim());
        Self {
            flash: with.attention == AttentionKernel::Flash && !build.model().family.modules().encoder.writes_attention,
            adds_biases: build.model().family.modules().encoder.embedding == EmbeddedParts::WithDistances,
            holds_scores: build.model().family.modules().encoder.writes_attention,
            repeat: match kv.1 {
                same if same == heads.1 => Repeat::None,
                1 => Repeat::View,
                _ => Repeat::Copy,
            },
            batched: with.micro_batch_size > 1,
            several_heads: heads.1 > 1,
            again: with.recompute == Recompute::Selective && with.stack.selective == SelectiveRecompute::AttentionCore,
            soft_cap: build.model().attn_logit_softcapping,
            sinks: None,
            wide: build.model().family.modules().softmax_in_fp32,
            less_largest: build.model().family.modules().subtracts_largest_score,
            largest: build.tape.form([with.b(), heads, with.s(), Dim("largest", 1)]),
            order: if heads.1 > 1 { Order::Swapped } else { Order::Plain },
            padded: {
                let queries = with.s().1;
                let padded = if build.tape.plays_tiles() { queries.next_multiple_of(EFFICIENT_ROWS) } else { queries };
                build.tape.form([with.b(), heads, Dim("padded queries", padded)])
            },
            random: [2, 1].map(|numbers| build.tape.form([Dim("numbers", numbers)])),
            output: [build.tape.form([with.b(), heads, with.s(), value]), build.tape.form([with.b(), with.s(), heads, value])],
            shapes: build.shapes,
        }
    }

    /// A core with such sinks, if any.
    pub fn with_sinks(self, sinks: Option<Sinks>) -> Self {
        Self { sinks, ..self }
    }

    /// A core for keys and values that every query head has.
    pub fn without_repeating(self) -> Self {
        Self { repeat: Repeat::None, ..self }
    }

    /// The attention output `[b, s, a · d]`, and the probabilities that the module returns beside it.
    pub fn run<'t>(&self, (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>), tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        if self.flash {
            return (self.flash(q, k, v), None);
        }
        let run = || self.eager((q, k, v), (tables.mask.as_ref(), tables.alibi.as_ref().filter(|_| self.adds_biases)));
        let (output, weights) = if self.again {
            let inputs: Vec<&Var<'_>> = [q, k, v].into_iter().chain(&tables.mask).collect();
            q.tape().checkpoint_part(Rc::new(*self), &inputs, run)
        } else {
            run()
        };
        (output, Some(weights))
    }

    /// One kernel: saves queries, keys, values, output and one fp32 log-sum-exp per query and head.
    fn flash<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        tape.at("Attention core (FlashAttention)", sources::FLASH_ATTENTION_2022);
        if tape.is_cuda() {
            return self.scaled_dot_product(q, k, v);
        }
        let results = [("attention output", self.output[0], q.dtype()), ("log-sum-exp", self.shapes.statistics, FP32)];
        let output = tape.kernel(&[q, k, v], &results, 0, (self.order, true, Attends::Flash));
        output.merge(self.output[1], self.several_heads)
    }

    /// `scaled_dot_product_attention`, which autocast runs in 16 bits: flash attention there, the memory-efficient kernel in fp32. Both
    /// save the state of random numbers and where dropout stands in them, of a few bytes (`aten/src/ATen/native/transformers/cuda/
    /// attention.cu`).
    fn scaled_dot_product<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        // The last operand is cast first.
        let v = v.clone().for_product();
        let k = k.clone().for_product();
        let q = q.clone().for_product();
        let flash = q.dtype() != FP32;
        let (statistics, state) = (if flash { self.shapes.statistics } else { self.padded }, self.random);
        let made = [("attention output", self.output[0], q.dtype()), ("log-sum-exp", statistics, FP32)];
        let numbers = |name, form| (name, form, DType::Int64);
        let (kernel, main, results) = if flash {
            let [of_state, one] = state;
            (Attends::Flash, 0, [made[0], made[1], numbers("random state", of_state), numbers("unused state", one)])
        } else {
            let one = state[1];
            (Attends::Efficient, 2, [numbers("seed of dropout", one), numbers("dropout offset", one), made[0], made[1]])
        };
        // Flash attention's output lies in memory as the queries do.
        let order = if flash { q.order() } else { self.order };
        let output = tape.kernel(&[&q, &k, &v], &results, main, (order, true, kernel));
        drop((q, k, v));
        output.merge(self.output[1], self.several_heads)
    }

    /// `eager_attention_forward`: product, scale, mask, softmax in fp32, product.
    fn eager<'t>(
        &self,
        (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>),
        (mask, biases): (Option<&Var<'t>>, Option<&Var<'t>>),
    ) -> (Var<'t>, Var<'t>) {
        q.tape().at("Attention core", sources::PYTORCH_AUTOGRAD);
        let (key, value) = (self.repeated(k, self.shapes.repeated[0]), self.repeated(v, self.shapes.repeated[1]));
        let scores = q.clone().matmul_transposed(key.clone(), self.shapes.scores, self.batched);
        let mut weights = scores.apply(SCALE);
        if self.soft_cap {
            weights = weights.apply(SCALE).apply(TANH).apply(SCALE);
        }
        if let Some(biases) = biases {
            weights = weights.add_in_place(biases);
        }
        if let Some(mask) = mask {
            weights = weights.add(mask.clone());
        }
        let _scores = self.holds_scores.then(|| weights.clone());
        match self.sinks {
            Some(sinks) if sinks.style == SinkStyle::OutputScale => {
                return self.scaled_by_sinks(weights, &value, q.dtype(), sinks);
            }
            _ if self.less_largest => return self.less_largest(weights, &value, v.dtype()),
            Some(sinks) => return self.sunk(weights, &value, v.dtype(), sinks),
            None => {}
        }
        let input = if self.wide { weights.clone().cast(FP32) } else { weights.clone() };
        let probabilities = input.apply(SOFTMAX);
        if !self.wide {
            drop(weights);
            weights = probabilities.clone();
        }
        let probabilities = probabilities.cast(if self.wide { q.dtype() } else { v.dtype() });
        drop(weights);
        let output = probabilities.clone().matmul(value.clone(), self.output[0], self.batched);
        (output.merge(self.output[1], self.several_heads), probabilities)
    }

    /// `eager_attention_forward` of gpt-oss: the sinks are one more column of scores, which is dropped after the softmax.
    fn sunk<'t>(&self, weights: Var<'t>, value: &Var<'t>, dtype: DType, sinks: Sinks) -> (Var<'t>, Var<'t>) {
        let column = weights.tape().read(sinks.param).slice(sinks.column);
        let joined = weights.clone().cat(column, sinks.scores);
        let largest = joined.clone().topk(sinks.column).0;
        let joined = joined.sub(largest);
        let probabilities = joined.clone().apply(SOFTMAX);
        let output = probabilities.clone().slice(self.shapes.scores).cast(dtype);
        drop(weights);
        let product = output.clone().matmul(value.clone(), self.output[0], self.batched);
        (product.merge(self.output[1], self.several_heads), output)
    }

    /// Each query's largest score is subtracted, in layers without sinks too; what a step makes takes the place of the scores before.
    fn less_largest<'t>(&self, weights: Var<'t>, value: &Var<'t>, dtype: DType) -> (Var<'t>, Var<'t>) {
        let column = self.sinks.map(|sinks| weights.tape().read(sinks.param).slice(sinks.column));
        let scores = match self.sinks.zip(column) {
            Some((sinks, column)) => weights.cat(column, sinks.scores),
            None => weights,
        };
        let largest = scores.clone().topk(self.largest).0;
        let scores = scores.sub(largest);
        let wide = scores.clone().apply(SOFTMAX).part(self.shapes.scores);
        let probabilities = wide.clone().cast(dtype);
        drop(scores);
        let product = probabilities.clone().matmul(value.clone(), self.output[0], self.batched);
        (product.merge(self.output[1], self.several_heads), probabilities)
    }

    /// `eager_attention_forward` of `granite_swa`: the output is scaled by `sigmoid(logsumexp(scores) - sink)`.
    fn scaled_by_sinks<'t>(&self, weights: Var<'t>, value: &Var<'t>, dtype: DType, sinks: Sinks) -> (Var<'t>, Var<'t>) {
        let lse = weights.clone().log_sum_exp(self.shapes.statistics);
        let scale = lse.clone().sub(lse.tape().read(sinks.param)).cast(FP32).apply(SIGMOID).named("scale by sinks");
        let probabilities = weights.clone().cast(FP32).apply(SOFTMAX).cast(dtype);
        drop(weights);
        let product = probabilities.clone().matmul(value.clone(), self.output[0], self.batched);
        let factor = scale.clone().view(sinks.column).cast(product.dtype());
        let output = product.mul(factor).named("attention output");
        (output.merge(self.output[1], self.several_heads), probabilities)
    }

    /// `repeat_kv`: a copy for each group's query heads; one head alone is repeated without a copy.
    fn repeated<'t>(&self, x: &Var<'t>, form: Form) -> Var<'t> {
        match self.repeat {
            Repeat::None => x.clone(),
            Repeat::View => x.clone().expand(form),
            Repeat::Copy => x.clone().repeat(form),
        }
    }
}

/// Where queries and keys are normed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Head by head, before heads and tokens change places (qwen3).
    Rows,
    /// As those, once queries, keys and values are all there (afmoe).
    RowsLater,
    /// After they have (gemma3).
    Heads,
    /// After they have, and are rotated (nanochat).
    Rotated,
    /// All heads together (olmo2).
    Whole,
}

/// Norms of queries and of keys; a layer without keys of its own has none of these.
fn norms(build: &Build<'_>, has_keys: bool) -> (Place, Norm, Norm) {
    let (with, tape) = (build.with, build.tape);
    tape.at("Query and key norm", sources::PYTORCH_AUTOGRAD);
    let place = match build.model().family.modules().query_key_norm {
        QueryKeyNorm::AfterTransposing => Place::Heads,
        QueryKeyNorm::AfterRotation => Place::Rotated,
        QueryKeyNorm::AllHeadsTogether => Place::Whole,
        QueryKeyNorm::OnceAllAreMade => Place::RowsLater,
        QueryKeyNorm::HeadByHead | QueryKeyNorm::OwnScales | QueryKeyNorm::OwnNorms => Place::Rows,
    };
    let d = with.head_dim();
    let norm = |heads: Dim| match place {
        Place::Whole => Norm::new(build, Dim(heads.0, heads.1.saturating_mul(d.1)), build.shapes.rows),
        _ => Norm::new(build, d, tape.form([with.b(), with.s(), heads])),
    };
    let query = norm(with.own_heads());
    (place, query, if has_keys { norm(with.own_kv_heads()) } else { query })
}

/// Self-attention as llama and its relatives write it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attention {
    query: Linear,
    /// `query` makes keys and values as well.
    joined: bool,
    /// Keys, and values; a layer that reads an earlier one's makes none, and one matrix may make both.
    keys: Option<Linear>,
    values: Option<Linear>,
    output: Linear,
    norms: Option<(Place, Norm, Norm)>,
    rotary: Option<Rotary>,
    /// Rotation that is not of the whole head in the format of hidden states.
    rotation: Option<Rotation>,
    core: Core,
    /// What stands between the core and the output projection.
    behind: Behind,
    /// Values are multiplied by a constant.
    scales_values: bool,
    /// Keys are scaled.
    scales_keys: bool,
    /// Queries come with a gate on the output: `[b, s, a, 2d]` of both, and the gate as `[b, s, a · d]`.
    joint_gate: Option<[Form; 2]>,
    /// Heads that share keys and values are given copies.
    repeats: bool,
    shapes: Shapes,
    several: (bool, bool),
    /// `[b, s, a, d]` and `[b, s, k, d]`.
    rows: (Form, Form),
}

impl Attention {
    pub fn new(build: &Build<'_>, keys: Keys) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let (heads, kv, d) = (with.own_heads(), with.own_kv_heads(), with.head_dim());
        let sinks = model.attention_sinks.then(|| Sinks::new(build));
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        let columns = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(d.1));
        let bias = |name| model.attention_bias.then_some(name);
        let of_values = |heads: Dim| Dim(heads.0, heads.1.saturating_mul(with.value_dim().1));
        let project_to =
            |names, width: Dim| build.column(Part::Attention, names, (width, with.h()), tape.form([with.b(), with.s(), width]));
        let project = |names, heads: Dim| project_to(names, columns(heads));
        let gated = if model.gates_attention() { Dim(heads.0, heads.1.saturating_mul(2)) } else { heads };
        let joined = build.kernels().joins_projections && keys == Keys::Own;
        let query = if joined {
            let all = Dim("heads of queries, keys and values", heads.1.saturating_add(kv.1.saturating_mul(2)));
            project(("query, key and value weight", bias("query, key and value bias")), all)
        } else {
            project(("query weight", bias("query bias")), gated)
        };
        let own = keys == Keys::Own && !joined;
        let keys = (matches!(keys, Keys::Own | Keys::Joint) && !joined).then(|| project(("key weight", bias("key bias")), kv));
        let values = own.then(|| project_to(("value weight", bias("value bias")), of_values(kv)));
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", model.attention_output_bias.then_some("output bias"));
        let output = build.row(Part::Attention, names, (with.h(), of_values(heads)), build.shapes.hidden);
        let norms = model.qk_norm.then(|| norms(build, keys.is_some()));
        let behind = Behind::new(build);
        let rotates = model.position_embedding == PositionEmbedding::Rotary;
        let rotary = rotates.then(|| Rotary::new(build));
        let apart = rotates && model.family.modules().rotation != RotationStyle::Whole;
        let rotation = apart.then(|| Rotation::new(build));
        let several = (heads.1 > 1, kv.1 > 1);
        let in_rows = |heads: Dim| tape.form([with.b(), with.s(), heads, d]);
        let rows = (in_rows(heads), in_rows(kv));
        let (core, shapes) = (Core::new(build).with_sinks(sinks), build.shapes);
        let scales_values = model.family.modules().scales_values;
        let scales_keys = model.family.modules().scales_branches;
        let repeats = build.kernels().repeats_keys && kv.1 < heads.1;
        let joint_gate = model.gates_attention().then(|| {
            let both = Dim("query and gate", d.1.saturating_mul(2));
            [tape.form([with.b(), with.s(), heads, both]), tape.form([with.b(), with.s(), columns(heads)])]
        });
        Self {
            query,
            joined,
            keys,
            values,
            output,
            norms,
            rotary,
            rotation,
            core,
            joint_gate,
            behind,
            scales_values,
            scales_keys,
            repeats,
            shapes,
            several,
            rows,
        }
    }

    /// Keys and values: `2 · k · d` elements.
    pub fn cached(with: &Lowering) -> Cached {
        vec![("cached keys", [with.kv_heads(), with.head_dim()]), ("cached values", [with.kv_heads(), with.value_dim()])]
    }

    /// The attention's contribution, and the probabilities it returns.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> (Var<'t>, Option<Var<'t>>) {
        tape.at("Query, key and value projection", sources::PYTORCH_AUTOGRAD);
        // Layers without keys or values of their own run for their products alone: a job that trains them cannot be made.
        let made = |layer: &Option<Linear>, name| match layer {
            Some(layer) => layer.run(x),
            None => tape.constant(name, self.shapes.keys, x.dtype()),
        };
        let key = || made(&self.keys, "keys of an earlier layer");
        let queries = |q: Var<'t>| q.named("queries").heads(self.shapes.queries, self.several.0);
        let keys = |k: Var<'t>| {
            let k = k.named("keys").heads(self.shapes.keys, self.several.1);
            if self.scales_keys { k.apply(SCALE).named("keys") } else { k }
        };
        let mut gates = None;
        let mut value = || {
            let values = made(&self.values, "values of an earlier layer, or of the keys' matrix").named("values");
            gates = self.behind.beside(x);
            values
        };
        let heads = |v: Var<'t>| {
            let v = v.heads(self.shapes.values, self.several.1);
            if self.scales_values { v.apply(SCALE).named("values") } else { v }
        };
        let mut gate_of_queries = None;
        let (q, k, v) = match &self.norms {
            _ if self.joined => self.taken_apart(x),
            Some((Place::Rows, query, key_norm)) => {
                let queries = self.queries(x, &mut gate_of_queries);
                let q = query.run(&queries).swap(self.shapes.queries, self.several.0);
                drop(queries);
                let k = key_norm.run(&key().view(self.rows.1)).swap(self.shapes.keys, self.several.1);
                (q, k, heads(value()))
            }
            Some((Place::RowsLater, query, key_norm)) => {
                let (q, k) = (self.query.run(x).named("queries"), key().named("keys"));
                let v = value();
                x.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
                let q = query.run(&{ q }.view(self.rows.0)).swap(self.shapes.queries, self.several.0);
                let k = key_norm.run(&{ k }.view(self.rows.1)).swap(self.shapes.keys, self.several.1);
                (q, k, heads(v))
            }
            Some((Place::Whole, query, key_norm)) => {
                let q = query.run(&self.query.run(x));
                let k = key_norm.run(&key());
                let v = value();
                (queries(q), keys(k), heads(v))
            }
            Some((Place::Heads, query, key_norm)) => {
                let (q, k, v) = (queries(self.query.run(x)), keys(key()), heads(value()));
                let q = query.run(&{ q });
                let k = key_norm.run(&{ k });
                (q, k, v)
            }
            Some((Place::Rotated, ..)) | None => (queries(self.query.run(x)), keys(key()), heads(value())),
        };
        let (q, k, _parts) = self.rotated((q, k), tables);
        let (q, k) = self.normed_last(q, k);
        let (k, v) = self.of_every_head(tables.seen((k, v)));
        let (mut output, weights) = self.behind.attended(&self.core, (&q, &k, &v), tables);
        if let Some(gate) = &gate_of_queries {
            output = output.mul(gate.clone().apply(SIGMOID)).named("gated attention output");
        }
        let output = self.behind.gated(x, output, gates.as_ref());
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let output = self.behind.normed(output);
        (self.output.run(&output), weights)
    }

    /// Queries and keys, rotated, and parts that are held.
    fn rotated<'t>(&self, (q, k): (Var<'t>, Var<'t>), tables: &Tables<'t>) -> Rotated<'t> {
        match (&self.rotation, &self.rotary) {
            (Some(rotation), _) => rotation.run(q, k, tables),
            (None, Some(rotary)) => {
                let (q, k) = rotary.run((q, k), tables);
                (q, k, Vec::new())
            }
            (None, None) => (q, k, Vec::new()),
        }
    }

    /// Queries by heads; the gate that comes with them is put in order.
    fn queries<'t>(&self, x: &Var<'t>, gate: &mut Option<Var<'t>>) -> Var<'t> {
        let made = self.query.run(x);
        let Some([both, columns]) = self.joint_gate else { return made.view(self.rows.0) };
        let [queries, own] = made.view(both).split([self.rows.0; 2]);
        let own = if self.several.0 { own.copy() } else { own };
        *gate = Some(own.in_parts(columns).named("gate"));
        queries
    }

    /// Keys and values that every query head has for itself, where heads that share them are given copies.
    fn of_every_head<'t>(&self, (k, v): (Var<'t>, Var<'t>)) -> (Var<'t>, Var<'t>) {
        if !self.repeats {
            return (k, v);
        }
        let repeated = |x: &Var<'t>, name| {
            let rows = x.clone().swap(self.rows.1, self.several.1).repeat(self.rows.0).named(name);
            rows.swap(self.shapes.queries, self.several.0)
        };
        (repeated(&k, "keys of every head"), repeated(&v, "values of every head"))
    }

    /// Queries, keys and values of one product, each copied.
    fn taken_apart<'t>(&self, x: &Var<'t>) -> (Var<'t>, Var<'t>, Var<'t>) {
        let all = self.query.run(x).named("queries, keys and values");
        let [q, k, v] = all.split([self.rows.0, self.rows.1, self.rows.1]);
        let [q, k, v] = [(&q, "queries"), (&k, "keys"), (&v, "values")].map(|(part, name)| part.clone().copy().named(name));
        (
            q.swap(self.shapes.queries, self.several.0),
            k.swap(self.shapes.keys, self.several.1),
            v.swap(self.shapes.values, self.several.1),
        )
    }

    /// Queries and keys, normed where that is done after rotation.
    fn normed_last<'t>(&self, q: Var<'t>, k: Var<'t>) -> (Var<'t>, Var<'t>) {
        let Some((Place::Rotated, query, key)) = &self.norms else { return (q, k) };
        q.tape().at("Query and key norm", sources::PYTORCH_AUTOGRAD);
        let q = query.run(&{ q });
        let k = key.run(&{ k });
        (q, k)
    }
}
