//! Memory as the device shows it: what tensors take, what PyTorch's allocator keeps for them, and
//! what the driver counts.
//!
//! The step's tensors are handed to PyTorch's caching allocator ([`crate::hardware::allocator`]) in
//! the order in which they take and give back memory, for as many steps as it takes until nothing
//! grows: the model as the library makes and shares it out, a step that makes the optimizer's
//! states, and steps that find them. Peaks are those of steps; what was kept since the model was
//! made is part of them.

use super::timeline::{Sequence, TensorEvent, runs_in_stages, sequence_of};
use super::{alone_run, blockers, megatron, megatron_run, memory_by_kind, overhead, played_run};
use crate::config::{Job, TrainingRun};
use crate::hardware::allocator::{Device, Event, Gap, Settings, Stream, replay, replay_until};
use crate::units::Bytes;

/// Steps that are replayed. Reserved memory grows over the first steps: the first has no optimizer
/// states, the second finds the holes that they left, the third finds what the second left.
const STEPS: u32 = 3;

/// Layers that are played one by one at most, and memory that is handed out at most, so that nobody
/// waits for a model that nobody trains.
const MOST_LAYERS: u64 = 1000;
const MOST_MEMORY: Bytes = Bytes(16 << 40);

/// How near the least memory is looked for, bytes.
const CLOSE: u64 = 32 << 20;

/// Micro-batches of a step that are replayed at most: from the third on each finds what the second
/// left.
const MOST_MICRO_BATCHES: u64 = 3;

/// Micro-batches in flight that are replayed at most.
const MOST_IN_FLIGHT: u64 = 128;

/// Batches of an evaluation that are replayed: the second finds what the first left.
const EVALUATION_BATCHES: usize = 2;

/// Memory of the rank that holds most, as its device shows it. Each of the three amounts holds the
/// one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceMemory {
    /// Bytes of the blocks that tensors sit in, when they are most:
    /// `torch.cuda.max_memory_allocated()`.
    pub allocated: Bytes,
    /// Bytes that PyTorch holds, when they are most: `torch.cuda.max_memory_reserved()`.
    pub reserved: Bytes,
    /// Bytes that the driver counts, as `nvidia-smi` shows them: reserved, and what stands outside
    /// PyTorch's allocator.
    pub in_use: Bytes,
    /// Where the reserved memory is when most is allocated.
    pub gap: Gap,
    /// How often the device was full and PyTorch gave back memory that it kept for later.
    pub retries: u64,
    /// True if the steps run to their end. If they do not, the amounts are those of a device
    /// without a limit.
    pub fits: bool,
}

/// The reason why the order of allocations of a job is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReplayed {
    /// Serving.
    #[error(
        "A serving engine takes its memory once, when it starts; nothing is handed out anew with \
         every step."
    )]
    Serving,
    /// A stack that lists tensors, or parts of Megatron-LM whose order was not read (context
    /// parallelism, latent attention, shared experts, biases of feed-forward layers, dropout,
    /// interleaved and split schedules, sharded gradients).
    #[error(
        "The order in which this software stack takes and gives back memory is not modelled, so \
         the reserve for fragmentation is assumed."
    )]
    Stack,
    /// More layers, or more memory, than anybody trains with.
    #[error(
        "Trainings of more than 1,000 layers, or of more than 16 TiB on a GPU, are not handed to \
         the allocator tensor by tensor."
    )]
    OutOfReach,
    /// Other models share the memory.
    #[error(
        "The order in which several models take turns is not modelled, so the reserve for \
         fragmentation is assumed."
    )]
    Companions,
    /// A pipeline.
    #[error(
        "The order in which micro-batches of a pipeline follow each other is not modelled, so the \
         reserve for fragmentation is assumed."
    )]
    Pipeline,
    /// A rule is broken, so that nobody can start it.
    #[error("It cannot run like this, so nothing is handed to the allocator.")]
    CannotRun,
    /// Something waits in host memory.
    #[error(
        "The order in which tensors go to the host and come back is not modelled, so the reserve \
         for fragmentation is assumed."
    )]
    Offload,
}

/// Returns the memory of the rank that holds most as its device shows it, bytes: allocated,
/// reserved and in use, as PyTorch 2.15's caching allocator hands it out with the job's setting of
/// `expandable_segments` on the job's device.
///
/// Reserved is exact where the order of allocations is: see the accuracy table. Under Megatron-LM
/// the rank is the first of the stage that holds most; its others hold equally much, cut
/// differently. The device has the accelerator's memory less the bytes outside the allocator
/// (framework context and communicators).
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known: when serving, and under stacks and
/// layouts whose order was not read.
///
/// # Example
/// ```
/// use headroom::estimator::device_memory;
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3.2-1b&n=1&gpu=h100-80").scenario.resolve();
/// let memory = job.map(|job| device_memory(&job)).map_err(|problems| problems.len());
/// let memory = memory?.map_err(|_| 0_usize)?;
/// assert!(memory.allocated < memory.reserved && memory.reserved < memory.in_use);
/// # Ok::<(), usize>(())
/// ```
pub fn device_memory(job: &Job) -> Result<DeviceMemory, NotReplayed> {
    device_memory_under(job, &settings_of(job))
}

