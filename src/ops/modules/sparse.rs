//! Experts that are chosen in groups, and shared ones beside them
//! (transformers 5.23: `modeling_deepseek_v3.py`, `modeling_deepseek_v2.py`).

use super::mlp::Mlp;
use super::moe::{self, Experts};
use super::norm::Norm;
use super::wrapped::Wrapped;
use super::{Build, FP32, Linear};
use crate::config::{Moe, RouterScores, SharedTurn};
use crate::ops::tape::{Form, Param, SCALE, SIGMOID, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

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
