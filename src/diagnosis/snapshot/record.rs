//! The memory that was held at every moment of a record.

use std::collections::BTreeMap;

use super::dumped::{Dumped, Entry};
use super::{Snapshot, SnapshotError};
use crate::hardware::allocator::Settings;
use crate::units::Bytes;

/// A tensor that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Bytes that were asked for.
    pub bytes: Bytes,
    /// The function and line that asked for it; `None` where no stacks were recorded, or the tensor
    /// is older than the record.
    pub place: Option<String>,
}

/// Tensors by address.
type Tensors = BTreeMap<u64, Live>;

/// Memory of tensors and memory that PyTorch held, at one moment.
#[derive(Clone, Copy, Default)]
struct Held {
    allocated: u64,
    reserved: u64,
}

/// An entry in the words of this module.
enum Step<'a> {
    Taken(u64, &'a Entry),
    Freed(u64),
    Reserved(u64),
    GivenBack(u64),
    Nothing,
}

/// PyTorch counts a tensor as freed when its owner lets it go, though another stream may still use
/// the block (`free_requested`).
fn step(entry: &Entry) -> Step<'_> {
    match &*entry.action {
        "alloc" => Step::Taken(entry.address, entry),
        "free_requested" => Step::Freed(entry.address),
        "segment_alloc" | "segment_map" => Step::Reserved(entry.size),
        "segment_free" | "segment_unmap" => Step::GivenBack(entry.size),
        _ => Step::Nothing,
    }
}

/// Reads the record of the GPU with the longest one.
pub(super) fn of(dumped: &Dumped) -> Result<Snapshot, SnapshotError> {
    let longest = dumped.device_traces.iter().enumerate().max_by_key(|(_, entries)| entries.len());
    let (device, entries) =
        longest.filter(|(_, entries)| !entries.is_empty()).ok_or(SnapshotError::NoRecord)?;
    let device = u64::try_from(device).unwrap_or(u64::MAX);
    let (mut tensors, reserved) = at_end(dumped, device);
    let mut held = Held { allocated: sum(&tensors), reserved };
    undo(entries, &mut tensors, &mut held);
    let (began_with, begins_late) = (held, !tensors.is_empty());
    let first = tensors.clone();
    let mut course = Vec::with_capacity(entries.len());
    let mut most = began_with;
    let mut peak = 0;
    for (at, entry) in entries.iter().enumerate() {
        follow(entry, &mut tensors, &mut held);
        if held.allocated > most.allocated {
            peak = at + 1;
        }
        most = Held {
            allocated: most.allocated.max(held.allocated),
            reserved: most.reserved.max(held.reserved),
        };
        if matches!(step(entry), Step::Taken(..) | Step::Freed(_)) {
            course.push(Bytes(held.allocated));
        }
    }
    let (mut at_peak, mut held) = (first, began_with);
    entries.iter().take(peak).for_each(|entry| follow(entry, &mut at_peak, &mut held));
    Ok(Snapshot {
        device,
        settings: dumped.conf.clone(),
        entries: entries.len(),
        begins_late,
        allocated: Bytes(most.allocated),
        reserved: Bytes(most.reserved),
        at_peak: at_peak.into_values().collect(),
        course,
    })
}

/// The tensors at the end of the record, and the memory that PyTorch held then.
fn at_end(dumped: &Dumped, device: u64) -> (Tensors, u64) {
    let segments = || dumped.segments.iter().filter(|segment| segment.device == device);
    let mut tensors = Tensors::new();
    for segment in segments() {
        let mut address = segment.address;
        for part in &segment.blocks {
            address = part.address.unwrap_or(address);
            if part.is_of_a_tensor {
                let bytes = Bytes(part.requested_size.unwrap_or(part.size));
                tensors.insert(address, Live { bytes, place: part.place.clone() });
            }
            address = address.saturating_add(part.size);
        }
    }
    (tensors, segments().map(|segment| segment.total_size).fold(0, u64::saturating_add))
}

/// Bytes of a tensor's block.
fn block(bytes: u64) -> u64 {
    Settings::default().block_size(bytes)
}

fn sum(tensors: &Tensors) -> u64 {
    tensors.values().map(|live| block(live.bytes.0)).fold(0, u64::saturating_add)
}

/// Undoes all entries, back to the beginning of the record.
fn undo(entries: &[Entry], tensors: &mut Tensors, held: &mut Held) {
    for entry in entries.iter().rev() {
        match step(entry) {
            Step::Taken(address, _) => {
                let gone = tensors.remove(&address);
                held.allocated =
                    held.allocated.saturating_sub(gone.map_or(0, |live| block(live.bytes.0)));
            }
            Step::Freed(address) => {
                held.allocated = held.allocated.saturating_add(block(entry.size));
                tensors.insert(address, Live { bytes: Bytes(entry.size), place: None });
            }
            Step::Reserved(bytes) => held.reserved = held.reserved.saturating_sub(bytes),
            Step::GivenBack(bytes) => held.reserved = held.reserved.saturating_add(bytes),
            Step::Nothing => {}
        }
    }
}

/// Carries out one entry.
fn follow(entry: &Entry, tensors: &mut Tensors, held: &mut Held) {
    match step(entry) {
        Step::Taken(address, Entry { size, place, .. }) => {
            held.allocated = held.allocated.saturating_add(block(*size));
            tensors.insert(address, Live { bytes: Bytes(*size), place: place.clone() });
        }
        Step::Freed(address) => {
            let gone = tensors.remove(&address);
            held.allocated =
                held.allocated.saturating_sub(gone.map_or(0, |live| block(live.bytes.0)));
        }
        Step::Reserved(bytes) => held.reserved = held.reserved.saturating_add(bytes),
        Step::GivenBack(bytes) => held.reserved = held.reserved.saturating_sub(bytes),
        Step::Nothing => {}
    }
}
