//! The order in which one rank under Megatron-LM takes and frees memory, tensor by tensor, for
//! PyTorch's allocator.
//!
//! The order was read off Megatron-Core 0.16.1 (`megatron/core`) and Transformer Engine 2.20.2
//! module by module: what each makes in forward and keeps, what its backward makes and lets go, in
//! which order. Tensors below about 100 kB that live for a moment are left out. Assumptions: every
//! micro-batch is alike; experts get equally many tokens, and the router computes in fp32; messages between stages are waited for; rotation is fused with
//! Transformer Engine and not fused without.

mod adapters;
mod ends;
mod engine;
mod experts;
mod host;
mod local;
mod passes;
mod player;
mod rotary;
mod sizes;
mod weights;

#[cfg(test)]
mod tests;

use super::schedule::{self, Stage};
use crate::config::{
    AttentionKernel, Job, Method, MlpKind, Moe, PipelineSchedule, ProductFormat, Recompute,
    RecomputeModules, TokenDispatcher, TrainingRun,
};
use crate::estimator::timeline::TensorEvent;
use crate::ops::megatron::{RankModel, rank_model};
use adapters::{Adapter, Pairs};
use engine::Matrix;
use experts::{Experts, Routing, WORKSPACES};
use player::{Player, Taken};
use sizes::Sizes;
use weights::Weights;

/// Workspace of one product of cuBLAS on compute capability 9, which PyTorch 2.15 takes for the
/// call (`CublasHandlePool.cpp`).
const CUBLAS: u64 = 32 << 20;

/// Passes through blocks in a step, up to which it is replayed: of `GPipe` every micro-batch is.
const MOST_BLOCKS: u64 = 20_000;

/// Everything that a rank of that stage takes and frees in so many steps, from the first parameter
/// on; `None` where the order of a part of the job is not known.
///
/// `rank` counts the ranks of the stage from 0: those of one stage hold equally large parts of the
/// optimizer's states, cut differently.
pub(in crate::estimator) fn events(
    job: &Job,
    run: &TrainingRun,
    [stage, rank]: [u64; 2],
    steps: u32,
) -> Option<Vec<TensorEvent>> {
    if !is_known(job, run) {
        return None;
    }
    let model = rank_model(job, run);
    let mut order = Order::new((job, run), &model, schedule::stage(job, run, stage), rank);
    order.build();
    let passes = schedule::passes(&job.pipeline(), stage);
    let times = passes.iter().map(|pass| pass.times).fold(0, u64::saturating_add);
    if times.saturating_mul(job.model().num_hidden_layers / job.layout().p().max(1)) > MOST_BLOCKS {
        return None;
    }
    for step in 0..steps {
        order.step(&passes, step == 0);
    }
    Some(order.player.events)
}

/// True if the order of allocations is known for all parts of the model.
fn is_known(job: &Job, run: &TrainingRun) -> bool {
    let (model, layout, options) = (job.model(), job.layout(), &run.megatron);
    let block = model.mla.is_none()
        && model.norms_per_block == 2
        && model.final_norm
        && !model.embedding_norm
        && !model.attention_sinks
        && !model.mlp_bias
        && !model.attention_output_bias;
    let experts = model.moe.as_ref().is_none_or(|moe| is_known_mixture(job, run, moe));
    let kernels = run.attention == AttentionKernel::Flash
        && run.products == ProductFormat::Activations
        && !options.hidden_dropout
        && options.bias_activation_fusion
        && options.wgrad_deferral_limit == 0
        && !options.create_attention_mask;
    // Transformer Engine's norms are part of the products behind them, where recomputing norms
    // recomputes none.
    let recomputed = run.recompute != Recompute::Selective
        || !options.recompute_modules.layernorm
        || options.transformer_engine;
    // Megatron-Core's `HybridDeviceOptimizer` sends states alone away, with its own copies of
    // weights.
    let waits = layout.offload.parameters || layout.offload.activations;
    let shared = layout.cp() == 1 && !waits && !super::fsdp::moves(job);
    let schedule = matches!(
        layout.pipeline_schedule,
        PipelineSchedule::GPipe | PipelineSchedule::OneForwardOneBackward
    ) && job.pipeline().chunks_on_rank() == 1;
    // Scales, factors, and states of some parameters only are laid out by none of Megatron-Core's
    // optimizers.
    let states =
        !run.optimizer.spec().has_vectors() && !run.optimizer.spec().tells_parameters_apart();
    block
        && experts
        && kernels
        && states
        && recomputed
        && shared
        && schedule
        && is_known_tuning(run)
}

/// True if the order of what learns is known: everything, or adapters in Transformer Engine's
/// layers, beside which core attention alone is recomputed by itself.
fn is_known_tuning(run: &TrainingRun) -> bool {
    let options = &run.megatron;
    let recomputed = run.recompute != Recompute::Selective
        || options.recompute_modules == RecomputeModules::CORE_ATTENTION;
    let engine = options.transformer_engine && options.gradient_accumulation_fusion;
    run.tuning.is_full() || (run.tuning.method == Method::Lora && engine && recomputed)
}

/// True if the order of allocations is known for a mixture of experts: grouped products of
/// Transformer Engine behind an all-to-all, no shared experts.
fn is_known_mixture(job: &Job, run: &TrainingRun, moe: &Moe) -> bool {
    let options = &run.megatron;
    let recomputed = options.recompute_modules;
    options.transformer_engine
        && options.moe_grouped_gemm
        && options.moe_token_dispatcher == TokenDispatcher::AllToAll
        && !options.moe_pad_expert_input_to_capacity
        && options.moe_load_percent == 100
        && job.layout().etp() == 1
        && moe.shared_expert_intermediate_size == 0
        && !moe.bias
        && job.model().mlp == MlpKind::Gated
        && (run.recompute != Recompute::Selective
            || !(recomputed.moe || recomputed.moe_act || recomputed.layernorm))
}

