//! A mixture of experts: `MoELayer` with its router, token dispatcher, `TEGroupedMLP` or `SequentialMLP`, and shared experts.

use super::mlp::{Tokens, activation, up_width};
use super::{Module, Rank, Step, step, tensor};
use crate::config::{MlpKind, Moe, TokenDispatcher};
use crate::ops::tensor::{Dim, Role, Tensor};
use crate::ops::work::{Behind, Collective, Cost, Exchange, Group, Work};
use crate::units::DType;

/// Norm and router.
pub(super) fn router_steps(rank: &Rank) -> Vec<Step> {
    let Some(moe) = rank.model.moe.as_ref() else { return Vec::new() };
    vec![norm(rank), router(rank, moe, rank.options.recompute_modules.moe)]
}

/// Tokens to the experts, the experts, and back.
pub(super) fn routed_steps(rank: &Rank) -> Vec<Step> {
    let Some(moe) = rank.model.moe.as_ref() else { return Vec::new() };
    let routed = Routed::of(rank, moe);
    let [up, act, down] = experts(rank, &routed);
    vec![dispatch(rank, &routed), up, act, down, combine(rank, &routed)]
}

/// Shared experts and the residual sum.
pub(super) fn shared_steps(rank: &Rank) -> Vec<Step> {
    let Some(moe) = rank.model.moe.as_ref() else { return Vec::new() };
    let mut steps = Vec::with_capacity(4);
    if moe.shared_expert_intermediate_size > 0 {
        steps.extend(shared(rank, moe));
    }
    steps.push(rank.bias_dropout_add("Feed-forward residual"));
    steps
}

/// Sizes of the routed part on this rank.
struct Routed {
    /// Experts this rank holds.
    experts: Dim,
    /// Tokens that go through them, a token once per expert.
    tokens: Dim,
    /// Width of one expert on this rank.
    inner: Dim,
    /// Whether selective recomputation covers the whole layer.
    dropped: bool,
}

impl Routed {
    /// Tokens are dealt out evenly, or the busiest rank gets more, at most all of its group's; with padding every expert gets its share
    /// rounded up (`get_capacity`), whatever it is sent. A rank that holds all experts gets all tokens in any case.
    fn of(rank: &Rank, moe: &Moe) -> Self {
        let (layout, options) = (rank.layout, rank.options);
        let local = rank.local_s().1.saturating_mul(rank.micro_batch_size);
        let chosen = local.saturating_mul(moe.num_experts_per_tok);
        let sent = if options.moe_pad_expert_input_to_capacity {
            chosen.div_ceil(moe.num_experts.max(1)).saturating_mul(moe.num_experts)
        } else {
            let most = layout.ep().saturating_mul(100);
            chosen.saturating_mul(options.moe_load_percent.clamp(100, most.max(100))).div_ceil(100)
        };
        Self {
            experts: Dim("experts on this rank", moe.num_experts.div_ceil(layout.ep())),
            tokens: Dim("tokens of this rank's experts", sent.saturating_mul(layout.etp())),
            inner: Dim("expert width on this rank", moe.moe_intermediate_size.div_ceil(layout.etp())),
            dropped: options.recompute_modules.moe,
        }
    }
}

/// The norm is a module of its own, because router, experts and shared experts read its output.
fn norm(rank: &Rank) -> Step {
    let mut tensors = Vec::new();
    rank.norm_weights(rank.h(), &mut tensors);
    tensors.push(rank.hidden("attention residual"));
    tensors.push(rank.droppable(rank.hidden("normed attention residual"), rank.options.recompute_modules.layernorm));
    rank.statistics([rank.local_s(), rank.b()], &mut tensors);
    tensors.push(rank.residual_gradient());
    tensors.push(rank.residual_gradient());
    let (bytes, kernels) = Rank::norm_stream(rank.hidden_bytes());
    let backward = bytes[1].saturating_add(rank.gradient_sum());
    step("Feed-forward norm", Module::Norm, tensors).streams([bytes[0], backward], [kernels[0], kernels[1] + 1])
}

