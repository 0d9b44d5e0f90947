//! A mixture of experts (transformers 5.23, `integrations/moe.py`: `grouped_mm_experts_forward`,
//! and the routers of `models/{mixtral,qwen3_moe,gpt_oss}`): every token goes through the experts
//! with the largest router scores, each expert's tokens side by side in one grouped product.

use super::adapter::quantised_experts;
use super::mlp::Activation;
use super::wrapped::{Update, Wrapped};
use super::{Build, FP32, Linear, Part};
use crate::config::{ExpertWeights, MlpKind, Moe, RouterScores, RouterWeights, Targets};
use crate::ops::division::Division;
use crate::ops::tape::{Form, Packed, Param, SCALE, SIGMOID, SOFTMAX, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Scores every expert for every token and picks the largest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Router {
    scores: Linear,
    wrapped: Option<Wrapped>,
    how: RouterScores,
    /// The format into which the input is cast before it is scored, where weights have one of their
    /// own.
    input: Option<DType>,
    /// Makes the picked weights sum to 1.
    normalizes: bool,
    /// The format of the weights.
    weights_in: ExpertWeights,
    /// `[b, s, num_experts]`, `[b, s, top_k]` and `[b, s, 1]`.
    all: Form,
    chosen: Form,
    row: Form,
}

impl Router {
    pub fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let (with, tape, own) = (build.with, build.tape, build.model().family.modules().experts);
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let experts = Dim("num_experts", moe.num_experts);
        let names = ("router weight", moe.bias.then_some("router bias"));
        let all = tape.form([with.b(), with.s(), experts]);
        let in_fp32 = own.router_weights == RouterWeights::Fp32;
        let of_weights = if in_fp32 { build.in_format(FP32) } else { *build };
        let scores = of_weights.linear(names, (experts, with.h()), all);
        if own.scores == RouterScores::CorrectedSoftmax {
            let before = tape.freeze(true);
            // One row: sharded by rows, the first rank has all of it.
            of_weights.parameter("score correction biases", [Dim("one", 1), experts]);
            tape.freeze(before);
        }
        Self {
            scores,
            wrapped: Wrapped::of_router(build, [experts, with.h()]),
            all,
            how: own.scores,
            input: (in_fp32 && with.keeps_formats).then_some(FP32),
            normalizes: moe.norm_topk_prob,
            weights_in: own.weights_in,
            chosen: tape.form([with.b(), with.s(), top_k(moe)]),
            row: build.shapes.rows,
        }
    }

    /// The scores of every expert.
    fn scored<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let Some(wrapped) = self.wrapped else { return self.scores.run(x) };
        let update = wrapped.update(x.tape(), self.scores.weight);
        x.clone().linear_by(&update.weight(x.tape()), self.all)
    }

    /// Scores, weights of the picked experts, and which they are.
    pub fn run<'t>(&self, x: &Var<'t>) -> (Var<'t>, Var<'t>, Var<'t>) {
        x.tape().at("Router", sources::PYTORCH_AUTOGRAD);
        if of_picked(self.how) {
            let logits = self.scored(x).named("router scores");
            let wide = self.how == RouterScores::SoftmaxOfPickedInFp32;
            let logits = if wide { { logits }.cast(FP32) } else { logits };
            let (values, experts) = logits.clone().topk(self.chosen);
            let wide = if self.how == RouterScores::SoftmaxInFp32OfPicked {
                { values }.cast(FP32)
            } else {
                values
            };
            let weights = self.formatted(wide.clone().apply(SOFTMAX), &logits, x);
            return (logits, weights.named("expert weights"), experts);
        }
        if self.how == RouterScores::CorrectedSoftmax {
            return self.outside_autocast(x);
        }
        if self.how == RouterScores::CorrectedSigmoidAsScored {
            return self.as_scored(x);
        }
        let flat = x.clone().view(x.form());
        let flat = match self.input {
            Some(format) => flat.cast_as(format, "router input in fp32"),
            None => flat,
        };
        let logits = self.scored(&flat).named("router scores");
        let wide = logits.clone().cast(FP32);
        let mut held = Vec::new();
        let (mut weights, experts) = if self.how == RouterScores::CorrectedSigmoid {
            let probabilities = wide.apply(SIGMOID).named("router probabilities");
            let choice = x.tape().constant("scores to choose by", self.all, FP32);
            let (values, experts) = choice.clone().topk(self.chosen);
            let picked = probabilities.clone().gather_along(&experts, self.chosen);
            held.extend([probabilities, choice, values]);
            (picked, experts)
        } else {
            let probabilities = wide.apply(SOFTMAX);
            let picked = probabilities.clone().topk(self.chosen);
            held.push(probabilities);
            picked
        };
        if self.normalizes {
            let sum = weights.clone().total(self.row);
            weights = weights.divide_by(&sum);
        }
        weights = self.formatted(weights, &logits, x);
        drop(held);
        (logits, weights.named("expert weights"), experts)
    }

    /// The picked experts' weights in their format.
    fn formatted<'t>(&self, weights: Var<'t>, logits: &Var<'t>, x: &Var<'t>) -> Var<'t> {
        match self.weights_in {
            ExpertWeights::AsScores => weights.cast(logits.dtype()),
            ExpertWeights::AsInput => weights.cast(x.dtype()),
            ExpertWeights::Fp32 => weights,
        }
    }

    /// `Lfm2MoeTopKRouter`: sigmoids in the format of the scores, of which the picked ones are
    /// scaled.
    fn as_scored<'t>(&self, x: &Var<'t>) -> (Var<'t>, Var<'t>, Var<'t>) {
        let logits = self.scored(&x.clone().view(x.form())).named("router scores");
        let probabilities = logits.clone().apply(SIGMOID).named("router probabilities");
        let choice = x.tape().constant("scores to choose by", self.all, FP32);
        let (_values, experts) = choice.clone().topk(self.chosen);
        let mut weights = probabilities.gather_along(&experts, self.chosen);
        if self.normalizes {
            let sum = weights.clone().total(self.row).plus();
            weights = weights.divided_by(&sum);
        }
        let weights = { weights }.apply(SCALE).named("expert weights");
        (logits, weights, experts)
    }

    /// `Ernie4_5_MoeTopKRouter`: all in fp32; the weights' sum is kept above a smallest number.
    fn outside_autocast<'t>(&self, x: &Var<'t>) -> (Var<'t>, Var<'t>, Var<'t>) {
        let tape = x.tape();
        let input = x.clone().view(x.form()).cast_as(FP32, "router input in fp32");
        let update = self.wrapped.map(|wrapped| wrapped.update(tape, self.scores.weight));
        let weight = update
            .as_ref()
            .map_or_else(|| tape.read(self.scores.weight), |update| update.weight(tape));
        let weight = weight.cast_as(FP32, "router weight in fp32");
        let logits = input.linear_outside_autocast(&{ weight }, self.all).named("router scores");
        tape.multiplied(x.form(), self.all);
        let probabilities = logits.clone().apply(SOFTMAX);
        // The choice has no gradient, so nothing holds the tensors that it is made from.
        let choice = tape.constant("scores to choose by", self.all, FP32);
        let (_values, experts) = choice.topk(self.chosen);
        let picked = probabilities.gather_along(&experts, self.chosen);
        let sum = picked.clone().sum(self.row).clamp(1);
        let weights = picked.divided_by(&{ sum });
        (logits, weights.cast(x.dtype()).named("expert weights"), experts)
    }
}

