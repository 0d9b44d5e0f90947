//! Rules that forbid a layout whatever the memory. They are values, not errors.

/// Rules by their names: where each is from, and the sentence that says it.
macro_rules! rules {
    ($($(#[$about:meta])* $name:ident: $source:ident, $says:literal;)*) => {
        $($(#[$about])* pub(super) static $name: crate::sharding::FrameworkRule =
            crate::sharding::FrameworkRule { says: $says, source: crate::sources::$source };)*
    };
}

mod degrees;
mod drafts;
mod encoders;
mod evaluation;
mod float8;
mod host;
mod parts;
mod rules;
mod towers;
mod tuning;

use thiserror::Error;

use crate::config::{
    Job, Loss, Objective, PipelineSchedule, PipelineSplit, Recompute, RouterWeights,
    TrainingPrecision, TrainingRun,
};
use crate::optimizers::{ConflictingTool, OptimizerConflict};
use degrees::{batch, micro_batch, model, own_degrees, pipeline};
pub(super) use evaluation::refused as refused_evaluation;
pub use host::HostRefused;
use rules::{
    ADAPTED_EXPERTS_APART, ADAPTED_EXPERTS_SPLIT, ADAPTED_LATENT, ADAPTED_OTHERWISE,
    ADAPTED_SHARED, AUTOCAST_SHARED, BYTES_SHARED, CUT_IN_32_BITS, DROPOUT_ELSEWHERE,
    EVALUATION_AWAY, EVALUATION_GATHERED, EVALUATION_LOSS, EVALUATION_SPLIT, EVALUATION_TUNED,
    EXPERTS_ADAPTED_IN_HALVES, EXPERTS_ADAPTED_PLAINLY, EXPERTS_ADAPTED_SHARED, EXPERTS_PACKED,
    GRADIENTS_KEPT, INDEXED_BY_MASKS, LAYERS_ELSEWHERE, LOSS_OF_TORCHTITAN, NOTHING_LEARNS,
    PACKED_ELSEWHERE, PACKED_SCORES, PREFIX_ELSEWHERE, PREFIX_RECOMPUTED, SAVED_SHARED, SAVED_TIED,
    STATES_ADAPTED, STATES_OTHERWISE, STEPS_IN_BACKWARD, STREAMS_IN_STAGES, STREAMS_TUNED,
    TUNING_ELSEWHERE, TUNING_MEGATRON, TUNING_SPLIT, UPCAST_SHARED,
};
pub use towers::Unseen;

pub use crate::sharding::FrameworkRule;
use crate::sharding::{CarriedOutBy, With};
use crate::sources::{self, Source};
use crate::stacks::NotWith;
use crate::units::whole;

/// A rule that the layout breaks; its text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Blocker {
    /// More ranks than sequences.
    #[error("a global batch of {} leaves some of {} data-parallel ranks without a sequence", whole(*.batch), whole(*.ranks))]
    TooManyRanks {
        /// Sequences in the global batch.
        batch: u64,
        /// Data-parallel ranks.
        ranks: u64,
    },
    /// The batch cannot be dealt out evenly.
    #[error("a global batch of {} cannot be divided by {} data-parallel ranks", whole(*.batch), whole(*.ranks))]
    UnevenBatch {
        /// Sequences in the global batch.
        batch: u64,
        /// Data-parallel ranks.
        ranks: u64,
    },
    /// The share of a rank is not a whole number of micro-batches.
    #[error(
        "{share} sequences per data-parallel rank are not a whole number of micro-batches of {micro_batch}"
    )]
    UnevenMicroBatch {
        /// Sequences per rank.
        share: u64,
        /// Micro-batch size.
        micro_batch: u64,
    },
    /// Something does not divide by the tensor degree.
    #[error("{what} ({size}) does not divide by the tensor-parallel degree {t}")]
    Tensor {
        /// The quantity that cannot be split evenly.
        what: &'static str,
        /// Size of that quantity.
        size: u64,
        /// Tensor degree.
        t: u64,
    },
    /// The library does not split the family's modules.
    #[error(
        "transformers 5.23 has no tensor-parallel plan for {family}; use 1 tensor-parallel rank or another software stack"
    )]
    NoTensorPlan {
        /// The `model_type`.
        family: &'static str,
    },
    /// Layers do not divide by the pipeline degree.
    #[error("{layers} layers{} do not divide by the pipeline degree {p}", beside(*.split))]
    Pipeline {
        /// Blocks.
        layers: u64,
        /// Pipeline degree.
        p: u64,
        /// How they are dealt out.
        split: PipelineSplit,
    },
    /// Context-parallel ranks each take two pieces of a sequence, so that causal attention gives
    /// all the same work.
    #[error(
        "a sequence of {seq_length} tokens does not split into {pieces} equal pieces, two for each of {ranks} context-parallel ranks"
    )]
    Context {
        /// Tokens of a sequence.
        seq_length: u64,
        /// Pieces wanted.
        pieces: u64,
        /// Context-parallel ranks.
        ranks: u64,
    },
    /// Experts cannot be dealt out evenly.
    #[error("{experts} experts do not split evenly over {ranks} expert-parallel ranks")]
    Experts {
        /// Experts in a layer.
        experts: u64,
        /// Expert-parallel ranks.
        ranks: u64,
    },
    /// The ranks of a stage cannot be grouped for the experts.
    #[error(
        "{ranks} ranks of a pipeline stage do not split into groups of {group} for the experts"
    )]
    ExpertGroups {
        /// Tensor-, context- and data-parallel ranks of a stage.
        ranks: u64,
        /// Expert-parallel times expert-tensor-parallel ranks.
        group: u64,
    },
    /// Blocks do not divide into the chunks of an interleaved pipeline.
    #[error("{layers} layers do not divide into {chunks} chunks on each of {p} pipeline stages")]
    Chunks {
        /// Blocks.
        layers: u64,
        /// Chunks of a stage.
        chunks: u64,
        /// Pipeline degree.
        p: u64,
    },
    /// Interleaving takes micro-batches in whole groups.
    #[error(
        "Megatron-LM interleaves only micro-batches that fill its groups of {group}, or leave at least {p}; {micro_batches} leave {left}"
    )]
    Groups {
        /// Micro-batches of a step.
        micro_batches: u64,
        /// Consecutive micro-batches of one chunk.
        group: u64,
        /// Micro-batches left for the last group.
        left: u64,
        /// Pipeline degree.
        p: u64,
    },
    /// `DualPipe` needs even stages, and micro-batches for both directions.
    #[error(
        "DualPipe needs an even number of stages and an even number of micro-batches, at least twice the stages; not {p} and {micro_batches}"
    )]
    DualPipe {
        /// Pipeline degree.
        p: u64,
        /// Micro-batches of a step.
        micro_batches: u64,
    },
    /// Data-parallel ranks cannot be grouped for hybrid sharding.
    #[error("{ranks} data-parallel ranks do not split into {replicas} sharding groups")]
    Replicas {
        /// Data-parallel ranks.
        ranks: u64,
        /// Groups.
        replicas: u64,
    },
    /// Images that the model does not see.
    #[error("{0}")]
    Images(Unseen),
    /// The host's memory cannot hold parts of the model so.
    #[error("{0}")]
    Host(HostRefused),
    /// A framework does not offer the combination.
    #[error("{}", .0.says)]
    Framework(&'static FrameworkRule),
    /// The engine has no speculative decoding with pipeline stages.
    #[error("{engine} has no speculative decoding with pipeline stages; use 1 stage, or no draft")]
    DraftInStages {
        /// The engine.
        engine: &'static str,
        /// The source of the rule.
        from: Source,
    },
    /// The optimizer cannot be combined with a tool.
    #[error("{}", .0.says)]
    Optimizer(&'static OptimizerConflict),
}

impl Blocker {
    /// Returns the source of the rule; [`sources::ARITHMETIC`] where sizes simply do not divide.
    pub const fn source(&self) -> Source {
        match self {
            Self::Framework(rule) => rule.source,
            Self::Optimizer(conflict) => conflict.source,
            Self::DraftInStages { from, .. } => *from,
            Self::NoTensorPlan { .. } => sources::TRANSFORMERS_TENSOR_PLANS,
            Self::Context { .. }
            | Self::Experts { .. }
            | Self::ExpertGroups { .. }
            | Self::Chunks { .. }
            | Self::Groups { .. } => sources::MEGATRON_CORE,
            Self::Host(refused) => refused.source(),
            Self::DualPipe { .. } => sources::DEEPSEEK_V3_2024,
            _ => sources::ARITHMETIC,
        }
    }
}

/// Words that qualify "layers" in the message where they are not dealt out evenly.
const fn beside(split: PipelineSplit) -> &'static str {
    match split {
        PipelineSplit::Even => "",
        PipelineSplit::Ends { .. } => ", but for those of the first and last stage,",
        PipelineSplit::WithEnds => " with embedding and loss as one more each",
    }
}

