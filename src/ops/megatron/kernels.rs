//! Composite layers as Megatron-LM's modules and Transformer Engine's kernels carry them out.

use super::layers::Linear;
use super::rank::{Rank, Rows, count, step, tensor};
use super::{Module, RankOp};
use crate::ops::tensor::{Dim, Role, Tensor};
use crate::ops::work::{Operands, Product};
use crate::units::DType;

/// Names of a linear layer: its operation and the module that this is recomputed with, its weight,
/// and its bias if it can have one.
#[derive(Clone, Copy)]
pub(super) struct Names(pub &'static str, pub Module, pub &'static str, pub Option<&'static str>);

/// A norm in front of a layer: whether it has parameters of its own, its input, and what it makes
/// of it.
pub(super) type Normed = (bool, [Tensor; 2]);

/// The activation function between two layers: the columns that it reads, gate and up or up alone,
/// and those that it makes.
#[derive(Clone, Copy)]
pub(super) struct Activation {
    pub input: Dim,
    pub output: Dim,
}

impl Activation {
    /// The function between two layers whose inner columns so many ranks share.
    pub fn between(up: &Linear, down: &Linear, ranks: u64) -> Self {
        let output = Dim(down.depth.0, down.depth.1.div_ceil(ranks));
        let input = match up.columns.1 / down.depth.1.max(1) {
            0 | 1 => output,
            matrices => Dim("gate and up width", output.1.saturating_mul(matrices)),
        };
        Self { input, output }
    }

    /// True if the function multiplies a gate in, so that it reads two columns for each that it
    /// makes.
    pub const fn is_gated(&self) -> bool {
        self.input.1 > self.output.1
    }
}

/// Linear layers of this rank.
impl Rank<'_> {
    /// Parameters of a linear layer, and its product with that many rows; of experts, all of theirs
    /// together.
    ///
    /// The gradient of a bias is a sum over rows; Transformer Engine's products make it on the
    /// side, PyTorch's read the gradient again.
    pub fn linear(
        &self,
        Names(op, module, weight, bias): &Names,
        part: &Linear,
        rows: Rows,
    ) -> RankOp {
        let Linear { experts, columns, depth, is_biased, is_narrow } = *part;
        let bias = bias.filter(|_| is_biased);
        let (weight, of_bias) = match experts {
            Some(experts) => (
                self.weight(weight, [experts, columns, depth]),
                bias.map(|bias| self.weight(bias, [experts, columns])),
            ),
            None => (
                self.weight(weight, [columns, depth]),
                bias.map(|bias| self.weight(bias, [columns])),
            ),
        };
        let (experts, all) = (experts.map_or(1, |experts| experts.1), count(rows));
        let product = Product {
            count: experts,
            at_once: self.experts_at_once(experts),
            rows: all.div_ceil(experts.max(1)),
            columns: columns.1,
            depth: depth.1,
            of: Operands::Weight,
            narrow: is_narrow,
        };
        let step = step(op, *module).with([weight]).with(of_bias).multiplies(product, self);
        let reads_again =
            bias.is_some() && part.experts.is_none() && !self.options().transformer_engine;
        if reads_again {
            step.streams([0, self.bytes(all.saturating_mul(columns.1))], [0, 1])
        } else {
            step
        }
    }

    /// Gradients of what a layer makes of those rows, of what it reads, and of its weights.
    fn backward(&self, part: &Linear, rows: Rows) -> impl Iterator<Item = Tensor> {
        let of_rows = [
            self.alive("gradient of the output", rows, part.columns),
            self.gradient_of_input(rows, part.depth),
        ];
        of_rows.into_iter().chain(self.weight_gradient(part))
    }

    /// A layer whose columns tensor ranks share, and the norm before it if it has one
    /// (`TELayerNormColumnParallelLinear`).
    pub fn column(&self, names: &Names, part: &Linear, norm: Option<&Normed>) -> RankOp {
        let (mut step, frozen) =
            (self.linear(names, part, self.all()), self.run.tuning.freezes_model());
        if let Some((has_weights, [input, normed])) = norm {
            // The norm's output is given to an adapter; without one a frozen layer lets it go.
            let normed = (!frozen || self.is_adapted(names.2)).then_some(*normed);
            step = step.with(self.norm_weights(part.depth).filter(|_| *has_weights));
            step = step
                .with([*input])
                .with(normed)
                .with(self.statistics(self.local()))
                .norms_hidden(self);
        }
        let gathered = self.gathered("input, gathered").filter(|_| !frozen);
        let step = step.with(gathered).with(self.waiting(names.2, self.local(), part.depth));
        step.with(self.backward(part, self.all())).sends(self.column_messages())
    }

    /// A layer that tensor ranks share by what it reads (`TERowParallelLinear`): the gradient of
    /// its output is the residual stream's.
    pub fn row(&self, names: &Names, part: &Linear, input: Tensor) -> RankOp {
        let kept = (!self.run.tuning.freezes_model()).then_some(input);
        let step = self
            .linear(names, part, self.all())
            .with(kept)
            .with([self.gradient_of_input(self.all(), part.depth)]);
        let step = step.with(self.waiting(names.2, self.all(), part.depth));
        let step = step
            .with(self.gathered("gradient of the output, gathered"))
            .with(self.weight_gradient(part));
        step.sends(self.row_messages())
    }

    /// A layer that every tensor rank computes whole, from its part of the tokens.
    pub fn whole(&self, names: &Names, part: &Linear) -> RankOp {
        self.linear(names, part, self.local()).with(self.backward(part, self.local()))
    }

    /// A column-parallel layer behind a norm of narrow vectors, which are saved as they are stored,
    /// and normed.
    pub fn normed_up(&self, names: &Names, part: &Linear, stored: Dim) -> RankOp {
        let normed = self.saved("normed compressed values", self.local(), part.depth);
        let normed = self.droppable(normed, Module::LatentUp);
        let step = self.linear(names, part, self.all()).with(self.norm_weights(part.depth));
        let step = step
            .with([self.saved("compressed values", self.local(), stored), normed])
            .with(self.statistics(self.local()));
        let bytes = self.bytes(count(self.local()).saturating_mul(part.depth.1));
        step.with(self.backward(part, self.all())).norms(bytes, 1)
    }

    /// A layer of all experts of this rank, which saves its input.
    pub fn of_experts(
        &self,
        names: &Names,
        part: &Linear,
        (rows, input): (Rows, Tensor),
    ) -> RankOp {
        let kept = (!self.run.tuning.freezes_model()).then_some(input);
        let step =
            self.linear(names, part, rows).with(kept).with(self.waiting(names.2, rows, part.depth));
        step.with(self.backward(part, rows))
    }
}