/// True if the softmax is over the picked experts' scores alone.
pub(super) fn of_picked(how: RouterScores) -> bool {
    match how {
        RouterScores::SoftmaxOfPicked
        | RouterScores::SoftmaxOfPickedInFp32
        | RouterScores::SoftmaxInFp32OfPicked => true,
        RouterScores::Softmax
        | RouterScores::CorrectedSigmoid
        | RouterScores::CorrectedSigmoidAsScored
        | RouterScores::CorrectedSoftmax => false,
    }
}

/// The correction of scores for the choice of experts, in routers that have one: a buffer, or a
/// parameter that never learns.
pub(super) fn correction(build: &Build<'_>, moe: &Moe) {
    let own = build.model().family.modules().experts;
    if matches!(own.scores, RouterScores::CorrectedSigmoid | RouterScores::CorrectedSigmoidAsScored)
    {
        let format = if own.corrects_in_fp32 { FP32 } else { build.with.parameter };
        build.tape.at("Router", sources::PYTORCH_AUTOGRAD);
        if own.correction_is_parameter {
            let before = build.tape.freeze(true);
            build.in_format(format).vector("score correction", Dim("num_experts", moe.num_experts));
            build.tape.freeze(before);
            return;
        }
        build.tape.buffer(
            "score correction",
            build.tape.form([Dim("num_experts", moe.num_experts)]),
            format,
        );
    }
}

