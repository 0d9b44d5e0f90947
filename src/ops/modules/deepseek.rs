//! DeepSeek's blocks: latent attention and experts chosen in groups
//! (transformers 5.23: `modeling_deepseek_v3.py`, `modeling_deepseek_v2.py`).

use super::attention_core::Core;
use super::gate::Gate;
use super::indexer::Sight;
use super::mlp::Mlp;
use super::moe::{self, Experts};
use super::norm::Norm;
use super::wrapped::Wrapped;
use super::{Build, Cached, FP32, Linear, Part, Tables};
use crate::config::{
    self, AttentionGate, LayerKind, Mla, Moe, PositionEmbedding, RotaryTables, RouterScores,
    SharedTurn,
};
use crate::ops::tape::{Form, Param, SCALE, SIGMOID, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Multi-head latent attention: queries, keys and values grow from narrow projections.
#[derive(Debug)]
pub(super) struct Latent {
    narrow: Option<(Linear, Norm)>,
    query: Linear,
    compress: Linear,
    norm: Norm,
    grow: Linear,
    output: Linear,
    core: Core,
    several: bool,
    /// A gate of the output.
    gate: Option<Gate>,
    /// Queries are made with a gate: what both are made of, both together, the gate of every head,
    /// and all its columns.
    with_gate: Option<[Form; 4]>,
    /// Part of each head is rotated.
    rotates: bool,
    /// Rotated by complex numbers (DeepSeek-V2).
    complex: bool,
    /// The tokens that attention sees, where these are chosen.
    sight: Option<Sight>,
    forms: Forms,
}

/// Shapes of the parts of queries, keys and values.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, a, s, nope + rope]`.
    queries: Form,
    /// Unrotated and rotated part of queries or keys of every head.
    heads: [Form; 2],
    /// Compressed keys and values, and the rotated key that heads share.
    latents: [Form; 2],
    /// `[b, a, s, nope + v]`, and its value part.
    grown: [Form; 2],
    /// Half of what is rotated: of every head, of the shared key, of the tables.
    halves: [Form; 3],
}

impl Forms {
    fn new(build: &Build<'_>, mla: Mla) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, heads) = (with.b(), with.s(), with.own_heads());
        let of_heads = |width| tape.form([b, heads, s, Dim("part of the head", width)]);
        let of_tokens = |width| tape.form([b, s, Dim("part of the latent", width)]);
        let half = super::half(mla.qk_rope_head_dim).1;
        Self {
            queries: build.shapes.queries,
            heads: [of_heads(mla.qk_nope_head_dim), of_heads(mla.qk_rope_head_dim)],
            latents: [of_tokens(mla.kv_lora_rank), of_tokens(mla.qk_rope_head_dim)],
            grown: [
                of_heads(mla.qk_nope_head_dim.saturating_add(mla.v_head_dim)),
                of_heads(mla.v_head_dim),
            ],
            halves: [
                of_heads(half),
                of_tokens(half),
                tape.form([s, Dim("half of the rotated width", half)]),
            ],
        }
    }
}