/// Returns [`device_memory`] under other settings of the allocator than the job's, bytes.
///
/// [`Settings::from_conf`] reads the text of `PYTORCH_CUDA_ALLOC_CONF`.
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known.
pub fn device_memory_under(job: &Job, settings: &Settings) -> Result<DeviceMemory, NotReplayed> {
    Ok(replayed(job, settings, &all_steps(job)?))
}

/// Returns true if the steps of a training run to their end on its device: [`DeviceMemory::fits`]
/// without the amounts, in one replay.
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known.
pub fn finds_room(job: &Job) -> Result<bool, NotReplayed> {
    Ok(replay(&settings_of(job), device_of(job), &all_steps(job)?).failure.is_none())
}

/// Returns the least memory of a device on which the steps of a training run to their end, bytes in
/// use as the driver counts them, to about 32 MiB.
///
/// Below [`DeviceMemory::in_use`] PyTorch gives back what it keeps for later when the device is
/// full, and goes on. The answer lies on that side of the job's own device on which the replay
/// there says it is. Sizes are tried by halving, so that between two of them an allocator that
/// finds room on a smaller device and none on a larger one is not noticed.
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known.
pub fn least_memory(job: &Job) -> Result<Bytes, NotReplayed> {
    let (events, settings, own) = (all_steps(job)?, settings_of(job), device_of(job));
    let runs = |total: u64| replay(&settings, Device { total, ..own }, &events).failure.is_none();
    let readings = replay(&settings, Device::ENDLESS, &events).allocator.readings();
    let mut fails = readings.allocated.peak.saturating_add(own.outside).saturating_sub(1);
    let mut least = readings.reserved.peak.saturating_add(own.outside);
    if runs(own.total) {
        least = least.min(own.total);
    } else {
        fails = fails.max(own.total);
    }
    while least.saturating_sub(fails) > CLOSE {
        let middle = fails + (least - fails) / 2;
        if runs(middle) { least = middle } else { fails = middle }
    }
    Ok(Bytes(least))
}

/// All steps of the rank that holds most.
fn all_steps(job: &Job) -> Result<Vec<Event>, NotReplayed> {
    is_within_reach(job)?;
    match megatron_run(job) {
        Some(run) => of_stage(job, run, [megatron::peak(job, run, None, false).stage, 0]),
        None => Ok(events(job, &singly(job)?)),
    }
}

/// Returns [`device_memory`] of one rank of a training under Megatron-LM or in PyTorch's pipeline,
/// bytes; `rank` is its number among all ranks, counted from 0.
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known, and for other jobs.
pub fn rank_device_memory(job: &Job, rank: u64) -> Result<DeviceMemory, NotReplayed> {
    let each = (job.layout().world_size() / job.layout().p().max(1)).max(1);
    let Some(run) = megatron_run(job) else {
        let events = events(job, &singly_of(job, Some(rank / each), Some(rank % each))?);
        return Ok(replayed(job, &settings_of(job), &events));
    };
    is_within_reach(job)?;
    Ok(replayed(job, &settings_of(job), &of_stage(job, run, [rank / each, rank % each])?))
}

/// All steps of a rank under Megatron-LM, by its stage and its number there.
fn of_stage(job: &Job, run: &TrainingRun, place: [u64; 2]) -> Result<Vec<Event>, NotReplayed> {
    let events = megatron::ordered(job, run, place, STEPS).ok_or(NotReplayed::Stack)?;
    Ok(events.iter().map(event).collect())
}

/// The allocator's settings that a job states.
pub(super) fn settings_of(job: &Job) -> Settings {
    if job.cluster().overheads.expandable_segments {
        Settings::expandable()
    } else {
        Settings::default()
    }
}

/// The job's device, with the memory outside the allocator.
pub(super) fn device_of(job: &Job) -> Device {
    Device { total: job.cluster().accelerator.memory.0, outside: overhead::outside(job).0 }
}

/// The memory of a job on its own device after those events.
fn replayed(job: &Job, settings: &Settings, events: &[Event]) -> DeviceMemory {
    let outside = overhead::outside(job);
    let device = device_of(job);
    let mut end = replay(settings, device, events);
    let fits = end.failure.is_none();
    let device = if fits { device } else { Device::ENDLESS };
    if !fits {
        end = replay(settings, device, events);
    }
    let readings = end.allocator.readings();
    let reserved = Bytes(readings.reserved.peak);
    DeviceMemory {
        allocated: Bytes(readings.allocated.peak),
        reserved,
        in_use: reserved + outside,
        gap: replay_until(settings, device, events, end.peak_event).gap(),
        retries: readings.retries,
        fits,
    }
}

