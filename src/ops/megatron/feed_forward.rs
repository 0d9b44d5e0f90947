//! Feed-forward layers: `TELayerNormColumnParallelLinear`, a fused activation function,
//! `TERowParallelLinear`; shared experts (`SharedExpertMLP`) have no norm of their own and no
//! biases.

use super::kernels::{Activation, Names};
use super::layers::{Linear, joint};
use super::rank::Rank;
use super::{Module, RankOp};
use crate::ops::tensor::Op;

const UP: Names =
    Names("Feed-forward norm and up projection", Module::Mlp, "up weight", Some("up bias"));
const DOWN: Names =
    Names("Feed-forward down projection", Module::Mlp, "down weight", Some("down bias"));
const SHARED_UP: Names =
    Names("Shared experts, up", Module::SharedExperts, "shared up weight", None);
const SHARED_DOWN: Names =
    Names("Shared experts, down", Module::SharedExperts, "shared down weight", None);

impl Rank<'_> {
    /// From the first residual sum to the block's output.
    pub fn feed_forward(&self, ops: &[Op]) -> Vec<RankOp> {
        let Some((up, down)) = joint(ops, "Feed-forward up").zip(joint(ops, "Feed-forward down"))
        else {
            return Vec::new();
        };
        let activation = Activation::between(&up, &down, self.t());
        let normed = self.droppable(self.hidden("normed attention residual"), Module::Mlp);
        let norm = (self.model.norms_per_block >= 2, [self.hidden("attention residual"), normed]);
        let input =
            self.droppable(self.saved("down input", self.all(), activation.output), Module::Mlp);
        let (up, down) = (
            Linear { columns: activation.input, ..up },
            Linear { depth: activation.output, ..down },
        );
        let mut steps = vec![self.column(&UP, &up, Some(&norm))];
        steps.extend(self.beside_column(&UP, &up));
        steps.push(self.activation("Activation function", Module::Mlp, self.all(), &activation));
        steps.push(self.row(&DOWN, &down, input));
        steps.extend(self.beside_row(&DOWN, &down, input));
        steps.push(self.bias_dropout_add("Feed-forward residual"));
        steps
    }

    /// Shared experts, a feed-forward layer of their own on the experts' normed input, and the
    /// residual sum.
    pub fn shared(&self, ops: &[Op]) -> Vec<RankOp> {
        let mut steps = Vec::with_capacity(6);
        if let Some((up, down)) =
            joint(ops, "Shared experts up").zip(joint(ops, "Shared experts down"))
        {
            let activation = Activation::between(&up, &down, self.t());
            let input = self.droppable(
                self.saved("shared down input", self.all(), activation.output),
                Module::SharedExperts,
            );
            let name = "Shared experts, activation function";
            let (up, down) = (
                Linear { columns: activation.input, ..up },
                Linear { depth: activation.output, ..down },
            );
            steps.push(self.column(&SHARED_UP, &up, None));
            steps.extend(self.beside_column(&SHARED_UP, &up));
            steps.push(self.activation(name, Module::SharedExperts, self.all(), &activation));
            steps.push(self.row(&SHARED_DOWN, &down, input));
            steps.extend(self.beside_row(&SHARED_DOWN, &down, input));
        }
        steps.extend((!ops.is_empty()).then(|| self.bias_dropout_add("Feed-forward residual")));
        steps
    }
}
