//! Scores in fp32, each step of which takes the name of the one before (transformers 5.23, `_attn`
//! of the models that compute them "in fp32 to avoid overflow issues").

use super::Core;
use crate::config::ScoreStyle;
use crate::ops::modules::FP32;
use crate::ops::tape::{SCALE, SOFTMAX, Var};

impl Core {
    /// The attention output, and the probabilities.
    pub(super) fn in_fp32<'t>(
        &self,
        (q, k, v): (&Var<'t>, &Var<'t>, &Var<'t>),
        mask: Option<&Var<'t>>,
    ) -> (Var<'t>, Var<'t>) {
        let query = q.clone().cast_as(FP32, "queries in fp32");
        let key = k.clone().cast_as(FP32, "keys in fp32");
        let scores = query.clone().matmul_transposed(key.clone(), self.shapes.scores, self.batched);
        let (scores, value) = match self.scores {
            ScoreStyle::InFp32ByBuffer => {
                let value =
                    q.tape().constant("value of a mask", self.shapes.scalar, scores.dtype());
                (scores.chosen_by_buffer(), Some(value))
            }
            ScoreStyle::InFp32 => (scores.apply(SCALE), None),
            ScoreStyle::InFp32MaskedFirst | ScoreStyle::AsQueries => (scores, None),
        };
        let mut scores = match mask {
            Some(mask) => scores.add(mask.clone()),
            None => scores,
        };
        if self.scores == ScoreStyle::InFp32MaskedFirst {
            scores = scores.apply(SCALE);
        }
        let probabilities = scores.apply(SOFTMAX).cast_as(v.dtype(), "probabilities");
        let probabilities = probabilities.dropped_if(self.drops);
        let output = probabilities.clone().matmul(v.clone(), self.output[0], self.batched);
        drop((query, key, value));
        (output.merge(self.output[1], self.several_heads), probabilities)
    }
}
