//! The plan of a played step: which part of the model is played, how often each block stands for
//! others like it, and how memory is shared out.

mod blocks;

use self::blocks::{gives_back, live, played};
use super::libraries;
use crate::config::{
    DataSharding, Evaluation, Job, LibraryOptions, Optimizer, OptimizerImplementation, PassType,
    Pipeline, PipelineSchedule, PrecisionRecipe, Recompute, TrainingPrecision, TrainingRun,
};
use crate::estimator::stage::Stage;
use crate::estimator::{MemoryKind, host};
use crate::ops::tape::{Arrival, Cut, Parameter, Shards};
use crate::ops::{self, Lowering};
use crate::sharding::{Buckets, GatheredInto, Pieces};
use crate::stacks::GroupsOfEnds;
use crate::units::DType;

/// Micro-batches that are played at most where the outputs of all stay.
const MOST_KEPT: u64 = 32;

/// Bits at whose multiples FSDP1 lets each parameter of a flat one begin: 16 bytes.
const ALIGNED_BITS: u64 = 128;

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
    /// Weights and gradients stay in place.
    Still,
    /// Gradients are reduced group by group, and shares of them kept.
    Gradients,
    /// Weights are gathered group by group as well.
    Weights {
        /// Where gathered weights come to lie.
        into: GatheredInto,
        /// Weights of blocks are given back after forward.
        reshard: bool,
        /// Weights outside the blocks are not given back.
        keeps_ends: bool,
    },
}

/// The rule by which the elements of a storage follow, where ranks share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// A rank's part of the group of that tag.
    Kept(u16),
    /// The whole group of that tag, padded.
    Padded(u16),
    /// A rank's part of the parameters that learn in the group of that tag.
    LearnedKept(u16),
    /// All parameters that learn in it, padded.
    LearnedPadded(u16),
    /// The states of that number.
    States(usize),
    /// The optimizer's temporaries of that number.
    Temporaries(usize),
    /// Gradients that a step casts up at the same time.
    Upcast,
    /// A rank's rest of parameters that its part of the long vector cuts.
    Cut,
}

/// Which storages ranks share, besides parameters.
pub(super) type Shares = Vec<(u32, Share)>;

/// The plan of a played step or evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan<'a> {
    pub with: Lowering<'a>,
    pub stage: Stage,
    pub played: Vec<Played>,
    pub recompute: Recompute,
    /// True if a step has micro-batches before the one that is played, which have left gradients.
    pub accumulated: bool,
    /// True if gradients live on from step to step, filled with zeros.
    pub keeps_gradients: bool,
    pub optimizer: Optimizer,
    /// True if each parameter is updated as soon as its gradient is there.
    pub steps_in_backward: bool,
    pub implementation: OptimizerImplementation,
    pub recipe: PrecisionRecipe,
    /// Data-parallel ranks.
    pub ranks: u64,
    pub sharding: DataSharding,
    pub movement: Movement,
    /// True if backward gathers the next group ahead: FSDP2 always does, FSDP1 as
    /// `backward_prefetch` says.
    pub gathers_ahead: bool,
    /// In which groups the ends of the model are gathered.
    pub ends: GroupsOfEnds,
    /// True if the whole model is one group.
    pub is_one_group: bool,
    /// True if the last block stays gathered from forward to backward.
    pub keeps_last_block: bool,
    /// True if gradients of micro-batches add up unreduced before those of the last micro-batch are
    /// reduced.
    pub reduce_once: bool,
    /// True if PyTorch's pipeline runs the stage under FSDP2 (`backward_maybe_with_nosync` in
    /// `torch/distributed/pipelining/stage.py`, 2.15): backward gives no weights back and reduces
    /// no gradients, until all micro-batches of a step are through.
    pub in_stages: bool,
    /// Micro-batches of a step.
    pub micro_batches: u64,
    /// The passes of all micro-batches of a stage in order, where every tensor is played.
    pub passes: Vec<PassType>,
    /// True if the stage's output is sent before the next backward, not after all forward passes.
    pub sends_at_once: bool,
    /// Buckets into which gradients are copied, and the elements of one and their format.
    pub buckets: (Buckets, u64, DType),
    /// Options of the library that shares the training out.
    pub library: LibraryOptions,
    /// Parameters that stay gathered at once, where that is neither all of them nor one block's.
    pub live: Option<Live>,
    pub reduce: DType,
    pub away: Away,
    /// True if the optimizer's tensors are played one by one; false if those that live equally long
    /// are played together.
    pub singly: bool,
    /// The data-parallel rank whose part of the long vector is played; `None`: the fullest.
    pub rank: Option<u64>,
    /// The evaluation that is played in place of a step.
    pub evaluation: Option<Evaluation>,
}

