//! Differential attention: what one half of the heads sees less what the other half does, by a
//! share that is learned (transformers 5.23, `models/diffllama`). Each half of the values is
//! attended to by all heads.

use super::attention_core::Core;
use super::norm::Norm;
use super::{Build, FP32, Tables};
use crate::ops::tape::{EXP, Form, Param, SCALE, Var};
use crate::ops::tensor::Dim;
use crate::sources;

/// The share's numbers, and the norm of each pair of heads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Differential {
    shares: [Param; 4],
    norm: Norm,
    /// `[b, k / 2, s, d]` and `[b, k, s, d]`.
    values: [Form; 2],
    /// `[b, s, a, 2 d]` and `[b, s, a / 2, 2 d]`.
    pairs: [Form; 2],
    /// `[b, s, a · d]`.
    columns: Form,
    one: Form,
}

impl Differential {
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, d) = (with.b(), with.s(), with.head_dim());
        let (heads, kv) = (with.own_heads(), with.own_kv_heads());
        let half = |heads: Dim| Dim("half of the heads", heads.1 / 2);
        let both = Dim("columns of a pair", d.1.saturating_mul(2));
        tape.at("Attention core", sources::PYTORCH_AUTOGRAD);
        Self {
            shares: ["lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"]
                .map(|name| build.vector(name, d)),
            norm: Norm::of_torch(build, tape.form([b, s, half(heads)])),
            values: [tape.form([b, half(kv), s, d]), build.shapes.keys],
            pairs: [tape.form([b, s, heads, both]), tape.form([b, s, half(heads), both])],
            columns: tape.form([b, s, Dim("columns of all heads", heads.1.saturating_mul(d.1))]),
            one: build.shapes.scalar,
        }
    }

    /// The output projection's input, and the probabilities of the first half.
    pub fn run<'t>(
        &self,
        core: &Core,
        (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>),
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let [half, all] = self.values;
        let values = v
            .clone()
            .split([half; 2])
            .map(|part| part.repeat(all).named("values of half the heads"));
        let [(first, weights), (second, _again)] =
            values.each_ref().map(|values| core.run((q, k, values), tables));
        q.tape().at("Attention core", sources::PYTORCH_AUTOGRAD);
        let joined = first.clone().cat(second.clone(), self.pairs[0]).named("attention output");
        let [left, right] = joined.split([self.pairs[1]; 2]);
        drop((first, second));
        let share = self.share(q);
        let difference = left.clone().sub(share.clone().mul(right.clone()));
        let normed = self.norm.run(&difference);
        let output = normed.apply(SCALE).named("attention output");
        (output.view(self.columns), weights)
    }

    /// `exp(q₁ · k₁) - exp(q₂ · k₂) + λ`.
    fn share<'t>(&self, q: &Var<'t>) -> Var<'t> {
        let [q1, k1, q2, k2] = self.shares.map(|param| q.tape().read(param));
        let part = |q: Var<'t>, k: Var<'t>, format| {
            q.mul(k).reduce(self.one).cast(FP32).apply(EXP).cast(format)
        };
        let (first, second) = (part(q1, k1, q.dtype()), part(q2, k2, q.dtype()));
        first.clone().sub(second.clone()).plus().named("share of the second half")
    }
}