impl Latent {
    pub fn new(build: &Build<'_>, mla: Mla, kind: LayerKind) -> Self {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        let heads = with.own_heads();
        let bias = |name| model.attention_bias.then_some(name);
        let project = |names, output: Dim, input| {
            build.linear(names, (output, input), tape.form([with.b(), with.s(), output]))
        };
        let columns = |width: u64| Dim("columns of all heads", heads.1.saturating_mul(width));
        tape.at("Latent query projection", sources::PYTORCH_AUTOGRAD);
        let rank = mla.q_lora_rank.map(|rank| Dim("q_lora_rank", rank));
        let narrow = rank.map(|rank| {
            let down = project(("query down weight", bias("query down bias")), rank, with.h());
            (down, Norm::new(build, rank, build.shapes.rows))
        });
        let grow = |names, output: Dim, input| {
            build.column(
                Part::Attention,
                names,
                (output, input),
                tape.form([with.b(), with.s(), output]),
            )
        };
        let with_gate = model.family.modules().gate == AttentionGate::WithLatentQueries;
        let gated = if with_gate { mla.v_head_dim } else { 0 };
        let twice = |rank: Dim| Dim("narrow queries, twice", rank.1.saturating_mul(2));
        let input = if with_gate { rank.map(twice) } else { rank };
        let query = grow(
            ("query weight", None),
            columns(mla.qk_head_dim().saturating_add(gated)),
            input.unwrap_or(with.h()),
        );
        tape.at("Latent key and value projection", sources::PYTORCH_AUTOGRAD);
        let rank = Dim("kv_lora_rank", mla.kv_lora_rank);
        let both = Dim(
            "kv_lora_rank + qk_rope_head_dim",
            mla.kv_lora_rank.saturating_add(mla.qk_rope_head_dim),
        );
        let compress =
            project(("key and value down weight", bias("key and value down bias")), both, with.h());
        let norm = Norm::new(build, rank, build.shapes.rows);
        let grown = mla.qk_nope_head_dim.saturating_add(mla.v_head_dim);
        let grow = grow(("key and value weight", None), columns(grown), rank);
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        let names = ("output weight", bias("output bias"));
        let output = build.row(
            Part::Attention,
            names,
            (with.h(), columns(mla.v_head_dim)),
            build.shapes.hidden,
        );
        let core = Core::new(build).without_repeating();
        let complex = model.family.modules().rotary_tables == RotaryTables::Complex;
        let sight = model.indexer().map(|sizes| Sight::new(build, mla, (sizes, kind.indexed)));
        let (several, forms) = (heads.1 > 1, Forms::new(build, mla));
        let rotates = model.position_embedding == PositionEmbedding::Rotary;
        Self {
            narrow,
            query,
            compress,
            norm,
            grow,
            output,
            core,
            several,
            gate: Gate::new(build),
            with_gate: with_gate.then(|| {
                let of_heads =
                    |width| tape.form([with.b(), heads, with.s(), Dim("part of the head", width)]);
                let all = columns(mla.v_head_dim);
                let joined = tape.form([with.b(), with.s(), input.unwrap_or(with.h())]);
                [
                    joined,
                    of_heads(mla.qk_head_dim().saturating_add(gated)),
                    of_heads(gated),
                    tape.form([with.b(), with.s(), all]),
                ]
            }),
            rotates,
            complex,
            sight,
            forms,
        }
    }

    /// One compressed vector and one rotated key part, which every tensor rank holds.
    pub fn cached(mla: Mla, indexer: Option<&config::Indexer>) -> Cached {
        let one = |width| [Dim("all heads", 1), width];
        let of_indexer = indexer
            .map(|indexer| ("cached index keys", one(Dim("index_head_dim", indexer.head_dim))));
        let latent = [
            ("cached latent vectors", one(Dim("kv_lora_rank", mla.kv_lora_rank))),
            ("cached rotated keys", one(Dim("qk_rope_head_dim", mla.qk_rope_head_dim))),
        ];
        latent.into_iter().chain(of_indexer).collect()
    }

    /// `expand_kv`: keys are put together in place, values stay a part of what they grew from.
    fn keys_and_values<'t>(
        &self,
        tape: &'t Tape,
        latent: &Var<'t>,
        rotated: &Var<'t>,
    ) -> (Var<'t>, Var<'t>) {
        tape.at("Latent key and value projection", sources::PYTORCH_AUTOGRAD);
        let [unrotated, turned] = self.forms.heads;
        let [grown, values] = self.forms.grown;
        let both = self.grow.run(latent).named("keys and values").heads(grown, self.several);
        let order = both.order();
        let dtype = both.dtype();
        let [keys, values] = both.split([unrotated, values]).map(|part| part.ordered(order));
        let rotated = rotated.clone().expand(turned);
        let key = tape.constant("keys", self.forms.queries, dtype).fill(&keys);
        (key.fill(&rotated), values)
    }

    fn rotate<'t>(&self, (q, k): (Var<'t>, Var<'t>), tables: &Tables<'t>) -> (Var<'t>, Var<'t>) {
        let Some((cos, sin)) = &tables.rotary else { return (q, k) };
        q.tape().at("Rotary positions", sources::PYTORCH_AUTOGRAD);
        if self.complex {
            let (wide_q, wide_k) = (q.clone().cast(FP32), k.clone().cast(FP32));
            let turn =
                |wide: &Var<'t>, like: &Var<'t>| wide.clone().turned_by(cos).cast(like.dtype());
            return (turn(&wide_q, &q), turn(&wide_k, &k));
        }
        let [of_heads, shared, table] = self.forms.halves;
        let halves = |x: &Var<'t>, half: Form| {
            [x.clone().slice(half).ordered(x.order()), x.clone().slice(half).ordered(x.order())]
        };
        let tables = [cos.clone().slice(table), sin.clone().slice(table)];
        let (queries, keys) = (halves(&q, of_heads), halves(&k, shared));
        (interleaved(&queries, &tables, q.form()), interleaved(&keys, &tables, k.form()))
    }
}

