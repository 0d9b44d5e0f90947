//! The core written out: scores, softmax, and the sum of values.

use super::super::FP32;
use super::super::sinks::Sinks;
use super::Core;
use crate::config::{ScoreStyle, SinkStyle};
use crate::ops::tape::{Attends, SCALE, SIGMOID, SOFTMAX, TANH, Var};
use crate::sources;
use crate::units::DType;

impl Core {
    /// `eager_attention_forward` over one part after the other: what each saves, without what it
    /// lets go of before the next.
    pub(super) fn written_in_parts<'t>(&self, q: &Var<'t>, k: &Var<'t>, v: &Var<'t>) -> Var<'t> {
        let tape = q.tape();
        tape.at(self.names[1], sources::PYTORCH_AUTOGRAD);
        let (scores, format) = (self.shapes.scores, q.dtype());
        let mut made = Vec::with_capacity(3);
        if q.wants_gradient() {
            made.push(("probabilities", scores, FP32));
            made.extend((format != FP32).then_some((
                "probabilities in the format of queries",
                scores,
                format,
            )));
        }
        made.push(("attention output", self.output[0], format));
        let output =
            tape.kernel(&[q, k, v], &made, made.len() - 1, (self.order, false, Attends::Others));
        output.merge(self.output[1], self.several_heads)
    }

    /// `eager_attention_forward`: product, scale, mask, softmax in fp32, product.
    pub(super) fn eager<'t>(
        &self,
        (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>),
        (mask, biases): (Option<&Var<'t>>, Option<&Var<'t>>),
    ) -> (Var<'t>, Var<'t>) {
        q.tape().at(self.names[1], sources::PYTORCH_AUTOGRAD);
        if self.scores != ScoreStyle::AsQueries {
            return self.in_fp32((q, k, v), mask);
        }
        let (key, value) =
            (self.repeated(k, self.shapes.repeated[0]), self.repeated(v, self.shapes.repeated[1]));
        let scores = q.clone().matmul_transposed(key.clone(), self.shapes.scores, self.batched);
        let mut weights = scores.apply(SCALE);
        if self.soft_cap {
            weights = weights.apply(SCALE).apply(TANH).apply(SCALE);
        }
        if let Some(biases) = biases {
            weights = if self.adds_anew {
                weights.add(biases.clone())
            } else {
                weights.add_in_place(biases)
            };
        }
        if let Some(mask) = mask {
            weights = weights.add(mask.clone());
        }
        let _scores = self.holds_scores.then(|| weights.clone());
        if self.less_largest {
            return self.less_largest(weights, &value, v.dtype());
        }
        match self.sinks {
            Some(sinks) if sinks.style == SinkStyle::OutputScale => {
                return self.scaled_by_sinks(weights, &value, q.dtype(), sinks);
            }
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
        let probabilities = probabilities.dropped_if(self.drops);
        let output = probabilities.clone().matmul(value.clone(), self.output[0], self.batched);
        (output.merge(self.output[1], self.several_heads), probabilities)
    }

    /// `eager_attention_forward` of gpt-oss: the sinks are one more column of scores, which is
    /// dropped after the softmax.
    fn sunk<'t>(
        &self,
        weights: Var<'t>,
        value: &Var<'t>,
        dtype: DType,
        sinks: Sinks,
    ) -> (Var<'t>, Var<'t>) {
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

    /// Each query's largest score is subtracted, in layers without sinks too; what a step makes
    /// takes the place of the scores before.
    fn less_largest<'t>(
        &self,
        weights: Var<'t>,
        value: &Var<'t>,
        dtype: DType,
    ) -> (Var<'t>, Var<'t>) {
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

    /// `eager_attention_forward` of `granite_swa`: the output is scaled by
    /// `sigmoid(logsumexp(scores) - sink)`.
    fn scaled_by_sinks<'t>(
        &self,
        weights: Var<'t>,
        value: &Var<'t>,
        dtype: DType,
        sinks: Sinks,
    ) -> (Var<'t>, Var<'t>) {
        let lse = weights.clone().log_sum_exp(self.shapes.statistics);
        let scale = lse
            .clone()
            .sub(lse.tape().read(sinks.param))
            .cast(FP32)
            .apply(SIGMOID)
            .named("scale by sinks");
        let probabilities = weights.clone().cast(FP32).apply(SOFTMAX).cast(dtype);
        drop(weights);
        let product = probabilities.clone().matmul(value.clone(), self.output[0], self.batched);
        let factor = scale.clone().view(sinks.column).cast(product.dtype());
        let output = product.mul(factor).named("attention output");
        (output.merge(self.output[1], self.several_heads), probabilities)
    }
}
