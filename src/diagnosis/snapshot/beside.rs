//! A snapshot beside the training that wrote it: peaks, and the tensors of each size on both sides
//! at the peak of tensors.

use std::collections::BTreeMap;

use super::{Courses, Live, Snapshot};
use crate::config::Job;
use crate::estimator::{
    AtPeak, DeviceMemory, NotReplayed, TensorsAlike, device_memory, tensors_at_peak,
};
use crate::hardware::allocator::Settings;
use crate::units::Bytes;

/// The most differences that are named.
const MOST: usize = 12;

/// A snapshot beside a job.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotBeside {
    /// The snapshot.
    pub measured: Snapshot,
    /// The job's replay.
    pub predicted: Predicted,
    /// A step on both sides; `None` where nothing was allocated or freed.
    pub courses: Option<Courses>,
    /// Memory of the measured tensors at the peak that have one of the same block in the replay.
    pub alike: Bytes,
    /// Sizes of which one side has more tensors at the peak than the other, the largest difference
    /// in memory first.
    pub differences: Vec<Difference>,
    /// Memory in the differences that are not named: where the snapshot has more, and where the
    /// replay has more.
    pub rest: [Bytes; 2],
}

/// The replay of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Memory as the device shows it.
    pub memory: DeviceMemory,
    /// Tensors at their peak.
    pub at_peak: AtPeak,
}

/// Tensors of one size of block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Bytes of one block.
    pub block: Bytes,
    /// Number of such tensors in the snapshot.
    pub measured: u64,
    /// Number of such tensors in the replay.
    pub predicted: u64,
    /// The operations and names of the replay's tensors of that size.
    pub names: Vec<[&'static str; 2]>,
    /// The lines of Python that asked for the snapshot's tensors of that size; empty without
    /// stacks.
    pub places: Vec<String>,
}

impl Difference {
    /// Returns the bytes that one side has more than the other: `block · |measured − predicted|`.
    pub fn bytes(&self) -> Bytes {
        self.block * self.measured.abs_diff(self.predicted)
    }
}

/// Returns a snapshot beside a job's replay: peaks, bytes that both have in common, and the sizes
/// of tensors in which they differ most.
///
/// Assumes that tensors are alike if their blocks are equally large, because nothing else in a
/// snapshot names them.
///
/// # Errors
/// [`NotReplayed`] where the job's order of allocations is not known.
pub fn beside(measured: Snapshot, job: &Job) -> Result<SnapshotBeside, NotReplayed> {
    let predicted = Predicted { memory: device_memory(job)?, at_peak: tensors_at_peak(job)? };
    let mut sizes: BTreeMap<u64, Difference> = BTreeMap::new();
    measured.at_peak.iter().for_each(|live| add_measured(&mut sizes, live));
    predicted.at_peak.tensors.iter().for_each(|tensors| add_predicted(&mut sizes, tensors));
    let alike = sizes.values().map(|size| size.block * size.measured.min(size.predicted)).sum();
    let mut differences: Vec<Difference> =
        sizes.into_values().filter(|size| size.measured != size.predicted).collect();
    differences.sort_by_key(|size| std::cmp::Reverse(size.bytes()));
    let others = differences.split_off(differences.len().min(MOST));
    let more = |on_measured: bool| {
        others
            .iter()
            .filter(|size| (size.measured > size.predicted) == on_measured)
            .map(Difference::bytes)
            .sum()
    };
    let courses = Courses::of(&measured.course, &predicted.at_peak.course);
    Ok(SnapshotBeside {
        measured,
        predicted,
        courses,
        alike,
        differences,
        rest: [more(true), more(false)],
    })
}

/// The entry for tensors whose block is as large as that of `bytes` bytes.
fn of_size(sizes: &mut BTreeMap<u64, Difference>, bytes: Bytes) -> &mut Difference {
    let block = Settings::default().block_size(bytes.0);
    sizes.entry(block).or_insert_with(|| Difference {
        block: Bytes(block),
        measured: 0,
        predicted: 0,
        names: Vec::new(),
        places: Vec::new(),
    })
}

fn add_measured(sizes: &mut BTreeMap<u64, Difference>, live: &Live) {
    let size = of_size(sizes, live.bytes);
    size.measured += 1;
    if let Some(place) = live.place.as_ref().filter(|place| !size.places.contains(place)) {
        size.places.push(place.clone());
    }
}

fn add_predicted(sizes: &mut BTreeMap<u64, Difference>, tensors: &TensorsAlike) {
    let size = of_size(sizes, tensors.bytes);
    size.predicted += tensors.count;
    let name = [tensors.op, tensors.name];
    if !size.names.contains(&name) {
        size.names.push(name);
    }
}
