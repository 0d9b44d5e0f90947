//! Routed experts: each token goes through some of many feed-forward layers.

use super::mlp::activation;
use super::{Build, FP32};
use crate::config::{HiddenAct, Moe};
use crate::ops::tape::{Form, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// The experts of one layer, run by `grouped_mm` over tokens sorted by expert
/// (transformers 5.23: `integrations/moe.py`, `grouped_mm_experts_forward`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Experts {
    gate_up: Param,
    down: Param,
    act: HiddenAct,
    /// `[tokens · k]` and `[experts]`.
    pairs: Form,
    experts: Form,
    /// `[tokens · k, 2f]`, `[.., f]`, `[.., h]`, and `[b, s, h]`.
    forms: [Form; 4],
    flops: f64,
}

impl Experts {
    pub fn new(build: &Build<'_>, moe: &Moe) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (experts, inner) = (Dim("num_experts", moe.num_experts), with.local(Dim("expert width", moe.moe_intermediate_size)));
        let both = Dim("gate and up", inner.1.saturating_mul(2));
        tape.at("Routed experts", sources::PYTORCH_AUTOGRAD);
        let gate_up = build.parameter("experts' gate and up weights", [experts, both, with.h()]);
        let down = build.parameter("experts' down weights", [experts, with.h(), inner]);
        let (b, s, k) = (with.b(), with.s(), Dim("num_experts_per_tok", moe.num_experts_per_tok));
        let pairs = to_f64(b.1) * to_f64(s.1) * to_f64(k.1);
        Self {
            gate_up,
            down,
            act: build.model().hidden_act,
            pairs: tape.form([b, s, k]),
            experts: tape.form([experts]),
            forms: [tape.form([b, s, k, both]), tape.form([b, s, k, inner]), tape.form([b, s, k, with.h()]), build.shapes.hidden],
            flops: 2.0 * pairs * to_f64(inner.1) * to_f64(with.h().1),
        }
    }

    /// The weighted sum of each token's experts; `weights`: how much each counts.
    pub fn run<'t>(&self, tape: &'t Tape, x: &Var<'t>, weights: &Var<'t>) -> Var<'t> {
        tape.at("Routed experts", sources::PYTORCH_AUTOGRAD);
        let [both, inner, hidden, tokens] = self.forms;
        let numbers = |name| tape.constant(name, self.pairs, DType::Int64);
        let _sorted = numbers("sorted experts");
        let order = numbers("order by expert");
        let picked = x.clone().pick(&numbers("tokens by expert"), hidden, false).named("tokens sorted by expert");
        let counted = weights.clone().pick(&order, self.pairs, false).named("sorted weights");
        let _wide = tape.constant("experts in fp32", self.pairs, FP32);
        let _counts = tape.constant("tokens per expert", self.experts, FP32);
        // Offsets are int32, as large as fp32.
        let offsets = tape.constant("offsets", self.experts, FP32);
        let projected =
            picked.clone().grouped(self.gate_up, &offsets, both, 2.0 * self.flops).named("experts' gate and up output");
        let gated = {
            let [gate, up] = projected.clone().split([inner, inner]);
            activation(self.act, &gate).mul(up.clone())
        };
        drop(projected);
        let output = { gated }.grouped(self.down, &offsets, hidden, self.flops).named("experts' output");
        let weighted = output.clone().mul(counted.clone()).named("weighted output");
        let back = tape.restored(numbers);
        let unsorted = { weighted }.pick(&back, hidden, false).named("weighted output by token");
        let _held = (picked, counted, output, order);
        unsorted.clone().reduce(tokens).cast(x.dtype()).named("experts' sum")
    }
}

impl Tape {
    /// The inverse of an order: an empty tensor filled by places.
    fn restored<'t>(&'t self, numbers: impl Fn(&'static str) -> Var<'t>) -> Var<'t> {
        let back = numbers("order by token");
        drop(numbers("places"));
        back
    }
}
