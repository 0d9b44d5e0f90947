//! Remedies: changes of the job that the estimator has tried, settings, and advice.

use super::Known;
use crate::config::Job;
use crate::estimator::{DeviceMemory, device_memory_under, estimate};
use crate::hardware::allocator::Settings;
use crate::import::oom::{
    ByteRange, Cause, FailedRequest, Holder, OomMessage, ReportingProgram, UnknownCause,
};
use crate::planner::{Fix, fixes, gpu_count};
use crate::units::{Bytes, MemoryUnit};

/// One remedy.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// A change of one input of the job. The estimator has tried it: the job fits with it, and it
    /// saves at least the memory that the message was short of.
    Change(Fix),
    /// A setting of the program that printed the message.
    Setting {
        /// The setting as it is typed.
        setting: &'static str,
        /// Its effect, in one sentence.
        note: &'static str,
        /// Memory that PyTorch's allocator takes when it is replayed with the setting, where the
        /// order of allocations is known.
        tried: Option<DeviceMemory>,
    },
    /// Something to look at or to end, in one sentence.
    Advice(&'static str),
}

/// The setting of PyTorch's allocator against fragmentation, tried where the message may come from
/// the job; `None` where the job has it already.
///
/// Source: pytorch/pytorch issue 183387: PyTorch 2.9.1 warns about `PYTORCH_CUDA_ALLOC_CONF`, and
/// ignores `PYTORCH_ALLOC_CONF` on CUDA.
fn expandable_segments(job: &Job, belongs: bool) -> Option<Remedy> {
    (!job.cluster().overheads.expandable_segments).then(|| Remedy::Setting {
        setting: "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        note: "PyTorch's allocator's own setting, in the environment of the run: segments grow \
            where they are, so that fewer gaps are left. Some versions warn that the variable is \
            now called PYTORCH_ALLOC_CONF, but not all of them read that name.",
        tried: belongs.then(|| device_memory_under(job, &Settings::expandable()).ok()).flatten(),
    })
}

/// All remedies for a cause, the cheapest first. `belongs` is true if the message may come from
/// this job; changes of another job would help nobody.
pub(super) fn of(
    known: &Known<'_>,
    message: &OomMessage,
    cause: &Cause,
    belongs: bool,
) -> Vec<Remedy> {
    let mut found = Vec::new();
    match cause {
        Cause::Fragmentation { .. } if is_cuda(message) => found.extend(expandable_segments(known.job, belongs)),
        Cause::Others { holder: Holder::OtherProcesses | Holder::Untold, .. } => found.push(Remedy::Advice(
            "End the other processes on this GPU, or use another one: nvidia-smi lists who holds \
             its memory.",
        )),
        Cause::Others { holder: Holder::ThisProcess, .. } => found.push(Remedy::Advice(
            "Look for what else this process keeps on the GPU: a second framework, a server inside \
             the training, buffers of NCCL.",
        )),
        Cause::Limit { .. } => found.push(Remedy::Advice(
            "Raise the limit that was set for this process, such as \
             torch.cuda.set_per_process_memory_fraction.",
        )),
        Cause::Unknown(UnknownCause::HostMemory) => found.push(Remedy::Advice(
            "Load fewer copies at once (low_cpu_mem_usage, fewer data loader workers), or take a \
             machine with more host memory.",
        )),
        Cause::Unknown(UnknownCause::NoSuchSize) => {
            found.push(Remedy::Advice("Look for the shape that was computed wrongly where the \
                traceback ends."));
        }
        Cause::Demand { .. }
        | Cause::TooManyTokens { .. }
        | Cause::NothingLeft { .. }
        | Cause::Fragmentation { .. }
        | Cause::Unknown(_) => {}
    }
    if belongs && may_need_less(message, cause) {
        let changes = changes(known, cause).into_iter().map(Remedy::Change);
        // Where tensors alone find no room, all other remedies are not enough, so changes come
        // first.
        let place = if known.amounts.tensors_over().is_none() { found.len() } else { 0 };
        found.splice(place..place, changes);
    }
    found
}

/// True if the settings of PyTorch's CUDA allocator apply.
fn is_cuda(message: &OomMessage) -> bool {
    message.program == ReportingProgram::PyTorch
        && message.device.platform.is_none_or(|platform| platform == "CUDA")
}

/// True if a job that needs less memory would have gone on.
fn may_need_less(message: &OomMessage, cause: &Cause) -> bool {
    message.about != FailedRequest::HostMemory && *cause != Cause::Unknown(UnknownCause::NoSuchSize)
}

/// The memory that the message was short of, bytes: the range that agrees with its printed amounts;
/// `None` where it states too little.
///
/// With fragmentation a whole free piece is missing: gaps do not help, so the driver must have all
/// the memory that was asked for.
const fn short_by(cause: &Cause) -> Option<ByteRange> {
    match cause {
        Cause::Demand { asked, room } => Some(asked.minus(*room)),
        Cause::Fragmentation { asked, free, .. } => Some(asked.minus(*free)),
        Cause::Limit { asked, allowed, reserved } => Some(asked.plus(*reserved).minus(*allowed)),
        Cause::Others { missing, .. } => Some(*missing),
        Cause::TooManyTokens { .. } | Cause::NothingLeft { .. } | Cause::Unknown(_) => None,
    }
}

/// The planner's fixes with which the job runs. A training has to save at least the memory that the
/// message was short of: it is tried on a GPU with that much less memory than the job takes, or
/// with its own memory if that is less still.
fn changes(known: &Known<'_>, cause: &Cause) -> Vec<Fix> {
    let smaller = short_by(cause).filter(|_| known.job.training().is_some()).and_then(|short| {
        let enough = Bytes(known.estimate.total().0.saturating_sub(short.high));
        (short.high > 0 && enough < known.estimate.capacity).then(|| known.job.with_memory(enough))
    });
    let runs = |fix: &Fix| fix.fits;
    match smaller {
        Some(job) => tried_on(&job),
        None => fixes(known.job, &known.estimate, &gpu_count(known.job, MemoryUnit::Gib)),
    }
    .into_iter()
    .filter(runs)
    .collect()
}

fn tried_on(job: &Job) -> Vec<Fix> {
    fixes(job, &estimate(job), &gpu_count(job, MemoryUnit::Gib))
}