/// Norms, activation functions and residual sums.
impl Rank<'_> {
    /// A norm of the residual stream that is a module of its own, because several layers read its
    /// output.
    pub fn norm(&self, name: &'static str, [input, normed]: [Tensor; 2]) -> RankOp {
        let normed = self.droppable(normed, Module::Norm);
        step(name, Module::Norm).with(self.norm_tensors([input, normed])).norms_hidden(self)
    }

    /// Parameters of such a norm, what it saves, and the gradient that it makes.
    pub fn norm_tensors<const N: usize>(&self, saved: [Tensor; N]) -> impl Iterator<Item = Tensor> {
        let kept = self.norm_weights(self.h()).chain(saved).chain(self.statistics(self.local()));
        kept.chain([self.gradient_of_input(self.local(), self.h())])
    }

    /// The activation function over those rows. Fused it saves its input; otherwise its own output
    /// where something multiplies it.
    pub fn activation(
        &self,
        name: &'static str,
        module: Module,
        rows: Rows,
        activation: &Activation,
    ) -> RankOp {
        let Activation { input, output } = *activation;
        let apart = activation.is_gated() && !self.options().bias_activation_fusion;
        let saved = |name, columns| self.droppable(self.saved(name, rows, columns), module);
        let step = step(name, module).with([saved("activation input", input)]);
        let step = step.with(apart.then(|| saved("activated gate", output)));
        let gradients = [
            self.alive("gradient of the output", rows, output),
            self.gradient_of_input(rows, input),
        ];
        let step = step.with(gradients);
        // Read the input, write the output; backward reads both gradient and input and writes a
        // gradient. Unfused, the gate's activation and the product with it are two operators.
        let tokens = count(rows);
        let [output, input] =
            [output, input].map(|width| self.bytes(tokens.saturating_mul(width.1)));
        let apart = if apart { output.saturating_mul(2) } else { 0 };
        let forward = input.saturating_add(output).saturating_add(apart);
        let backward =
            output.saturating_add(input.saturating_mul(2)).saturating_add(apart.saturating_mul(2));
        step.streams([forward, backward], [1, 1])
    }

    /// Bias, dropout and residual sum after attention or feed-forward.
    pub fn bias_dropout_add(&self, name: &'static str) -> RankOp {
        let drops = self.options().hidden_dropout;
        let mask =
            || [self.hidden_mask(), self.alive("gradient before dropout", self.local(), self.h())];
        let step = step(name, Module::Rest).with(drops.then(mask).into_iter().flatten());
        // The sum reads both operands and writes one; dropout keeps a byte of mask for each
        // element, and backward scales by it.
        let (piece, mask) = (self.hidden_bytes(), count(self.local()).saturating_mul(self.h().1));
        let dropout =
            if drops { [mask, piece.saturating_mul(2).saturating_add(mask)] } else { [0, 0] };
        step.streams([piece.saturating_mul(3).saturating_add(dropout[0]), dropout[1]], [1, 1])
    }

    /// The mask that dropout of the residual stream keeps.
    pub fn hidden_mask(&self) -> Tensor {
        tensor("dropout mask", Role::Saved, [self.local_s(), self.b(), self.h()], DType::Mask)
    }
}