/// `apply_rotary_pos_emb_interleave` on even and odd columns.
pub(super) fn interleaved<'t>(
    [even, odd]: &[Var<'t>; 2],
    [cos, sin]: &[Var<'t>; 2],
    form: Form,
) -> Var<'t> {
    let first = even.clone().mul(cos.clone()).sub(odd.clone().mul(sin.clone()));
    let second = odd.clone().mul(cos.clone()).add(even.clone().mul(sin.clone()));
    first.cat(second, form)
}

impl Latent {
    /// Queries of heads, and the numbers of a gate that is made with them.
    fn queries<'t>(&self, narrow: &Var<'t>, raw: Option<&Var<'t>>) -> (Var<'t>, Option<Var<'t>>) {
        let Some(([joined, both, of_heads, columns], raw)) = self.with_gate.zip(raw) else {
            return (self.query.run(narrow).heads(self.forms.queries, self.several), None);
        };
        let joined = narrow.clone().cat(raw.clone(), joined);
        let made = self.query.run(&{ joined }).named("queries and gates").heads(both, self.several);
        let order = made.order();
        let [queries, gates] =
            made.split([self.forms.queries, of_heads]).map(|part| part.ordered(order));
        let gates = gates.copy().view(columns).named("gates of attention");
        (queries, Some(gates))
    }

    /// The attention's contribution, the probabilities that it returns, and the tokens that it
    /// hands on.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, tables: &Tables<'t>) -> Attended<'t> {
        tape.at("Latent query projection", sources::PYTORCH_AUTOGRAD);
        let raw = self.narrow.as_ref().map(|(down, norm)| (down.run(x), norm));
        let narrow = raw.as_ref().map(|(raw, norm)| norm.run(raw));
        // With a gate both stay to the end.
        let raw = raw.map(|(raw, _)| raw).filter(|_| self.with_gate.is_some());
        let (q, gates) = self.queries(narrow.as_ref().unwrap_or(x), raw.as_ref());
        // The indexer reads it once more.
        let narrow = narrow.filter(|_| self.sight.is_some());
        let (order, rotates) = (q.order(), self.rotates);
        let mut parts =
            rotates.then(|| q.clone().split(self.forms.heads).map(|part| part.ordered(order)));
        tape.at("Latent key and value projection", sources::PYTORCH_AUTOGRAD);
        let compressed = self.compress.run(x).named("latent keys and values");
        let [latent, k_rot] = compressed.clone().split(self.forms.latents);
        let latent = self.norm.run(&{ latent });
        let mut k_rot = k_rot;
        let queries = match parts.as_mut() {
            Some([q_pass, q_rot]) => {
                let (turned, keys) = self.rotate((q_rot.clone(), k_rot.clone()), tables);
                (*q_rot, k_rot) = (turned, keys);
                q_pass.clone().cat(q_rot.clone(), self.forms.queries).named("queries")
            }
            None => q.clone().named("queries"),
        };
        drop(q);
        let (keys, values) = self.keys_and_values(tape, &latent, &k_rot);
        let indexed =
            self.sight.as_ref().map(|sight| sight.run((x, narrow.as_ref().unwrap_or(x)), tables));
        let own =
            indexed.as_ref().map(|indexed| Tables { mask: indexed.mask.clone(), ..tables.clone() });
        let (mut output, weights) =
            self.core.run((&queries, &keys, &values), own.as_ref().unwrap_or(tables));
        if let Some(gate) = &self.gate {
            output = gate.run(x, output, None);
        }
        if let Some(gates) = &gates {
            let gates = gates.clone().cast_as(FP32, "gates in fp32").apply(SIGMOID);
            let format = output.dtype();
            output = output.mul(gates).cast_as(format, "gated attention output");
        }
        tape.at("Output projection", sources::PYTORCH_AUTOGRAD);
        (self.output.run(&output), weights, indexed.and_then(|indexed| indexed.handed_on))
    }
}

/// Attention's output, the probabilities that it returns, and the tokens that it hands on to the
/// next block.
pub(super) type Attended<'t> = (Var<'t>, Option<Var<'t>>, Option<Var<'t>>);

/// Routed experts, and shared ones beside them that every token goes through.
#[derive(Debug)]
pub(super) struct Sparse {
    experts: Experts,
    router: Routing,
    shared: Option<Mlp>,
    turn: SharedTurn,
    /// True if the sum of routed experts is scaled; true if that of all experts is.
    scaled: [bool; 2],
    /// A norm of the sum of all experts.
    norm: Option<Norm>,
    /// One number per token that weighs the shared experts (`qwen2_moe`).
    gate: Option<Linear>,
    /// The matrices before and behind routed experts that work on a narrower width.
    narrowed: Option<[Linear; 2]>,
}

