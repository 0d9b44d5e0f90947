//! Words about what the GPU shows: allocated, reserved, in use, and what lies between them.

use super::words::{Scale, percent};
use crate::config::Job;
use crate::estimator::{
    DeviceMemory, Estimate, NotReplayed, Verdict, device_memory, device_memory_under,
};
use crate::hardware::allocator::{Gap, Settings};
use crate::units::{Bytes, MemoryUnit};

/// The first words of an answer whose tensors fit and whose allocator finds no room.
pub const OUT_OF_MEMORY: &str = "Runs out of memory.";

/// One amount that a program prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub label: &'static str,
    /// The amount, without its unit.
    pub amount: String,
    /// Where people see it.
    pub seen: &'static str,
}

/// One part of the memory that PyTorch holds when most is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedPart {
    /// Its name.
    pub label: &'static str,
    /// The amount, without its unit.
    pub amount: String,
    /// The reason for it.
    pub why: &'static str,
}

/// Memory as the device shows it, beside the estimate of the same job.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceView {
    /// With the job's setting of the allocator.
    pub memory: DeviceMemory,
    /// With growing segments, where the job has others.
    pub expandable: Option<DeviceMemory>,
    /// How amounts are written.
    pub scale: Scale,
    capacity: Bytes,
    verdict: Verdict,
}

impl DeviceView {
    /// Replays the allocator for a job.
    ///
    /// # Errors
    /// The reason why the order of allocations is not known.
    pub fn of(job: &Job, estimate: &Estimate, unit: MemoryUnit) -> Result<Self, NotReplayed> {
        let memory = device_memory(job)?;
        let expandable = (!job.cluster().overheads.expandable_segments)
            .then(|| device_memory_under(job, &Settings::expandable()));
        let capacity = estimate.capacity;
        let scale = Scale::of(unit, memory.in_use, capacity);
        Ok(Self {
            memory,
            expandable: expandable.transpose()?,
            scale,
            capacity,
            verdict: estimate.verdict(),
        })
    }

    /// Allocated, reserved, in use: each holds the one before.
    pub fn shown(&self) -> [Shown; 3] {
        let DeviceMemory { allocated, reserved, in_use, .. } = self.memory;
        let shown = |label, bytes, seen| Shown { label, amount: self.scale.show(bytes), seen };
        [
            shown("Allocated by tensors", allocated, "torch.cuda.max_memory_allocated()"),
            shown("Reserved by PyTorch", reserved, "torch.cuda.max_memory_reserved()"),
            shown("In use on the GPU", in_use, "nvidia-smi"),
        ]
    }

    /// The parts of the memory that PyTorch holds when most is allocated; those of nothing are left
    /// out.
    pub fn parts(&self) -> Vec<ReservedPart> {
        let Gap { requested, rounding, unsplit, between, cached } = self.memory.gap;
        let amount = |bytes| {
            if self.scale.round(bytes) == 0 {
                format!("< {}", self.scale.number(1))
            } else {
                self.scale.show(bytes)
            }
        };
        let part = |label, bytes: u64, why| {
            (bytes > 0).then(|| ReservedPart { label, amount: amount(Bytes(bytes)), why })
        };
        [
            part("Asked for by tensors", requested, "their shapes and formats"),
            part("Rounding", rounding, "every tensor takes a multiple of 512 bytes"),
            part(
                "Ends of blocks",
                unsplit,
                "what a large block has left is given to no other tensor below 1 MiB",
            ),
            part(
                "Free between tensors",
                between,
                "only a tensor that fits into the gap can have it",
            ),
            part(
                "Kept for later",
                cached,
                "whole pieces that PyTorch gives back when the GPU is full",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// True if the steps run to their end, and how that differs from the answer above.
    pub fn sentence(&self) -> String {
        let scale = self.scale;
        let [reserved, capacity] = [self.memory.in_use, self.capacity]
            .map(|bytes| format!("{} {}", scale.show(bytes), scale.unit));
        let fits = matches!(self.verdict, Verdict::Fits | Verdict::Tight | Verdict::CannotRun);
        match (fits, self.memory.fits) {
            (true, true) if self.memory.retries > 0 => {
                "It fits: the GPU was full for a moment, PyTorch gave back what it kept for later, \
                 and went on."
                    .to_owned()
            }
            (true, true) => {
                format!("It fits: {} of {capacity}.", percent(self.memory.in_use, self.capacity))
            }
            (true, false) => format!(
                "The tensors would fit, but PyTorch runs out of memory: its allocator cannot use \
                 all that lies free between them. On a GPU without a limit it would hold \
                 {reserved}; this one has {capacity}."
            ),
            (false, true) => format!(
                "It just fits: the ledger's total keeps a larger reserve for the allocator than \
                 this run needs, which takes {reserved} of {capacity}."
            ),
            (false, false) => format!("It does not fit: {reserved} of {capacity}."),
        }
    }

    /// The sentence where it contradicts the answer above.
    pub fn warning(&self) -> Option<String> {
        let said = matches!(self.verdict, Verdict::Fits | Verdict::Tight);
        (said && !self.memory.fits).then(|| self.sentence())
    }

    /// The effect of growing segments, where the job has others.
    pub fn growing_segments(&self) -> Option<String> {
        let other = self.expandable?;
        let takes = format!("{} {}", self.scale.show(other.reserved), self.scale.unit);
        Some(match (self.memory.fits, other.fits) {
            (false, true) => {
                format!("With growing segments it fits: PyTorch then reserves {takes}.")
            }
            (false, false) => format!(
                "With growing segments it does not fit either: PyTorch would reserve {takes}."
            ),
            (true, _) => format!("With growing segments PyTorch would reserve {takes}."),
        })
    }

    /// True if growing segments make it fit.
    pub fn growing_segments_help(&self) -> bool {
        !self.memory.fits && self.expandable.is_some_and(|other| other.fits)
    }
}
