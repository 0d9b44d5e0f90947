//! Memory snapshots of PyTorch: the file that `torch.cuda.memory._dump_snapshot` writes.
//!
//! A snapshot holds the segments and blocks at its end and, if
//! `torch.cuda.memory._record_memory_history` was on, the allocations and releases before. Both
//! together tell how much was held at every moment, even where the record begins in the middle of a
//! run: the state at its beginning is the state at its end with every entry undone.

mod beside;
mod courses;
mod dumped;
mod pickle;
mod record;
mod words;

use crate::units::Bytes;

pub use beside::{Difference, Predicted, SnapshotBeside, beside};
pub use courses::{Courses, Furthest};
pub use record::Live;
pub use words::AmountOfBoth;

/// The largest file that is read, bytes: a record of some hundred thousand entries with their
/// stacks.
pub const MOST_BYTES: usize = 128 << 20;

/// The tensors and segments that a GPU's allocator held while the record ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The GPU; of several the one with the longest record.
    pub device: u64,
    /// The contents of `PYTORCH_CUDA_ALLOC_CONF`; empty where nothing was set.
    pub settings: String,
    /// Entries of the record.
    pub entries: usize,
    /// True if tensors were there when the record began: it may have dropped its oldest entries,
    /// and the lines of code of these tensors are not known.
    pub begins_late: bool,
    /// Memory of tensors at their peak, each rounded up to a multiple of 512 bytes.
    pub allocated: Bytes,
    /// Memory that PyTorch held at its peak.
    pub reserved: Bytes,
    /// The tensors that were there at the peak of tensors.
    pub at_peak: Vec<Live>,
    /// Memory of tensors after each allocation and release, from the record's beginning to its end.
    pub course: Vec<Bytes>,
}

/// The reason why a file is no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file is too long.
    #[error(
        "The file is larger than 128 MiB. Record fewer entries: \
         torch.cuda.memory._record_memory_history(max_entries=100000)."
    )]
    TooLarge,
    /// The file is no pickle, or a pickle of something else.
    #[error(
        "This is no memory snapshot of PyTorch: {0}. \
         torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") writes one."
    )]
    NoSnapshot(String),
    /// The file has no record of allocations and releases.
    #[error(
        "The snapshot holds no record of what was taken and freed. Call \
         torch.cuda.memory._record_memory_history() before the first step."
    )]
    NoRecord,
}

/// Reads a memory snapshot of PyTorch, the pickle that `torch.cuda.memory._dump_snapshot` writes,
/// and returns bytes and tensors at its peak.
///
/// Bytes of a tensor are those that were asked for; sums count each as a multiple of 512 bytes, as
/// PyTorch's allocator does. The end of a block that was not split is not in the record and not
/// counted (at most 1 MiB of each large block).
///
/// # Errors
/// [`SnapshotError`] for files that are too large, no snapshots, or without a record.
pub fn read(file: &[u8]) -> Result<Snapshot, SnapshotError> {
    if file.len() > MOST_BYTES {
        return Err(SnapshotError::TooLarge);
    }
    record::of(&dumped::read(file)?)
}