/// Who scores the experts.
#[derive(Debug)]
enum Routing {
    /// DeepSeek's router, in fp32 throughout.
    Grouped(Router),
    /// The router of layers without shared experts.
    Plain(moe::Router),
}

impl Sparse {
    pub fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let own = build.model().family.modules().experts;
        let turn = if moe.shared_expert_gate { SharedTurn::First } else { own.shared_turn };
        let plain = || {
            let router = moe::Router::new(build, moe);
            moe::correction(build, moe);
            Routing::Plain(router)
        };
        let of_picked = moe::of_picked(own.scores);
        let routing = || {
            if moe.shared_expert_gate || own.routes_without_groups || of_picked {
                plain()
            } else {
                Routing::Grouped(Router::new(build, moe))
            }
        };
        let early = own.router_first.then(routing);
        let experts = Experts::new(build, moe);
        let router = early.unwrap_or_else(routing);
        let width = Dim("shared_expert_intermediate_size", moe.shared_expert_intermediate_size);
        let shared = (width.1 > 0)
            .then(|| Mlp::sized(build, width, ["Shared experts up", "Shared experts down"]));
        build.tape.at("Shared experts' gate", sources::PYTORCH_AUTOGRAD);
        let one = Dim("gate", 1);
        let gate = moe.shared_expert_gate.then(|| {
            build.linear(
                ("shared expert gate weight", None),
                (one, build.with.h()),
                build.shapes.rows,
            )
        });
        build.tape.at("Experts' narrower width", sources::PYTORCH_AUTOGRAD);
        let narrow = moe::width(build, moe);
        let narrowed = (moe.latent > 0).then(|| {
            let to = build.tape.form([build.with.b(), build.with.s(), narrow]);
            let down = build.linear(("narrowing weight", None), (narrow, build.with.h()), to);
            [
                down,
                build.linear(
                    ("widening weight", None),
                    (build.with.h(), narrow),
                    build.shapes.hidden,
                ),
            ]
        });
        let norm = own.norms_output.then(|| Norm::new(build, build.with.h(), build.shapes.rows));
        Self {
            experts,
            router,
            shared,
            turn,
            scaled: [own.scales_sum, own.scales_total],
            norm,
            gate,
            narrowed,
        }
    }
}

impl Sparse {
    /// The routed experts' sum, brought to their width and back.
    fn routed<'t>(&self, tape: &'t Tape, x: &Var<'t>, weights: &Var<'t>) -> Var<'t> {
        let Some([down, up]) = &self.narrowed else { return self.experts.run(tape, x, weights) };
        tape.at("Experts' narrower width", sources::PYTORCH_AUTOGRAD);
        let narrow = down.run(x).named("experts' input");
        let sum = self.experts.run(tape, &{ narrow }, weights);
        tape.at("Experts' narrower width", sources::PYTORCH_AUTOGRAD);
        up.run(&{ sum })
    }

    /// The experts' contribution.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        let shared = || self.shared.as_ref().map(|shared| shared.run(tape, x));
        let early = if self.turn == SharedTurn::First { shared() } else { None };
        let (_logits, weights, _index) = match &self.router {
            Routing::Grouped(router) => router.run(tape, x),
            Routing::Plain(router) => router.run(x),
        };
        let early = if self.turn == SharedTurn::BehindRouter { shared() } else { early };
        let routed = self.routed(tape, x, &weights);
        let routed = if self.scaled[0] { routed.apply(SCALE) } else { routed };
        let Some(shared) = early.or_else(shared) else {
            return routed.named("feed-forward output");
        };
        let shared = match &self.gate {
            Some(gate) => {
                tape.at("Shared experts' gate", sources::PYTORCH_AUTOGRAD);
                gate.run(x).apply(SIGMOID).mul(shared)
            }
            None => shared,
        };
        let sum = routed.add(shared);
        let sum = if self.scaled[1] { sum.apply(SCALE) } else { sum }.named("feed-forward output");
        match &self.norm {
            Some(norm) => norm.run(&sum),
            None => sum,
        }
    }
}

/// Chooses each token's experts, first among groups of them.
#[derive(Debug)]
struct Router {
    weight: Param,
    wrapped: Option<Wrapped>,
    /// Scores are sigmoids, corrected for the choice alone (V3), instead of a softmax (V2).
    sigmoid: bool,
    norm: bool,
    /// Several groups: experts of those that are not kept are masked.
    grouped: bool,
    /// Nothing is chosen among groups.
    ungrouped: bool,
    /// A group has several experts: the mask of groups is written out for them.
    several: bool,
    /// `[tokens, experts]`, `[tokens, k]`, `[tokens, 1]`.
    forms: [Form; 3],
    /// `[tokens, groups, 2]`, `[tokens, groups]`, `[tokens, kept groups]`.
    groups: [Form; 3],
}

