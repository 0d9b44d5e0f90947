//! What is played: which part of the model, how often each block stands for its like, and how memory is shared out.

use crate::config::{
    AttentionKernel, DataSharding, Job, ModelConfig, Optimizer, OptimizerImplementation, PrecisionRecipe, Recompute,
    TrainingPrecision, TrainingRun, Tuning,
};
use crate::estimator::stage::Stage;
use crate::estimator::{MemoryKind, host};
use crate::ops::tape::{Arrival, Parameter, Shards};
use crate::ops::{self, Lowering};
use crate::sharding::Pieces;
use crate::units::DType;

/// No known pattern of sliding blocks is longer.
const MOST_APART: u64 = 8;

/// One block that is played, and how many blocks like it follow on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Played {
    /// Its place in the model.
    pub index: u64,
    /// How many blocks it stands for.
    pub times: u64,
}

/// How gathered weights and gradients move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Movement {
    /// They stay.
    Still,
    /// Gradients are reduced group by group, and shares of them kept.
    Gradients,
    /// Weights are gathered group by group as well; with the buffers of PyTorch's FSDP2, or without.
    Weights {
        /// FSDP2's buffers of all-gathers and reduce-scatters, and its prefetch.
        buffers: bool,
        /// Weights are given back after forward.
        reshard: bool,
    },
}

/// What the elements of a piece of memory follow from, where ranks share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// What a rank keeps of the group of that tag.
    Kept(u16),
    /// The whole group of that tag, padded.
    Padded(u16),
    /// What a rank keeps of the parameters that learn in the group of that tag.
    LearnedKept(u16),
    /// All parameters that learn in it, padded.
    LearnedPadded(u16),
    /// The states of that number.
    States(usize),
    /// The optimizer's temporaries of that number.
    Temporaries(usize),
}

/// Which storages ranks share, besides parameters.
pub(super) type Shares = Vec<(u32, Share)>;

/// What is played.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan<'a> {
    pub with: Lowering<'a>,
    pub stage: Stage,
    pub played: Vec<Played>,
    pub recompute: Recompute,
    /// Whether gradients exist already when the micro-batch begins.
    pub accumulated: bool,
    pub optimizer: Optimizer,
    pub implementation: OptimizerImplementation,
    pub recipe: PrecisionRecipe,
    /// Data-parallel ranks.
    pub ranks: u64,
    pub sharding: DataSharding,
    pub movement: Movement,
    pub reduce: DType,
    pub away: Away,
}

/// What waits in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "four kinds of memory, each there or not")]
pub(super) struct Away {
    pub parameters: bool,
    pub gradients: bool,
    pub optimizer: bool,
    pub activations: bool,
}

impl<'a> Plan<'a> {
    /// The step of a stage; `every` block played by itself, or blocks that are alike once for all.
    pub fn of(job: &'a Job, run: &TrainingRun, stage: Stage, every: bool) -> Self {
        let layout = job.layout();
        let recipe = run.recipe();
        let fsdp_mixed = run.precision == TrainingPrecision::FsdpMixed;
        let compute = if fsdp_mixed { DType::Bf16 } else { recipe.parameter };
        let mut with = Lowering { parameter: compute, ..ops::lowering(job) };
        let sharding = if fsdp_mixed { DataSharding::CASTING } else { layout.sharding };
        let ranks = if fsdp_mixed && !layout.sharding.shards_parameters() { 1 } else { layout.shards() };
        let moves = fsdp_mixed || (ranks > 1 && sharding.shards_gradients());
        let movement = match &sharding.gathers {
            _ if !moves => Movement::Still,
            None => Movement::Gradients,
            Some(gathers) => Movement::Weights {
                buffers: gathers.has_buffers,
                reshard: gathers.most_live.map_or(layout.reshard_after_forward, |most| gives_back(job, most)),
            },
        };
        if matches!(movement, Movement::Weights { .. }) {
            // A group is gathered in one format.
            with.tuning.adapter_dtype = None;
        }
        let recipe = if run.tuning.freezes_model() { of_adapters(recipe, &with) } else { recipe };
        Self {
            with,
            stage,
            played: played(job, stage, every),
            recompute: run.recompute,
            accumulated: job.gradient_accumulation_steps() > 1,
            optimizer: run.optimizer,
            implementation: run.optimizer_implementation,
            recipe,
            ranks,
            sharding,
            movement,
            away: Away {
                parameters: host::is_away(job, MemoryKind::Parameter),
                gradients: host::is_away(job, MemoryKind::Gradient),
                optimizer: host::is_away(job, MemoryKind::OptimizerState),
                activations: layout.offload.activations,
            },
            reduce: if layout.reduce_in_fp32 { DType::Fp32 } else { compute },
        }
    }

    /// The format that FSDP2 casts what a block is given to, where it gathers parameters in another than they are kept in
    /// (`MixedPrecisionPolicy`, `cast_forward_inputs`).
    pub fn input_format(&self) -> Option<DType> {
        (self.sharding.casts_as_it_gathers && self.with.parameter != self.with.made_in).then_some(self.with.parameter)
    }

    /// How parameters are shared out.
    pub fn shards(&self) -> Option<Shards> {
        let in_rows = self.sharding.pieces == Pieces::RowsOfEachTensor;
        (in_rows && matches!(self.movement, Movement::Weights { .. }))
            .then_some(Shards { ranks: self.ranks, dtype: self.recipe.parameter })
    }

    /// The format of a parameter that learns beside others of another, as fp32 routers in a model of 16 bits.
    pub fn own_format(&self, parameter: &Parameter) -> Option<DType> {
        (!self.with.tuning.freezes_model() && parameter.dtype != self.with.parameter).then_some(parameter.dtype)
    }

