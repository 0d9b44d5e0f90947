//! Experts whose weights are roots of softplus scores; of the first layers a table of tokens says
//! which (`DeepseekV4SparseMoeBlock`).

use super::super::mlp::Mlp;
use super::super::wrapped::Wrapped;
use super::super::{Build, moe};
use crate::config::Moe;
use crate::ops::tape::{Form, Param, ROOT, SCALE, SOFTPLUS, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Router, experts, and the shared ones beside them.
#[derive(Debug)]
pub(super) struct Experts {
    router: Param,
    wrapped: Option<Wrapped>,
    routed: moe::Experts,
    shared: Mlp,
    /// A table says which experts a token goes through.
    hashed: bool,
    /// The format of the scores' correction.
    correction: DType,
    /// `[b, s, experts]`, `[b, s, k]` and `[b, s, 1]`.
    all: Form,
    chosen: Form,
    rows: Form,
}

impl Experts {
    pub fn new(build: &Build<'_>, moe: &Moe, hashed: bool) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (experts, chosen) = (Dim("num_experts", moe.num_experts), moe::top_k(moe));
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let router = build.parameter("router weight", [experts, with.h()]);
        let wrapped = Wrapped::of_router(build, [experts, with.h()]);
        let correction = with.made_in;
        if hashed {
            tape.buffer("experts of tokens", tape.form([with.vocab(), chosen]), DType::Int64);
        } else {
            tape.buffer("score correction", tape.form([experts]), correction);
        }
        let routed = moe::Experts::new(build, moe);
        let width = Dim("shared_expert_intermediate_size", moe.shared_expert_intermediate_size);
        Self {
            router,
            wrapped,
            routed,
            shared: Mlp::sized(build, width, ["Shared experts up", "Shared experts down"]),
            hashed,
            correction,
            all: tape.form([with.b(), with.s(), experts]),
            chosen: tape.form([with.b(), with.s(), chosen]),
            rows: build.shapes.rows,
        }
    }

    /// Scores, the weights of each token's experts, and which they are.
    fn route<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> [Var<'t>; 3] {
        tape.at("Router", sources::PYTORCH_AUTOGRAD);
        let flat = x.clone().view(x.form());
        let update = self.wrapped.map(|wrapped| wrapped.update(tape, self.router));
        let weight =
            update.as_ref().map_or_else(|| tape.weight(self.router), |update| update.weight(tape));
        let logits = flat.linear_by(&{ weight }, self.all).named("router logits");
        tape.multiplied(x.form(), self.all);
        let scores = logits.clone().apply(SOFTPLUS).apply(ROOT).named("router scores");
        let experts = if self.hashed {
            tape.constant("experts of tokens", self.chosen, DType::Int64)
        } else {
            let format = if self.correction.bits() > scores.dtype().bits() {
                self.correction
            } else {
                scores.dtype()
            };
            let choice = tape.constant("scores to choose by", self.all, format);
            choice.topk(self.chosen).1
        };
        let weights = scores.clone().gather_along(&experts, self.chosen);
        let sum = weights.clone().sum(self.rows).plus();
        let weights = weights.clone().divided_by(&{ sum });
        [logits, weights.apply(SCALE).named("expert weights"), experts]
    }

    /// The contribution of all experts.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>) -> Var<'t> {
        let [_logits, weights, _experts] = self.route(tape, x);
        let routed = self.routed.run(tape, x, &weights);
        let shared = self.shared.run(tape, x);
        routed.add(shared).named("feed-forward output")
    }
}