impl Router {
    fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let (with, tape) = (build.with, build.tape);
        let experts = Dim("num_experts", moe.num_experts);
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let weight = build.parameter("router weight", [experts, with.h()]);
        let wrapped = Wrapped::of_router(build, [experts, with.h()]);
        let own = build.model().family.modules().experts;
        let sigmoid = own.scores == RouterScores::CorrectedSigmoid;
        moe::correction(build, moe);
        let (b, s) = (with.b(), with.s());
        let form = |width| tape.form([b, s, Dim("chosen", width)]);
        let groups = moe.n_group.max(1);
        Self {
            weight,
            wrapped,
            sigmoid,
            norm: moe.norm_topk_prob && !own.ignores_norm_topk_prob,
            grouped: groups > 1,
            ungrouped: groups == 1 && own.one_group_is_none,
            several: groups < moe.num_experts,
            forms: [tape.form([b, s, experts]), form(moe.num_experts_per_tok), build.shapes.rows],
            groups: [form(groups.saturating_mul(2)), form(groups), form(moe.topk_group)],
        }
    }

    /// Logits, weights and numbers of each token's experts.
    fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Var<'t>, Var<'t>) {
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let [all, chosen, one] = self.forms;
        let x = x.clone().view(x.form());
        let wide = x.clone().cast_as(FP32, "router input in fp32");
        let update = self.wrapped.map(|wrapped| wrapped.update(tape, self.weight));
        let weight =
            update.as_ref().map_or_else(|| tape.weight(self.weight), |update| update.weight(tape));
        let weight =
            if x.dtype() == FP32 { weight } else { weight.cast_as(FP32, "router weight in fp32") };
        let logits = wide.linear_by(&weight, all).named("router logits");
        tape.multiplied(x.form(), all);
        drop(weight);
        let mut held = Vec::new();
        let (mut weights, index) = if self.sigmoid && self.ungrouped {
            let scores = logits.clone().apply(SIGMOID).named("router scores");
            let choice = tape.constant("scores to choose by", all, FP32);
            let (_, index) = choice.clone().topk(chosen);
            held.push(choice);
            (scores.gather_along(&index, chosen), index)
        } else if self.sigmoid {
            let scores = logits.clone().apply(SIGMOID).named("router scores");
            let choice = tape.constant("scores to choose by", all, FP32);
            let values = tape.constant("best of groups", self.groups[0], FP32);
            held.extend(tape.beside(tape.constant(
                "numbers of the best",
                self.groups[0],
                DType::Int64,
            )));
            held.push(tape.constant("scores of groups", self.groups[1], FP32));
            drop(values);
            let mask = self.mask(tape, &mut held);
            let masked = choice.masked(&mask);
            held.extend(tape.beside(mask));
            let (_, index) = masked.clone().topk(chosen);
            held.push(masked);
            (scores.gather_along(&index, chosen), index)
        } else {
            let mut scores = logits.clone().cast(FP32).apply(SOFTMAX).named("router scores");
            if self.grouped {
                held.push(tape.constant("scores of groups", self.groups[1], FP32));
                held.extend(tape.beside(tape.constant(
                    "numbers of the best",
                    self.groups[1],
                    DType::Int64,
                )));
                scores = scores.masked(&self.mask(tape, &mut held));
            }
            let chosen = scores.clone().topk(chosen);
            held.push(scores);
            chosen
        };
        if self.norm {
            let sum = weights.clone().sum(one).plus();
            weights = weights.divide_by(&sum);
            held.push(sum);
        }
        (logits, weights.apply(SCALE).named("router weights"), index)
    }

    /// Which experts are in none of the best groups; nothing that leads here wants a gradient.
    fn mask<'t>(&self, tape: &'t Tape, held: &mut Vec<Var<'t>>) -> Var<'t> {
        let all = self.forms[0];
        let [_, groups, kept] = self.groups;
        let values = tape.constant("best groups", kept, FP32);
        held.push(tape.constant("numbers of the best groups", kept, DType::Int64));
        drop(values);
        held.push(tape.constant("mask of groups", groups, FP32));
        if self.grouped && self.several {
            held.push(tape.constant("mask of experts", all, FP32));
        }
        let _kept = tape.constant("kept", all, DType::Mask);
        tape.constant("dropped", all, DType::Mask)
    }
}