/// Parameters that stay gathered at once.
///
/// DeepSpeed's stage 3 gives weights back where more than `stage3_max_live_parameters` are
/// gathered, and gathers ahead as long as there is room
/// (`deepspeed/runtime/zero/partitioned_param_coordinator.py`): from the end of forward on that
/// many are there, whichever are in use. They are counted as the ends of the model and the first
/// blocks, whose turn comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    /// How many blocks, counted from the first, have their weights from their forward to their
    /// backward.
    pub blocks: u64,
    /// Parameters of the next block for which there is still room.
    pub rest: u64,
}

/// How a group's weights are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holding {
    /// As long as the movement says.
    InTurn,
    /// From its forward to its backward.
    Lasting,
    /// So many parameters from its forward to its backward.
    Rest(u64),
    /// Its weights are not held by themselves: other groups' gathered weights stand for them.
    Nothing,
}

/// The kinds of memory that wait on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "four kinds of memory, each there or not")]
pub(super) struct Away {
    pub parameters: bool,
    pub gradients: bool,
    pub optimizer: bool,
    pub activations: bool,
}

impl Away {
    /// The parts of a job that wait there.
    fn of(job: &Job) -> Self {
        Self {
            parameters: host::is_away(job, MemoryKind::Parameter),
            gradients: host::is_away(job, MemoryKind::Gradient),
            optimizer: host::is_away(job, MemoryKind::OptimizerState),
            activations: job.layout().offload.activations,
        }
    }
}

impl<'a> Plan<'a> {
    /// The step of a stage; `every` block played by itself, or blocks that are alike once for all.
    pub fn of(job: &'a Job, run: &TrainingRun, stage: Stage, every: bool) -> Self {
        let layout = job.layout();
        let recipe = run.recipe();
        let fsdp_mixed = run.precision == TrainingPrecision::FsdpMixed;
        let mut with = lowered(job, fsdp_mixed);
        let compute = with.parameter;
        let sharding = if fsdp_mixed && !layout.sharding.casts_as_it_gathers {
            DataSharding::CASTING
        } else {
            layout.sharding
        };
        let ranks =
            if fsdp_mixed && !layout.sharding.shards_parameters() { 1 } else { layout.shards() };
        let moves = fsdp_mixed || (ranks > 1 && sharding.shards_gradients());
        let movement = if moves { movement(job, run, sharding) } else { Movement::Still };
        with.float8.gathers &=
            with.float8.is_tensorwise() && ranks > 1 && gathers_into_buffers(movement);
        let live =
            live(job, run, sharding).filter(|_| matches!(movement, Movement::Weights { .. }));
        let is_one_group = libraries::is_one_group(run, sharding, movement);
        let buckets = libraries::buckets(job, run, sharding, recipe);
        let recipe = formats_of_adapters((movement, buckets.0), &mut with, recipe);
        Self {
            with,
            // Blocks of one group are not alike: where its vector is cut, only some of them keep a
            // part.
            played: played(job, &stage, live, every || is_one_group),
            stage,
            recompute: run.recompute,
            accumulated: job.gradient_accumulation_steps() > 1,
            keeps_gradients: !run.zero_grad_to_none,
            optimizer: run.optimizer,
            steps_in_backward: run.optimizer_in_backward,
            implementation: run.optimizer_implementation,
            recipe,
            ranks,
            sharding,
            movement,
            gathers_ahead: run.overlap.prefetch_backward
                || !matches!(movement, Movement::Weights { into: GatheredInto::FlatTensor, .. }),
            ends: if gathers_into_buffers(movement) {
                run.stack.groups_of_ends
            } else {
                GroupsOfEnds::Together
            },
            is_one_group,
            reduce_once: libraries::reduces_once(job, sharding, buckets.0),
            in_stages: runs_in_stages(job),
            micro_batches: job.gradient_accumulation_steps(),
            passes: Vec::new(),
            sends_at_once: job.pipeline().schedule != PipelineSchedule::GPipe,
            keeps_last_block: run.stack.keeps_last_block && gathers_into_buffers(movement),
            buckets,
            library: run.library,
            live,
            away: Away::of(job),
            reduce: if layout.reduce_in_fp32 { DType::Fp32 } else { compute },
            singly: false,
            rank: None,
            evaluation: None,
        }
    }