/// The width of the vectors that experts read and make.
pub(super) fn width(build: &Build<'_>, moe: &Moe) -> Dim {
    if moe.latent == 0 { build.with.h() } else { Dim("moe_latent_size", moe.latent) }
}

/// The experts of a layer: one up (and gate) and one down matrix each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experts {
    up: (Param, Option<Param>),
    down: (Param, Option<Param>),
    /// Adapters of both.
    wrapped: [Option<Wrapped>; 2],
    /// How both are kept, where they are frozen in four bits.
    packed: [Option<Packed>; 2],
    act: Activation,
    /// gpt-oss: gate and up alternate and are kept within limits.
    limited: bool,
    /// Both are kept within limits, and the activation function follows.
    clamped: bool,
    /// A gate beside up.
    gates: bool,
    /// Every tensor-parallel rank has a part of each expert.
    divided: bool,
    /// `[b, s, top_k]` and `[num_experts]`.
    chosen: Form,
    counts: Form,
    /// Rows of `2 f` (`f` without a gate), `f` and `h` columns for every token and chosen expert;
    /// rows of `h` columns for every token.
    joint: Form,
    inner: Form,
    rows: Form,
    hidden: Form,
}

impl Experts {
    /// Declares gate and up together, then down, each followed by its biases.
    pub fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (experts, h, whole) = (
            Dim("num_experts", moe.num_experts),
            width(build, moe),
            Dim("moe_intermediate_size", moe.moe_intermediate_size),
        );
        let inner = with.share(Part::Experts, whole);
        let gates = build.model().mlp == MlpKind::Gated;
        let joint = Dim("gate and up", inner.1.saturating_mul(if gates { 2 } else { 1 }));
        let rows = |columns| tape.form([with.b(), with.s(), top_k(moe), columns]);
        tape.at("Experts up", sources::PYTORCH_AUTOGRAD);
        let bias = |name, columns| moe.bias.then(|| build.parameter(name, [experts, columns]));
        let weights = |name, dims: [Dim; 3]| match quantised_experts(build, name, dims) {
            Some((weight, packed)) => (weight, Some(packed)),
            None => (build.parameter(name, dims), None),
        };
        let (up, packed_up) = weights("gate and up weights", [experts, joint, h]);
        let up = (up, bias("gate and up biases", joint));
        tape.at("Experts down", sources::PYTORCH_AUTOGRAD);
        let (down, packed_down) = weights("down weights", [experts, h, inner]);
        let down = (down, bias("down biases", h));
        let joined: &[Targets] = if gates { &[Targets::GATE, Targets::UP] } else { &[Targets::UP] };
        let wrapped = [
            Wrapped::of_experts(build, joined, [experts, joint, h]),
            Wrapped::of_experts(build, &[Targets::DOWN], [experts, h, inner]),
        ];
        Self {
            up,
            down,
            wrapped,
            packed: [packed_up, packed_down],
            act: Activation::new(build),
            limited: build.model().family.modules().experts.clamps_gates,
            clamped: build.model().family.modules().experts.limits_gates,
            gates,
            chosen: tape.form([with.b(), with.s(), top_k(moe)]),
            counts: tape.form([experts]),
            joint: rows(joint),
            inner: rows(inner),
            rows: rows(h),
            hidden: if moe.latent == 0 {
                build.shapes.hidden
            } else {
                tape.form([with.b(), with.s(), h])
            },
            divided: with.division(Part::Experts) == Division::Divided,
        }
    }

    /// The weighted sum of the chosen experts' outputs.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, weights: &Var<'t>) -> Var<'t> {
        let [up, down] = self.wrapped;
        // The wrapper of the second matrix is the outer one.
        let of_down = down.map(|wrapped| wrapped.update(tape, self.down.0));
        let of_up = up.map(|wrapped| wrapped.update(tape, self.up.0));
        let adapted = |update: Option<&Update<'t>>, (weight, packed): (Param, Option<Packed>)| {
            match (update, packed) {
                (Some(update), _) => update.weight(tape),
                // The parametrization keeps a weight that was made whole until the experts have
                // run (bitsandbytes 0.50, `nn/parametrize.py`).
                (None, Some(packed)) => tape.unpacked(packed),
                (None, None) => tape.read(weight),
            }
        };
        let [packed_up, packed_down] = self.packed;
        tape.at("Experts up", sources::PYTORCH_AUTOGRAD);
        let whole = |name| tape.constant(name, self.chosen, DType::Int64);
        let (sorted, order) = (whole("experts in order"), whole("places in order"));
        tape.sort(self.chosen);
        let input = if self.divided { x.clone().summed_in_backward() } else { x.clone() };
        let selected = input.gather(&whole("tokens in order"), self.rows).named("tokens by expert");
        let weights = weights.clone().gather(&order, self.chosen).named("weights by expert");
        let _wide = tape.constant("experts in order, fp32", self.chosen, FP32);
        let (_counts, offsets) = (
            tape.constant("tokens of each expert", self.counts, FP32),
            tape.constant("offsets", self.counts, FP32),
        );
        tape.scan_few();
        let biases = |bias: Option<Param>, form| {
            bias.map(|bias| tape.read(bias).gather(&sorted, form).named("biases by token"))
        };
        let mut bias = biases(self.up.1, self.joint);
        let up_weights = adapted(of_up.as_ref(), (self.up.0, packed_up));
        let mut output =
            selected.clone().grouped(&up_weights, &offsets, self.joint).named("gate and up output");
        if let Some(bias) = &bias {
            output = output.add_in_place(bias);
        }
        output = match (self.limited, self.gates) {
            (true, _) => self.limited(&output),
            (false, true) => self.gated(&output),
            (false, false) => self.act.run(&output).named("down input"),
        };
        tape.at("Experts down", sources::PYTORCH_AUTOGRAD);
        let next = biases(self.down.1, self.rows);
        drop(std::mem::replace(&mut bias, next));
        let down_weights = adapted(of_down.as_ref(), (self.down.0, packed_down));
        output =
            output.clone().grouped(&down_weights, &offsets, self.rows).named("experts' outputs");
        if let Some(bias) = &bias {
            output = output.add_in_place(bias);
        }
        let mut weighted = output.clone().mul(weights.clone()).named("weighted outputs");
        let places = whole("places of tokens");
        drop(whole("numbers"));
        weighted = weighted.gather(&places, self.rows).named("weighted outputs by token");
        let sum = weighted.clone().sum_of_rows(self.hidden).named("experts' sum");
        let sum = if self.divided { sum.clone().summed_over_ranks() } else { sum.clone() };
        sum.cast(x.dtype())
    }

    /// `_default_apply_gate`.
    fn gated<'t>(&self, joint: &Var<'t>) -> Var<'t> {
        let [mut gate, mut up] = joint.clone().split([self.inner; 2]);
        if self.clamped {
            gate = gate.clamp(1);
            up = up.clamp(2);
        }
        self.act.run(&gate).mul(up.clone()).named("down input")
    }

    /// `GptOssExperts._apply_gate`: `(up + 1) · gate · sigmoid(α · gate)`, both kept within limits
    /// first.
    fn limited<'t>(&self, joint: &Var<'t>) -> Var<'t> {
        let (gate, up) = (joint.clone().slice(self.inner), joint.clone().slice(self.inner));
        let gate = gate.clamp(1);
        let up = up.clamp(2);
        let gated = gate.clone().mul(gate.clone().apply(SCALE).apply(SIGMOID));
        up.clone().plus().mul(gated.clone()).named("down input")
    }
}

/// Router and experts in place of the feed-forward layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixture {
    router: Router,
    experts: Experts,
    /// The layer hands on the weights beside its output (gpt-oss).
    weights: bool,
}

impl Mixture {
    pub fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let own = build.model().family.modules().experts;
        let (router, experts) = if own.router_first {
            let router = Router::new(build, moe);
            (router, Experts::new(build, moe))
        } else {
            let experts = Experts::new(build, moe);
            (Router::new(build, moe), experts)
        };
        correction(build, moe);
        Self { router, experts, weights: own.returns_weights }
    }

    /// The layer's contribution, and the weights if it hands them on.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> (Var<'t>, Option<Var<'t>>) {
        let (_scores, weights, _chosen) = self.router.run(x);
        let output = self.experts.run(tape, x, &weights);
        (output, self.weights.then_some(weights))
    }
}

pub(super) fn top_k(moe: &Moe) -> Dim {
    Dim("num_experts_per_tok", moe.num_experts_per_tok)
}