/// The router: an fp32 softmax for the choice, another for the balancing loss, and the map of choices.
fn router(rank: &Rank, moe: &Moe, dropped: bool) -> Step {
    let experts = Dim("num_experts", moe.num_experts);
    let dims = [rank.local_s(), rank.b(), experts];
    let keep = |tensor: Tensor| rank.droppable(tensor, dropped);
    let mut tensors = vec![rank.weight("router weight", [experts, rank.h()])];
    if moe.bias {
        tensors.push(rank.weight("router bias", [experts]));
    }
    tensors.push(keep(tensor("router probabilities", Role::Saved, dims, DType::Fp32)));
    tensors.push(keep(tensor("balancing probabilities", Role::Saved, dims, DType::Fp32)));
    tensors.push(keep(tensor("routing map", Role::Saved, dims, DType::Mask)));
    tensors.push(rank.residual_gradient());
    tensors.push(rank.residual_gradient());
    // Scores in fp32: softmax, choice, balancing loss; a few small kernels.
    let scores = rank.local_tokens().saturating_mul(moe.num_experts).saturating_mul(4);
    let bytes = [scores.saturating_mul(6), scores.saturating_mul(6)];
    step("Router", Module::Moe, tensors).over(rank, rank.local_tokens()).streams(bytes, [8, 8])
}

/// Tokens on their way to the experts: only where each came from is kept.
fn dispatch(rank: &Rank, routed: &Routed) -> Step {
    let mut tensors = vec![rank.droppable(tensor("token order", Role::Saved, [routed.tokens], DType::Int64), routed.dropped)];
    tensors.push(rank.alive("gradient of the experts' input", [routed.tokens, rank.h()]));
    tensors.push(travelling(rank, routed));
    tensors.push(rank.residual_gradient());
    moved(rank, routed, step("Token dispatch", Module::Moe, tensors))
}

/// Tokens are sorted by rank and, where a rank has several experts, by expert: each reads and writes them. Between the two they
/// travel. Backward does the same the other way.
fn moved(rank: &Rank, routed: &Routed, step: Step) -> Step {
    let bytes = rank.bytes(routed.tokens.1.saturating_mul(rank.model.hidden_size));
    let sorts = if routed.experts.1 > 1 && rank.layout.ep() > 1 { 2 } else { 1 };
    let each = bytes.saturating_mul(2).saturating_mul(sorts);
    let mut step = step.streams([each, each], [sorts + 2, sorts + 2]);
    for backward in [false, true] {
        let exchange = |collective, group, bytes| Cost {
            backward,
            work: Work::Exchange(Exchange { collective, group, bytes, behind: Behind::Nothing }),
        };
        if rank.layout.ep() > 1 {
            let collective = match rank.options.moe_token_dispatcher {
                TokenDispatcher::AllToAll => exchange(Collective::AllToAll, Group::Expert, bytes / rank.layout.etp()),
                TokenDispatcher::AllGather => {
                    let all = rank.hidden_bytes().saturating_mul(rank.layout.ep());
                    exchange(Collective::AllGather, Group::Expert, all)
                }
            };
            step = step.sends(Some(collective));
        }
        if rank.layout.etp() > 1 {
            step = step.sends(Some(exchange(Collective::AllGather, Group::ExpertTensor, bytes)));
        }
    }
    step
}

/// What leaves or reaches the dispatcher beside the experts' own copy.
fn travelling(rank: &Rank, routed: &Routed) -> Tensor {
    match rank.options.moe_token_dispatcher {
        TokenDispatcher::AllToAll => rank.alive("gradient on its way", [routed.tokens, rank.h()]),
        TokenDispatcher::AllGather => {
            let ranks = rank.layout.ep().saturating_mul(rank.layout.etp());
            let tokens = rank.local_s().1.saturating_mul(rank.micro_batch_size).saturating_mul(ranks);
            rank.alive("gradient of all tokens of the expert group", [Dim("tokens of the expert group", tokens), rank.h()])
        }
    }
}

