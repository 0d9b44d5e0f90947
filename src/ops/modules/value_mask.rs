//! A mask that values make, and that learns: a small projection of all values, a number for each
//! key head, and of what comes of them the largest of each query
//! (`DogeAttention.prepare_dynamic_mask` in transformers 5.23, `models/doge/modeling_doge.py`).

use super::attention_core::Repeat;
use super::{Build, Linear, Tables};
use crate::ops::tape::{EXP, Form, Order, Param, SOFTPLUS, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// The projection and its shapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueMask {
    rates: Param,
    step: Linear,
    /// `[b, s, k · d]` of values.
    columns: Form,
    /// `[b, k, s]`.
    turned: Form,
    /// `[b, k, s, s]`, its largest of each query where there are more than are kept, and `[b, 1, s,
    /// s]`.
    pairs: Form,
    best: Option<Form>,
    causal: Form,
    repeat: Repeat,
    /// `[b, a, s, s]`.
    scores: Form,
    several: bool,
}

impl ValueMask {
    /// Declares the projection's parameters; `None` for a model without such a mask.
    pub fn new(build: &Build<'_>) -> Option<Self> {
        let (with, model, tape) = (build.with, build.model(), build.tape);
        if !model.family.modules().masks_by_values {
            return None;
        }
        let (b, s, heads, kv) = (with.b(), with.s(), with.own_heads(), with.own_kv_heads());
        let met = Dim("context_length", with.context_length);
        let columns = Dim("columns of values", kv.1.saturating_mul(with.value_dim().1));
        // The tokens that no query masks by its values (`keep_window_size`).
        let kept = model.encoder.map_or(met.1, |encoder| encoder.own[0]);
        tape.at("Mask of values", sources::PYTORCH_AUTOGRAD);
        let rates = build.vector("rate of each head", kv);
        let bias = model.attention_bias.then_some("step bias");
        let step = build.linear(("step weight", bias), (kv, columns), tape.form([b, s, kv]));
        Some(Self {
            rates,
            step,
            columns: tape.form([b, s, columns]),
            turned: tape.form([b, kv, s]),
            pairs: tape.form([b, kv, s, met]),
            best: (met.1 > kept).then(|| tape.form([b, kv, s, Dim("keep_window_size", kept)])),
            causal: tape.form([b, s, met]),
            repeat: Repeat::of(heads, kv),
            scores: build.shapes.scores,
            several: kv.1 > 1,
        })
    }

    /// The tables that attention reads, with the mask that these values make.
    pub fn beside<'t>(&self, tape: &'t Tape, values: &Var<'t>, tables: &Tables<'t>) -> Tables<'t> {
        tape.at("Mask of values", sources::PYTORCH_AUTOGRAD);
        let step = self.step.run(&values.clone().merge(self.columns, self.several));
        let made = tape
            .read(self.rates)
            .mul({ step }.apply(SOFTPLUS))
            .apply(EXP)
            .swap(self.turned, self.several);
        let later = tape.constant("later tokens", self.causal, DType::Mask);
        let mut mask =
            made.expand(self.pairs).filled(&later).ordered(Order::Plain).named("mask of values");
        drop(later);
        if let Some(best) = self.best {
            mask = self.largest(tape, mask, best);
        }
        let mask = self.repeat.run(mask, self.scores);
        Tables { mask: Some(mask), ..tables.clone() }
    }

    /// The mask that leaves each query its largest values alone.
    fn largest<'t>(&self, tape: &'t Tape, mask: Var<'t>, best: Form) -> Var<'t> {
        let zeros = tape.constant("which tokens are kept", self.pairs, mask.dtype());
        let (largest, _places) = mask.clone().detached().topk(best);
        drop(largest);
        let _kept = tape.constant("which tokens are kept", self.pairs, mask.dtype());
        drop(zeros);
        let masked = tape.constant("tokens that are not kept", self.pairs, DType::Mask);
        let mask = mask.filled(&masked);
        drop(masked);
        mask.named("mask of values")
    }
}