    /// The plan of a step of which every tensor is played.
    pub fn of_every_tensor(job: &'a Job, run: &TrainingRun, stage: Stage) -> Self {
        let plan = Self::of(job, run, stage, true);
        let passes = if plan.in_stages {
            let keeps = plan.stage.head && run.stack.stages.keep_outputs();
            let pipeline = job.pipeline();
            let settled = pipeline.settled();
            // Where outputs stay, each micro-batch leaves less room than the one before.
            let most = if keeps { pipeline.micro_batches.min(MOST_KEPT) } else { 0 };
            let micro_batches = settled.micro_batches.max(most);
            let order = Pipeline { micro_batches, ..settled }.order(plan.stage.index);
            order.into_iter().map(|slot| slot.work).collect()
        } else {
            Vec::new()
        };
        Self { singly: true, passes, ..plan }
    }

    /// The format that FSDP2 casts what a block is given to, where it gathers parameters in another
    /// than they are kept in (`MixedPrecisionPolicy`, `cast_forward_inputs`).
    pub fn input_format(&self) -> Option<DType> {
        let casts = self.sharding.gathers.as_ref().is_some_and(|gathers| gathers.casts_inputs);
        (casts && self.with.parameter != self.with.made_in).then_some(self.with.parameter)
    }

    /// True if gradients exist when a micro-batch begins, the very first one aside.
    pub const fn has_gradients_before(&self) -> bool {
        self.accumulated || self.keeps_gradients
    }

    /// How parameters are shared out.
    pub fn shards(&self) -> Option<Shards> {
        let cut = match self.sharding.pieces {
            Pieces::OfOneVector => return None,
            Pieces::RowsOfEachTensor => Cut::Rows,
            // Addresses are aligned in the format that is gathered (`_flat_param.py`,
            // `_get_aligned_numel`).
            Pieces::OfOneVectorPerGroup => {
                let head = if self.is_one_group { None } else { Some(self.head()) };
                Cut::Flat { head, align: ALIGNED_BITS / self.with.parameter.bits().max(1) }
            }
        };
        let moves = matches!(self.movement, Movement::Weights { .. });
        moves.then_some(Shards { ranks: self.ranks, dtype: self.recipe.parameter, cut })
    }

    /// The format of a parameter that learns beside others of another, as fp32 routers in a model
    /// of 16 bits, or a copy of the head beside fp32 adapters.
    pub fn own_format(&self, parameter: &Parameter) -> Option<DType> {
        (parameter.dtype != self.learned()).then_some(parameter.dtype)
    }

    /// Format of the parameters that learn.
    fn learned(&self) -> DType {
        let tuning = &self.with.tuning;
        tuning.adapter_dtype.filter(|_| tuning.freezes_model()).unwrap_or(self.with.parameter)
    }

    /// How gradients are handled when they arrive.
    pub fn arrival(&self) -> Arrival {
        let recipe = &self.recipe;
        match self.movement {
            Movement::Still if self.steps_in_backward => Arrival::Stepped,
            Movement::Still
                if recipe.gradient == self.learned() && recipe.gradient_copy.is_none() =>
            {
                Arrival::Kept
            }
            Movement::Still => Arrival::Converted(recipe.gradient, recipe.gradient_copy),
            // FSDP2 leaves the cast to its reduction, where that is in a wider format
            // (`_set_unsharded_grad_dtypes`).
            Movement::Weights { into: GatheredInto::BufferAndTensors, .. } => {
                Arrival::Pending { as_made: self.reduce.bits() > self.with.parameter.bits() }
            }
            _ => Arrival::Pending { as_made: false },
        }
    }