fn experts(rank: &Rank, routed: &Routed) -> [Step; 3] {
    let width = up_width(rank, routed.inner);
    let biased = rank.model.moe.as_ref().is_some_and(|moe| moe.bias) || rank.model.mlp_bias;
    let mut first = vec![rank.weight("expert up weights", [routed.experts, width, rank.h()])];
    let mut last = vec![rank.weight("expert down weights", [routed.experts, rank.h(), routed.inner])];
    if biased {
        first.push(rank.weight("expert up biases", [routed.experts, width]));
        last.push(rank.weight("expert down biases", [routed.experts, rank.h()]));
    }
    let keep = |tensor: Tensor, dropped: bool| rank.droppable(tensor, dropped || routed.dropped);
    first.push(keep(rank.saved("expert input", [routed.tokens, rank.h()]), false));
    first.push(rank.alive("gradient of the up output", [routed.tokens, width]));
    first.push(rank.alive("gradient of the expert input", [routed.tokens, rank.h()]));
    first.extend(gradients(rank, routed, width, rank.h()));
    first.push(rank.residual_gradient());
    let recomputed = rank.options.recompute_modules.moe_act;
    last.push(keep(rank.saved("expert down input", [routed.tokens, routed.inner]), recomputed));
    last.push(rank.alive("gradient of the expert output", [routed.tokens, rank.h()]));
    last.push(rank.alive("gradient of the down input", [routed.tokens, routed.inner]));
    last.extend(gradients(rank, routed, rank.h(), routed.inner));
    last.push(rank.residual_gradient());
    [
        step("Experts, up", Module::Moe, first).over(rank, routed.tokens.1),
        act(rank, routed, recomputed),
        step("Experts, down", Module::Moe, last).over(rank, routed.tokens.1),
    ]
}

/// The experts' activation function, which multiplies by the router's probability too.
///
/// Without the fused kernel the activation's output is kept for that product.
fn act(rank: &Rank, routed: &Routed, recomputed: bool) -> Step {
    let tokens = Tokens(routed.tokens, Dim("", 1));
    let mut step = activation(rank, "Experts, activation function", Module::Moe, &tokens, routed.inner, routed.dropped);
    if !rank.options.bias_activation_fusion || matches!(rank.model.mlp, MlpKind::Plain) {
        let output = rank.saved("activation output before weighting", [routed.tokens, routed.inner]);
        step.op.tensors.push(rank.droppable(output, routed.dropped || recomputed));
    }
    step
}

/// Gradients of expert weights that exist at once: all of a grouped product, otherwise one expert's.
fn gradients(rank: &Rank, routed: &Routed, rows: Dim, columns: Dim) -> Option<Tensor> {
    let one = rank.weight_gradient(rows, columns)?;
    if !rank.options.moe_grouped_gemm {
        return Some(one);
    }
    Some(tensor("gradients of the expert weights", Role::Workspace, [routed.experts, rows, columns], rank.parameter))
}

fn combine(rank: &Rank, routed: &Routed) -> Step {
    let tensors = vec![
        rank.alive("gradient of the experts' output", [routed.tokens, rank.h()]),
        travelling(rank, routed),
        rank.residual_gradient(),
    ];
    moved(rank, routed, step("Token combination", Module::Moe, tensors))
}

/// Shared experts: a feed-forward layer of their own on the same normed input.
fn shared(rank: &Rank, moe: &Moe) -> [Step; 3] {
    let inner = rank.split("shared width on this rank", moe.shared_expert_intermediate_size);
    let width = up_width(rank, inner);
    let dropped = rank.options.recompute_modules.shared_experts || rank.options.recompute_modules.moe;
    let mut up = vec![rank.weight("shared up weight", [width, rank.h()])];
    up.push(rank.alive("gradient of the up output", [rank.s(), rank.b(), width]));
    up.push(rank.full_gradient("gradient of the input"));
    up.extend(rank.gathered("input, gathered"));
    up.extend(rank.weight_gradient(width, rank.h()));
    up.push(rank.residual_gradient());
    let mut down = vec![rank.weight("shared down weight", [rank.h(), inner])];
    down.push(rank.droppable(rank.saved("shared down input", [rank.s(), rank.b(), inner]), dropped));
    down.push(rank.alive("gradient of the down input", [rank.s(), rank.b(), inner]));
    down.extend(rank.gathered("gradient of the output, gathered"));
    down.extend(rank.weight_gradient(rank.h(), inner));
    down.push(rank.residual_gradient());
    let module = Module::SharedExperts;
    let ([gather, reduce, again], [sum, back]) = (rank.column_messages(), rank.row_messages());
    [
        step("Shared experts, up", module, up).over(rank, rank.tokens()).sends(gather).sends(reduce).sends(again),
        activation(rank, "Shared experts, activation function", module, &Tokens::dense(rank), inner, dropped),
        step("Shared experts, down", module, down).over(rank, rank.tokens()).sends(sum).sends(back),
    ]
}
