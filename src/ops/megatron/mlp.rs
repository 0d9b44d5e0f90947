//! The dense feed-forward layer: `TELayerNormColumnParallelLinear`, a fused activation function, `TERowParallelLinear`.

use super::{Module, Rank, Step, step};
use crate::config::MlpKind;
use crate::ops::tensor::{Dim, Tensor};

/// From the first residual sum to the block's output.
pub(super) fn steps(rank: &Rank) -> Vec<Step> {
    let inner = rank.split("feed-forward width on this rank", rank.model.intermediate_size);
    let dropped = rank.options.recompute_modules.mlp;
    let mut steps = vec![up(rank, inner, dropped)];
    let tokens = Tokens::dense(rank);
    steps.push(activation(rank, "Activation function", Module::Mlp, &tokens, inner, dropped));
    steps.push(down(rank, inner, dropped));
    steps.push(rank.bias_dropout_add("Feed-forward residual"));
    steps
}

/// The leading dimensions of what a feed-forward layer works on.
pub(super) struct Tokens(pub(super) Dim, pub(super) Dim);

impl Tokens {
    pub(super) fn dense(rank: &Rank) -> Self {
        Self(rank.s(), rank.b())
    }
}

/// Width of the first matrix's output: gate and up together, or up alone.
pub(super) fn up_width(rank: &Rank, inner: Dim) -> Dim {
    match rank.model.mlp {
        MlpKind::Gated => Dim("gate and up width on this rank", inner.1.saturating_mul(2)),
        MlpKind::Plain => inner,
    }
}

fn up(rank: &Rank, inner: Dim, dropped: bool) -> Step {
    let width = up_width(rank, inner);
    let mut tensors = vec![rank.weight("up weight", [width, rank.h()])];
    if rank.model.norms_per_block >= 2 {
        rank.norm_weights(rank.h(), &mut tensors);
    }
    if rank.model.mlp_bias {
        tensors.push(rank.weight("up bias", [width]));
    }
    tensors.push(rank.hidden("attention residual"));
    tensors.push(rank.droppable(rank.hidden("normed attention residual"), dropped));
    rank.statistics([rank.local_s(), rank.b()], &mut tensors);
    tensors.push(rank.alive("gradient of the up output", [rank.s(), rank.b(), width]));
    tensors.push(rank.full_gradient("gradient of the normed residual"));
    tensors.extend(rank.gathered("normed attention residual, gathered"));
    tensors.extend(rank.weight_gradient(width, rank.h()));
    tensors.push(rank.residual_gradient());
    let (bytes, kernels) = Rank::norm_stream(rank.hidden_bytes());
    let [gather, reduce, again] = rank.column_messages();
    let step = step("Feed-forward norm and up projection", Module::Mlp, tensors).over(rank, rank.tokens());
    let step = step.streams([bytes[0], bytes[1].saturating_add(rank.gradient_sum())], [kernels[0], kernels[1] + 1]);
    step.sends(gather).sends(reduce).sends(again)
}

/// The activation function. Fused it saves its input; otherwise its own output where something multiplies it.
pub(super) fn activation(rank: &Rank, name: &'static str, module: Module, tokens: &Tokens, inner: Dim, dropped: bool) -> Step {
    let Tokens(first, second) = *tokens;
    let width = up_width(rank, inner);
    let gated = matches!(rank.model.mlp, MlpKind::Gated);
    let keep = |tensor: Tensor| rank.droppable(tensor, dropped);
    let mut tensors = vec![keep(rank.saved("activation input", [first, second, width]))];
    if gated && !rank.options.bias_activation_fusion {
        tensors.push(keep(rank.saved("activated gate", [first, second, inner])));
    }
    tensors.push(rank.alive("gradient of the activation output", [first, second, inner]));
    tensors.push(rank.alive("gradient of the activation input", [first, second, width]));
    tensors.push(rank.residual_gradient());
    // Read the input, write the output; backward reads both gradient and input and writes a gradient. Unfused, the gate's
    // activation and the product with it are two operators.
    let tokens = first.1.saturating_mul(second.1);
    let [output, input] = [inner, width].map(|width| rank.bytes(tokens.saturating_mul(width.1)));
    let apart = if gated && !rank.options.bias_activation_fusion { output.saturating_mul(2) } else { 0 };
    let forward = input.saturating_add(output).saturating_add(apart);
    let backward = output.saturating_add(input.saturating_mul(2)).saturating_add(apart.saturating_mul(2));
    step(name, module, tensors).streams([forward, backward], [1, 1])
}

fn down(rank: &Rank, inner: Dim, dropped: bool) -> Step {
    let mut tensors = vec![rank.weight("down weight", [rank.h(), inner])];
    if rank.model.mlp_bias {
        tensors.push(rank.weight("down bias", [rank.h()]));
    }
    tensors.push(rank.droppable(rank.saved("down input", [rank.s(), rank.b(), inner]), dropped));
    tensors.push(rank.alive("gradient of the down input", [rank.s(), rank.b(), inner]));
    tensors.extend(rank.gathered("gradient of the output, gathered"));
    tensors.extend(rank.weight_gradient(rank.h(), inner));
    tensors.push(rank.residual_gradient());
    let [reduce, gather] = rank.row_messages();
    step("Feed-forward down projection", Module::Mlp, tensors).over(rank, rank.tokens()).sends(reduce).sends(gather)
}