impl Blocker {
    /// Returns true if both are the same rule, whatever numbers they carry. Rules on sizes of
    /// different parts count as different.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tensor { what, .. }, Self::Tensor { what: other, .. }) => what == other,
            (Self::Framework(rule), Self::Framework(other)) => {
                std::ptr::eq(*rule, *other) || rule == other
            }
            (Self::Optimizer(conflict), Self::Optimizer(other)) => conflict == other,
            (Self::Host(refused), Self::Host(other)) => {
                std::mem::discriminant(refused) == std::mem::discriminant(other)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// Rules by what they depend on, in the order in which [`blockers`](super::blockers) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Degrees, chunks, and how layers are dealt out.
    Degrees,
    /// Beside these: schedule, micro-batch.
    Schedule,
    /// Rules on state sharing, recomputation and offloading to host memory; they hold for every
    /// micro-batch size.
    Sharing,
}

/// All rules the job's layout breaks.
pub(super) fn blockers(job: &Job) -> Vec<Blocker> {
    let mut found = Vec::new();
    for rules in [Rules::Degrees, Rules::Schedule, Rules::Sharing] {
        add(job, rules, &mut found);
    }
    found
}

/// The first of some rules that the job's layout breaks.
pub(super) fn first(job: &Job, rules: Rules) -> Option<Blocker> {
    let mut found = Vec::new();
    add(job, rules, &mut found);
    found.into_iter().next()
}

fn add(job: &Job, rules: Rules, found: &mut Vec<Blocker>) {
    match (rules, job.training()) {
        (Rules::Degrees, run) => {
            model(job, found);
            found.extend(host::refused(job).map(Blocker::Host));
            drafts::add(job, found);
            if let Some(run) = run {
                own_degrees(job, run, found);
                batch(job, run, found);
            }
        }
        (Rules::Schedule, Some(run)) => {
            micro_batch(job, run, found);
            pipeline(job, found);
        }
        (Rules::Sharing, Some(run)) => {
            shared(job, run, found);
            frameworks(job, run, found);
            tuning::add(job, run, found);
            found.extend(float8::refused(job, run).map(Blocker::Framework));
            found.extend(refused_evaluation(job, run).map(Blocker::Framework));
            optimizer(job, run, found);
        }
        (Rules::Schedule | Rules::Sharing, None) => {}
    }
}

/// Adds the rules on sharing over data-parallel ranks and on offloading to host memory that the job
/// breaks.
fn shared(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let (layout, stack) = (job.layout(), run.stack);
    let (ranks, replicas, sharding, offload) =
        (layout.d(), layout.replicas(), layout.sharding, layout.offload);
    let rule = |with| {
        [CarriedOutBy::Anyone, stack.sharding]
            .into_iter()
            .find_map(|by| sharding.forbidden(with, by))
    };
    let mut forbid = |when: bool, rule: &dyn Fn() -> Option<&'static FrameworkRule>| {
        found.extend(when.then(rule).flatten().map(Blocker::Framework));
    };
    forbid(replicas > 1, &|| rule(With::Groups));
    forbid(offload.parameters, &|| stack.forbidden(NotWith::WeightsInHostMemory));
    forbid(offload.parameters, &|| rule(With::WeightsInHostMemory));
    forbid(offload.optimizer && !offload.parameters, &|| rule(With::OptimizerAloneInHostMemory));
    forbid(offload.optimizer, &|| rule(With::OptimizerInHostMemory));
    let activations = offload.activations;
    forbid(activations && layout.p() > 1, &|| {
        stack.forbidden(NotWith::ActivationsInHostMemoryOverStages)
    });
    let recomputed = activations && run.recompute != Recompute::None;
    forbid(recomputed, &|| stack.forbidden(NotWith::RecomputedActivationsInHostMemory));
    if !ranks.is_multiple_of(replicas) {
        found.push(Blocker::Replicas { ranks, replicas });
    }
}

