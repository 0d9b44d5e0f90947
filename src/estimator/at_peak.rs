//! The tensors that a training holds when they are most, one by one, as PyTorch's allocator is
//! asked for them.

use std::collections::{BTreeMap, HashMap};

use super::NotReplayed;
use super::device_memory::{EveryTensor, every_tensor};
use super::timeline::TensorEvent;
use crate::config::Job;
use crate::hardware::allocator::Settings;
use crate::units::Bytes;

/// Tensors of one name and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorsAlike {
    /// The operation that takes them.
    pub op: &'static str,
    /// Their name.
    pub name: &'static str,
    /// Bytes of one, as asked for.
    pub bytes: Bytes,
    /// How many there are.
    pub count: u64,
}

/// The tensors of a training at its peak, and how much there was over its last step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtPeak {
    /// Tensors, the largest first.
    pub tensors: Vec<TensorsAlike>,
    /// The last replayed step: a moment for each time that a tensor was taken or freed.
    pub course: Vec<HeldAfter>,
}

/// A moment of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldAfter {
    /// Memory of tensors.
    pub held: Bytes,
    /// The operation that took the last tensor.
    pub op: &'static str,
}

/// Returns the tensors that the replay of [`device_memory`](super::device_memory) holds when their
/// blocks are most, bytes.
///
/// Blocks are multiples of 512 bytes; the ends of large blocks that are not split are not among
/// them.
///
/// # Errors
/// [`NotReplayed`] where the order of allocations is not known.
pub fn tensors_at_peak(job: &Job) -> Result<AtPeak, NotReplayed> {
    let EveryTensor { events, built, last_step } = every_tensor(job)?;
    let rounded = |bytes| Settings::default().block_size(bytes);
    let (mut sizes, mut now): (HashMap<u32, u64>, u64) = (HashMap::new(), 0);
    let mut course = Vec::with_capacity(events.len().saturating_sub(last_step));
    let (mut working, mut most, mut until) = ("", 0, 0);
    for (at, event) in events.iter().enumerate() {
        match *event {
            TensorEvent::Taken { tensor, bytes, op, .. } => {
                working = op;
                sizes.insert(tensor, rounded(bytes));
                now = now.saturating_add(rounded(bytes));
            }
            TensorEvent::Freed { tensor } => {
                now = now.saturating_sub(sizes.remove(&tensor).unwrap_or(0));
            }
            TensorEvent::CacheEmptied => {}
        }
        if at >= built && now > most {
            (most, until) = (now, at + 1);
        }
        if at >= last_step {
            course.push(HeldAfter { held: Bytes(now), op: working });
        }
    }
    let mut alive = BTreeMap::new();
    for event in events.iter().take(until) {
        match *event {
            TensorEvent::Taken { tensor, bytes, op, name, .. } => {
                _ = alive.insert(tensor, (bytes, op, name));
            }
            TensorEvent::Freed { tensor } => _ = alive.remove(&tensor),
            TensorEvent::CacheEmptied => {}
        }
    }
    let mut groups: BTreeMap<(u64, &'static str, &'static str), u64> = BTreeMap::new();
    for key in alive.into_values() {
        *groups.entry(key).or_default() += 1;
    }
    let tensors = groups.into_iter().rev();
    let tensors = tensors
        .map(|((bytes, op, name), count)| TensorsAlike { op, name, bytes: Bytes(bytes), count })
        .collect();
    Ok(AtPeak { tensors, course })
}