    /// Format of the parameters that learn.
    fn learned(&self) -> DType {
        let tuning = &self.with.tuning;
        tuning.adapter_dtype.filter(|_| tuning.freezes_model()).unwrap_or(self.with.parameter)
    }

    /// What becomes of gradients.
    pub fn arrival(&self) -> Arrival {
        let recipe = &self.recipe;
        match self.movement {
            Movement::Still if recipe.gradient == self.learned() && recipe.gradient_copy.is_none() => Arrival::Kept,
            Movement::Still => Arrival::Converted(recipe.gradient, recipe.gradient_copy),
            // FSDP2 leaves the cast to its reduction, where that is in a wider format (`_set_unsharded_grad_dtypes`).
            Movement::Weights { buffers: true, .. } => {
                Arrival::Pending { as_made: self.reduce.bits() > self.with.parameter.bits() }
            }
            _ => Arrival::Pending { as_made: false },
        }
    }

    /// Whether the step of another plan takes and frees the same, in pieces of other sizes, because only the number of data-parallel
    /// ranks differs, and that of micro-batches in flight.
    pub fn differs_in_ranks(&self, other: &Self) -> bool {
        let stage = Stage { in_flight: other.stage.in_flight, ..self.stage };
        Self { ranks: other.ranks, stage, ..self.clone() } == *other
    }

    /// How many of the model's blocks the played one of that tag stands for; 1 outside the blocks.
    pub fn times(&self, tag: u16) -> u64 {
        let at = usize::from(tag).checked_sub(1);
        at.and_then(|at| self.played.get(at)).map_or(1, |played| played.times)
    }

    /// The tag of the head: the one after the last block.
    pub fn head(&self) -> u16 {
        u16::try_from(self.played.len()).unwrap_or(u16::MAX - 1).saturating_add(1)
    }
}

/// The formats of adapters' gradients and states: PyTorch's optimizers keep both in the format of the parameter. An fp32 adapter needs
/// no master weights.
fn of_adapters(recipe: PrecisionRecipe, with: &Lowering<'_>) -> PrecisionRecipe {
    let Some(dtype) = with.tuning.adapter_dtype else { return recipe };
    if dtype == DType::Fp32 {
        return PrecisionRecipe { gradient: dtype, gradient_copy: None, master: None, optimizer_state: dtype, ..recipe };
    }
    PrecisionRecipe { gradient: dtype, ..recipe }
}

/// Whether weights are given back after use where so many parameters may stay gathered.
fn gives_back(job: &Job, most_live: u64) -> bool {
    let parameters = ops::without_products(&Lowering::parameters_only(job.model())).parameters();
    parameters / job.layout().t().max(1) > most_live
}

/// Blocks of a stage: of each run of blocks that are alike the first, one for all that follow, and the last.
fn played(job: &Job, stage: Stage, every: bool) -> Vec<Played> {
    let model = job.model();
    let tuning = job.training().map_or(Tuning::FULL, |run| run.tuning);
    // What is recomputed, a block or its attention core, holds the mask it reads until backward is through with it; so it is with rotary
    // tables where each sort of blocks has its own.
    let tables = model.family.modules().tables_for_each_kind
        || job.training().is_some_and(|run| run.recompute != Recompute::None && run.attention == AttentionKernel::Standard);
    // Every block's keys and values have a place of their own in the cache, and their gradients wait until backward is through; so do
    // gradients of what layers share, and of the inputs of all of them.
    let caches = tuning.keys_before() > 0 || model.altup().is_some();
    let (first, end) = (stage.range().start, stage.range().end);
    let mut all = Vec::new();
    let mut from = first;
    while from < end {
        let kind = |layer| ops::modules::kind(model, &tuning, layer);
        let all_alike = model.is_uniform() && tuning.frozen_layers == 0;
        let length = run_length(from, end, |layer| kind(layer) == kind(from), all_alike);
        let apart = if tables { tables_apart(model, from, length) } else { 1 };
        if every || caches || length <= apart + 2 {
            all.extend((from..from.saturating_add(length)).map(|index| Played { index, times: 1 }));
        } else {
            all.extend((from..from.saturating_add(apart)).map(|index| Played { index, times: 1 }));
            all.push(Played { index: from.saturating_add(apart), times: length - apart - 1 });
            all.push(Played { index: from.saturating_add(length - 1), times: 1 });
        }
        from = from.saturating_add(length);
    }
    all
}

/// How many blocks must be played by themselves before one can stand for its like: the first, and where sliding and other blocks
/// have tables of their own, all up to the first of the other sort, with which backward lets go of its tables.
fn tables_apart(model: &ModelConfig, from: u64, length: u64) -> u64 {
    let sliding = model.sliding_layers.contains(from);
    let other = (1..length.min(MOST_APART)).find(|skip| model.sliding_layers.contains(from.saturating_add(*skip)) != sliding);
    other.map_or(1, |skip| skip.saturating_add(1))
}

/// How many blocks from `from` on are alike; all of them where every block is.
fn run_length(from: u64, end: u64, alike: impl Fn(u64) -> bool, all_alike: bool) -> u64 {
    if all_alike {
        return end - from;
    }
    (from..end).take_while(|layer| alike(*layer)).count().try_into().unwrap_or(u64::MAX)
}

/// Whether the step of a run is played on the tape.
pub(in crate::estimator) const fn is_played(run: &TrainingRun) -> bool {
    run.stack.is_played()
}