/// Combinations that a framework names itself.
fn frameworks(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let layout = job.layout();
    let mut forbid = |when: bool, rule: &dyn Fn() -> Option<&'static FrameworkRule>| {
        found.extend(when.then(rule).flatten().map(Blocker::Framework));
    };
    let sharding = layout.sharding;
    forbid(layout.p() > 1, &|| sharding.forbidden(With::Pipeline, CarriedOutBy::Anyone));
    let two_formats = layout.shards() > 1 && learns_in_two_formats(job, run);
    forbid(two_formats, &|| sharding.forbidden(With::TwoFormats, run.stack.sharding));
    forbid(!job.model().has_plain_modules(), &|| run.stack.forbidden(NotWith::OtherModules));
    forbid(!job.model().is_near_llama(), &|| run.stack.forbidden(NotWith::ModulesUnlikeLlama));
    forbid(layout.t() > 1 || layout.p() > 1, &|| run.stack.forbidden(NotWith::SplitModel));
    let by_tokens = layout.sequence_parallel && !run.compile && !run.float8.is_on();
    let otherwise = layout.t() > 1 && !by_tokens;
    forbid(otherwise, &|| run.stack.forbidden(NotWith::SplitOtherThanByTokens));
    let other_stages = layout.p() > 1 && (run.compile || run.float8.is_on());
    forbid(other_stages || has_other_schedule(job), &|| {
        run.stack.forbidden(NotWith::OtherSchedules)
    });
    let (heads, keys) = (job.model().num_attention_heads, job.model().num_key_value_heads);
    forbid(keys < heads && keys <= layout.t(), &|| run.stack.forbidden(NotWith::OneKeyHead));
    let tuned = !run.tuning.is_full() || run.tuning.objective != Objective::NextToken;
    forbid(tuned, &|| run.stack.forbidden(NotWith::Tuning));
    forbid(run.compile, &|| run.stack.forbidden(NotWith::Compiling));
    let wide = matches!(run.precision, TrainingPrecision::Fp32 | TrainingPrecision::AmpBf16)
        || run.tuning.upcasts_rest();
    forbid(run.loss == Loss::Cut && wide, &|| Some(&CUT_IN_32_BITS));
    let alone = layout.sequence_parallel && layout.t() == 1;
    forbid(alone, &|| run.stack.forbidden(NotWith::SequenceParallelismAlone));
    forbid(layout.p() > 1, &|| sharding.forbidden(With::Pipeline, run.stack.sharding));
    forbid(layout.ep() > 1, &|| sharding.forbidden(With::Experts, run.stack.sharding));
    forbid(layout.d() > 1, &|| sharding.forbidden(With::Anything, run.stack.sharding));
    parts::forbidden(job, run, &mut forbid);
}

