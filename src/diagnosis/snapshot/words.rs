//! A snapshot beside a job, in words.

use super::{Difference, Furthest, SnapshotBeside};
use crate::units::{Bytes, MemoryUnit, grouped, whole};

/// The most names of tensors, or lines of Python, that are listed for one difference.
const MOST_NAMES: usize = 2;

/// An amount on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmountOfBoth {
    /// Its name.
    pub label: &'static str,
    /// The snapshot's amount.
    pub measured: Bytes,
    /// The replay's amount.
    pub predicted: Bytes,
}

impl SnapshotBeside {
    /// Returns the peaks of both sides, bytes: of tensors, and of the memory that PyTorch holds.
    pub const fn amounts(&self) -> [AmountOfBoth; 2] {
        let (measured, predicted) = (&self.measured, &self.predicted.memory);
        [
            AmountOfBoth {
                label: "Allocated by tensors",
                measured: measured.allocated,
                predicted: predicted.allocated,
            },
            AmountOfBoth {
                label: "Reserved by PyTorch",
                measured: measured.reserved,
                predicted: predicted.reserved,
            },
        ]
    }

    /// Returns the record in one sentence.
    pub fn heading(&self) -> String {
        let device = self.measured.device;
        format!(
            "Memory snapshot of GPU {device}: {} entries.",
            whole(u64::try_from(self.measured.entries).unwrap_or(u64::MAX))
        )
    }

    /// Returns sentences on the share of the measured memory that is explained, and on reasons why
    /// the two sides may not agree.
    ///
    /// `job_grows_segments` is true where the job sets `expandable_segments`.
    pub fn sentences(&self, job_grows_segments: bool) -> Vec<String> {
        let total = self.measured.allocated;
        let share = grouped(100.0 * self.alike.as_f64() / total.as_f64().max(1.0), 1);
        let mut said = vec![format!(
            "Of {} in tensors at the measured peak, {share} % are in tensors for which the \
             estimate has one of the same size.",
            MemoryUnit::Gib.show(total)
        )];
        if self.measured.begins_late {
            said.push(
                "The record begins after the first tensors were made, so it does not say where \
                 those come from; a peak before it is not in it."
                    .to_owned(),
            );
        }
        if self.measured.settings.contains("expandable_segments:True") != job_grows_segments {
            said.push(format!(
                "The allocator was set otherwise than in the scenario: PYTORCH_CUDA_ALLOC_CONF was \
                 “{}”. Change “Growing segments” under Reserve.",
                self.measured.settings
            ));
        }
        said
    }

    /// Returns the moment of the step at which the two sides are furthest apart, in one sentence;
    /// `None` where they stay within one percent of the peak.
    pub fn furthest_in_words(&self) -> Option<String> {
        let Furthest { measured, predicted, op } = self.courses.as_ref()?.furthest;
        let apart = measured.0.abs_diff(predicted.0);
        (apart.saturating_mul(100) > self.measured.allocated.0).then(|| {
            format!(
                "Over the step they are furthest apart at {op}: {} in the snapshot, {} in the \
                 estimate.",
                MemoryUnit::Gib.show(measured),
                MemoryUnit::Gib.show(predicted)
            )
        })
    }

    /// Returns the memory in the differences that are not named, in one sentence; `None` where all
    /// are named.
    pub fn rest_in_words(&self) -> Option<String> {
        let [measured, predicted] = self.rest;
        (measured + predicted > Bytes::ZERO).then(|| {
            format!(
                "Smaller differences: {} more in the snapshot, {} more in the estimate.",
                MemoryUnit::Gib.show(measured),
                MemoryUnit::Gib.show(predicted)
            )
        })
    }
}

impl Difference {
    /// Returns the side that has more, and by how many tensors: `4 more in the snapshot`.
    pub fn excess(&self) -> String {
        let side = if self.measured > self.predicted { "snapshot" } else { "estimate" };
        format!("{} more in the {side}", whole(self.measured.abs_diff(self.predicted)))
    }

    /// Returns the tensors of the difference: names of the estimate, lines of Python of the
    /// snapshot.
    pub fn origin(&self) -> String {
        let names = self.names.iter().map(|[op, name]| format!("{name} ({op})")).take(MOST_NAMES);
        let places =
            self.places.iter().map(|place| format!("asked for by {place}")).take(MOST_NAMES);
        let known: Vec<String> = names.chain(places).collect();
        if known.is_empty() {
            "unknown: the snapshot has no stacks of that time".to_owned()
        } else {
            known.join("; ")
        }
    }
}