/// Fails for serving, and for trainings that nobody runs.
fn is_within_reach(job: &Job) -> Result<(), NotReplayed> {
    if job.training().is_none() {
        return Err(NotReplayed::Serving);
    }
    if !blockers(job).is_empty() {
        return Err(NotReplayed::CannotRun);
    }
    let takes: Bytes = memory_by_kind(job).into_iter().sum();
    if job.model().num_hidden_layers > MOST_LAYERS || takes > MOST_MEMORY {
        Err(NotReplayed::OutOfReach)
    } else {
        Ok(())
    }
}

/// The training tensor by tensor.
pub(super) fn singly(job: &Job) -> Result<Sequence, NotReplayed> {
    singly_of(job, None, None)
}

/// The training tensor by tensor on a pipeline stage, or on the most loaded one, and on a
/// data-parallel rank, or on the fullest one.
fn singly_of(job: &Job, stage: Option<u64>, rank: Option<u64>) -> Result<Sequence, NotReplayed> {
    is_within_reach(job)?;
    if played_run(job).is_none() {
        return Err(NotReplayed::Stack);
    }
    if alone_run(job).is_none() {
        return Err(NotReplayed::Companions);
    }
    let in_flight = job.pipeline().in_flight(0);
    let is_staged = job.layout().p() > 1 || in_flight > 1;
    if is_staged && (in_flight > MOST_IN_FLIGHT || !runs_in_stages(job)) {
        return Err(NotReplayed::Pipeline);
    }
    if job.layout().offload.any() {
        return Err(NotReplayed::Offload);
    }
    sequence_of(job, stage, rank).ok_or(NotReplayed::Stack)
}

/// All steps in a row.
pub(super) fn events(job: &Job, parts: &Sequence) -> Vec<Event> {
    let mut events: Vec<Event> = in_order(job, parts).into_iter().map(event).collect();
    // A step's memory is asked for, not that of the moment in which a framework copies the model.
    events.insert(parts.build.len(), Event::ResetPeaks);
    events
}

/// Every tensor of the replayed steps of a training, in the order in which it is taken and freed.
pub(super) struct EveryTensor {
    pub events: Vec<TensorEvent>,
    /// Events before the first step's peak counts.
    pub built: usize,
    /// Events before the last step.
    pub last_step: usize,
}

/// Every tensor of a training. Under Megatron-LM the rank is the one of [`device_memory`].
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known.
pub(super) fn every_tensor(job: &Job) -> Result<EveryTensor, NotReplayed> {
    is_within_reach(job)?;
    if let Some(run) = megatron_run(job) {
        let stage = megatron::peak(job, run, None, false).stage;
        let steps =
            |count| megatron::ordered(job, run, [stage, 0], count).ok_or(NotReplayed::Stack);
        return Ok(EveryTensor {
            events: steps(STEPS)?,
            built: 0,
            last_step: steps(STEPS - 1)?.len(),
        });
    }
    let parts = singly(job)?;
    let steps = |count| steps_in_order(job, &parts, count);
    let events = steps(STEPS).into_iter().copied().collect();
    Ok(EveryTensor { events, built: parts.build.len(), last_step: steps(STEPS - 1).len() })
}

/// The events of all parts, in the order in which they happen.
pub(super) fn in_order<'p>(job: &Job, parts: &'p Sequence) -> Vec<&'p TensorEvent> {
    steps_in_order(job, parts, STEPS)
}

/// The events from the model's making to the end of so many steps.
fn steps_in_order<'p>(job: &Job, parts: &'p Sequence, steps: u32) -> Vec<&'p TensorEvent> {
    let mut all = Vec::new();
    all.extend(&parts.build);
    for step in 0..steps {
        if step == 1 {
            all.extend(&parts.rebuilt);
        }
        // A pipeline's micro-batches are one part.
        let micro_batches = if job.layout().p() > 1 {
            1
        } else {
            job.gradient_accumulation_steps().min(MOST_MICRO_BATCHES)
        };
        for micro_batch in 1..=micro_batches {
            let has_own = micro_batch == micro_batches && !parts.last_micro_batch.is_empty();
            all.extend(match micro_batch {
                _ if has_own => &parts.last_micro_batch,
                1 if step == 0 && !parts.opening.is_empty() => &parts.opening,
                1 => &parts.first_micro_batch,
                _ => &parts.further_micro_batch,
            });
        }
        all.extend(&parts.ready);
        if step == 0 {
            all.extend(&parts.states);
        }
        all.extend(&parts.step);
        all.extend(std::iter::repeat_n(&parts.evaluation, EVALUATION_BATCHES).flatten());
    }
    all
}

fn event(event: &TensorEvent) -> Event {
    match *event {
        TensorEvent::Taken { tensor, bytes, stream, .. } => {
            Event::Allocate { tensor, bytes, stream: Stream(u32::from(stream)) }
        }
        TensorEvent::Freed { tensor } => Event::Release { tensor },
        TensorEvent::CacheEmptied => Event::EmptyCache,
    }
}