/// True if stages take turns otherwise than PyTorch's `ScheduleGPipe` and `Schedule1F1B`, which
/// wants a micro-batch for every stage.
fn has_other_schedule(job: &Job) -> bool {
    let pipeline = job.pipeline();
    let runs = match pipeline.schedule {
        PipelineSchedule::GPipe => true,
        PipelineSchedule::OneForwardOneBackward => pipeline.micro_batches >= pipeline.ranks,
        PipelineSchedule::Interleaved
        | PipelineSchedule::ZeroBubbleH1
        | PipelineSchedule::ZeroBubbleH2
        | PipelineSchedule::DualPipe => false,
    };
    pipeline.ranks > 1 && !runs
}

/// True if routers learn in fp32 beside weights of 16 bits.
fn learns_in_two_formats(job: &Job, run: &TrainingRun) -> bool {
    let in_fp32 = job.model().family.modules().experts.router_weights == RouterWeights::Fp32;
    let plain = run.precision == TrainingPrecision::Bf16Pure
        && run.stack.is_played()
        && !run.tuning.freezes_model();
    in_fp32 && plain && job.model().moe.is_some()
}

/// Combinations that the optimizer itself forbids.
fn optimizer(job: &Job, run: &TrainingRun, found: &mut Vec<Blocker>) {
    let layout = job.layout();
    let used = |tool: ConflictingTool| match tool {
        ConflictingTool::OwnTrainingLoop => run.stack.has_own_schedule(),
        ConflictingTool::TensorParallelism => layout.t() > 1,
        ConflictingTool::ShardedStates => {
            run.precision == TrainingPrecision::FsdpMixed
                || layout.sharding.shards_optimizer() && layout.shards() > 1
        }
        ConflictingTool::OffloadedStates => layout.offload.optimizer,
        ConflictingTool::PagedStates => run.tuning.paged_optimizer,
    };
    let conflicts = run.optimizer.spec().conflicts.iter();
    found.extend(conflicts.filter(|conflict| used(conflict.with)).map(Blocker::Optimizer));
}