/// One rank at work.
struct Order<'a> {
    job: &'a Job,
    run: &'a TrainingRun,
    model: &'a RankModel,
    stage: Stage,
    /// Its number among the ranks of the stage.
    rank: u64,
    sizes: Sizes,
    routing: Routing,
    /// The block that is at work, counted within the stage.
    place: usize,
    adapters: Pairs,
    weights: Weights,
    workspace: u64,
    player: Player,
    lasting: Lasting,
    /// The input that came last from the stage before.
    received: Taken,
    /// The output of a frozen embedding for the last finished micro-batch, and its gradient: both
    /// stay until the graph is freed.
    leaf: [Taken; 2],
}

/// Memory that stays once it is taken.
#[derive(Debug, Default)]
struct Lasting {
    gathered: Option<Taken>,
    angles: Option<Taken>,
    /// Matrices for whose gradient a dummy stands.
    stand_ins: Vec<Matrix>,
    /// For every block, the tensors that its dispatcher routed last.
    routed: Vec<[Taken; 3]>,
    /// Of every block, the gradient of its input and the input: the probabilities that the
    /// dispatcher holds lead to them when they were recomputed.
    leaves: Vec<[Taken; 2]>,
    grouped: [Option<Taken>; WORKSPACES],
}

impl Lasting {
    /// Takes it, unless it is there.
    fn once(place: &mut Option<Taken>, player: &mut Player, name: &'static str, bytes: u64) {
        if place.is_none() {
            *place = Some(player.take(name, bytes));
        }
    }
}

/// A micro-batch's tokens.
#[derive(Clone, Copy, Debug)]
struct Batch {
    tokens: Taken,
    positions: Taken,
    labels: Taken,
    counts: Taken,
}

/// Tensors that a block keeps for backward.
#[derive(Clone, Copy, Debug)]
struct Block {
    mixed: Mixed,
    feed: Forward,
}

/// Tensors that the second half of a block keeps.
#[derive(Clone, Copy, Debug)]
enum Forward {
    Dense(Feed),
    Experts(Experts),
}

/// Tensors that attention keeps: the block's input is its norm's.
#[derive(Clone, Copy, Debug)]
struct Mixed {
    input: Taken,
    normed: Taken,
    statistics: [Taken; 2],
    joint: Taken,
    /// Queries beside the joint projection, which norms over heads read.
    apart: Taken,
    of_heads: [Taken; 2],
    /// Cosine and sine of queries, then of keys.
    angles: [Taken; 4],
    rotated: [Taken; 2],
    output: Taken,
    /// Log-sum-exp and the state of random numbers.
    sums: [Taken; 3],
    /// Beside the joint and the output projection.
    adapters: [Adapter; 2],
}

/// Tensors that a feed-forward layer keeps.
#[derive(Clone, Copy, Debug)]
struct Feed {
    residual: Taken,
    normed: Taken,
    statistics: [Taken; 2],
    up: Taken,
    activated: Taken,
    /// Beside both matrices.
    adapters: [Adapter; 2],
}

/// Tensors that final norm, output layer and loss keep.
#[derive(Clone, Copy, Debug)]
struct Head {
    input: Taken,
    normed: Taken,
    statistics: [Taken; 2],
    /// The softmax, or the logits that their gradient is written over.
    kept: Taken,
    labels: [Taken; 2],
}

/// The gradient of the residual stream on its way back.
#[derive(Clone, Copy, Debug)]
struct Gradient {
    now: Option<Taken>,
    /// Somebody else holds it too, so that a sum cannot be written over it.
    is_held: bool,
}

impl Gradient {
    const NONE: Self = Self { now: None, is_held: false };

    /// A gradient that its owner frees.
    const fn held(taken: Taken) -> Self {
        Self { now: Some(taken), is_held: true }
    }

    /// Adds another: in place where nobody else holds the sum.
    fn add(&mut self, player: &mut Player, other: Taken, bytes: u64) {
        match self.now {
            None => self.now = Some(other),
            Some(_) if self.is_held => {
                *self = Self {
                    now: Some(player.take("gradient of the residual stream", bytes)),
                    is_held: false,
                };
                player.free(other);
            }
            Some(_) => player.free(other),
        }
    }

    fn taken(self) -> Taken {
        self.now.unwrap_or(Taken::NOTHING)
    }

    /// Its memory, unless somebody else frees that.
    fn owned(self) -> Taken {
        if self.is_held { Taken::NOTHING } else { self.taken() }
    }
}

impl<'a> Order<'a> {
    fn new(
        (job, run): (&'a Job, &'a TrainingRun),
        model: &'a RankModel,
        stage: Stage,
        rank: u64,
    ) -> Self {
        let weights = Weights::of(model);
        Self {
            job,
            run,
            model,
            stage,
            rank,
            sizes: Sizes::of(job, run),
            routing: job
                .model()
                .moe
                .as_ref()
                .map_or_else(Routing::default, |moe| Routing::of(job, run, moe)),
            place: 0,
            adapters: Pairs::of(model),
            weights,
            workspace: CUBLAS,
            player: Player::default(),
            lasting: Lasting::default(),
            received: Taken::NOTHING,
            leaf: [Taken::NOTHING; 2],
        }
    }

    /// True if the core of attention is recomputed in backward.
    fn recomputes_core(&self) -> bool {
        self.run.recompute == Recompute::Selective && self.run.megatron.recompute_modules.core_attn
    }

    /// True if feed-forward layers are recomputed in backward.
    fn recomputes_mlp(&self) -> bool {
        self.run.recompute == Recompute::Selective && self.run.megatron.recompute_modules.mlp
    }
}