    /// The plan but for the number of data-parallel ranks and that of micro-batches in flight:
    /// steps that agree in it take and free the same, in pieces of other sizes.
    pub fn of_any_ranks(&self) -> Self {
        let mut plan = Self { ranks: 0, ..self.clone() };
        plan.stage.in_flight = 0;
        plan
    }

    /// How much of a group's weights stands for what is gathered at once; all of it where that is
    /// not counted so.
    pub fn holding(&self, tag: u16) -> Holding {
        let index = usize::from(tag)
            .checked_sub(1)
            .and_then(|at| self.played.get(at))
            .map(|played| played.index);
        match (self.live, index) {
            (Some(live), Some(index)) if index == live.blocks => Holding::Rest(live.rest),
            (Some(live), Some(index)) if index > live.blocks => Holding::Nothing,
            (Some(_), _) => Holding::Lasting,
            (None, _) => Holding::InTurn,
        }
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

/// True if PyTorch's pipeline runs the stages of a job under FSDP2.
pub(in crate::estimator) fn runs_in_stages(job: &Job) -> bool {
    job.training().is_some_and(|run| {
        let mixed = run.precision == TrainingPrecision::FsdpMixed;
        let moves = mixed || job.layout().shards() > 1;
        let gathers = job.layout().sharding.gathers.as_ref();
        let buffers = gathers.is_some_and(|found| found.into == GatheredInto::BufferAndTensors);
        job.layout().p() > 1 && run.stack.stages.are_of_torch() && moves && buffers
    })
}

/// How weights and gradients that are shared out move.
fn movement(job: &Job, run: &TrainingRun, sharding: DataSharding) -> Movement {
    let Some(gathers) = &sharding.gathers else { return Movement::Gradients };
    let reshard = if gathers.is_limited {
        gives_back(job, run.library.max_live_parameters)
    } else {
        job.layout().reshard_after_forward
    };
    Movement::Weights { into: gathers.into, reshard, keeps_ends: gathers.keeps_ends || !reshard }
}

/// The lowering of a job; where parameters are gathered in 16 bits, in these.
fn lowered(job: &Job, gathered_in_16_bits: bool) -> Lowering<'_> {
    let with = ops::lowering(job);
    if gathered_in_16_bits { Lowering { parameter: DType::Bf16, ..with } } else { with }
}

/// The formats of a training's parameters, gradients and states, as far as adapters decide them.
///
/// A group is gathered in one format, and below its stage 3 DeepSpeed casts every parameter to the
/// weights' format. Stage 3 leaves adapters beside partitioned weights in the format in which they
/// were made (`_cast_module_mixed_precision` in `deepspeed/runtime/engine.py`); their gradients and
/// states are those of any parameter.
fn formats_of_adapters(
    (movement, buckets): (Movement, Buckets),
    with: &mut Lowering<'_>,
    recipe: PrecisionRecipe,
) -> PrecisionRecipe {
    let gathers_tensors = matches!(movement, Movement::Weights { into: GatheredInto::Tensors, .. });
    let is_group = matches!(movement, Movement::Weights { .. }) && !gathers_tensors;
    if is_group || buckets == Buckets::WhileReducing {
        with.tuning.adapter_dtype = None;
    }
    if with.tuning.freezes_model() && !gathers_tensors { of_adapters(recipe, with) } else { recipe }
}

/// The formats of adapters' gradients and states: PyTorch's optimizers keep both in the format of
/// the parameter. An fp32 adapter needs no master weights.
fn of_adapters(recipe: PrecisionRecipe, with: &Lowering<'_>) -> PrecisionRecipe {
    let Some(dtype) = with.tuning.adapter_dtype else { return recipe };
    if dtype == DType::Fp32 {
        return PrecisionRecipe {
            gradient: dtype,
            gradient_copy: None,
            master: None,
            optimizer_state: dtype,
            ..recipe
        };
    }
    PrecisionRecipe { gradient: dtype, ..recipe }
}

/// True if a group is gathered into a buffer, and its weights copied out of it.
const fn gathers_into_buffers(movement: Movement) -> bool {
    matches!(movement, Movement::Weights { into: GatheredInto::BufferAndTensors, .. })
}

/// True if the step of a run is played on the tape.
pub(in crate::estimator) const fn is_played(run: &TrainingRun) -> bool {
    run.stack.is_played()
}
