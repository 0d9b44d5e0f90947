//! The request at which a job's replay runs out of memory.

use super::device_memory::{device_of, events, in_order, settings_of, singly};
use super::timeline::TensorEvent;
use crate::config::Job;
use crate::hardware::allocator::{Event, OutOfMemory, replay};

/// A request that PyTorch's allocator, replayed with a job, cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedFailure {
    /// The operation that asks.
    pub op: &'static str,
    /// The name of the tensor.
    pub name: &'static str,
    /// The numbers of PyTorch's message, bytes.
    pub numbers: OutOfMemory,
}

/// Returns the first request that PyTorch 2.15's caching allocator cannot serve on the job's
/// device, with the numbers that its message would state; `None` where all are served, and where
/// the order of allocations is not known.
///
/// The device and the steps are those of [`device_memory`](super::device_memory).
///
/// ```
/// use headroom::estimator::replayed_failure;
/// use headroom::scenario::codec::decode;
///
/// // The weights of an 8B model in 16 bits take 15 GiB, which no GPU of 8 GiB has.
/// let link = "v1&m=llama3-8b&n=1&prec=bf16-pure&ker=eager&mem=8";
/// let job = decode(link).scenario.resolve().unwrap();
/// let failure = replayed_failure(&job).unwrap();
/// assert!(failure.numbers.free < failure.numbers.tried);
/// ```
pub fn replayed_failure(job: &Job) -> Option<ReplayedFailure> {
    let parts = singly(job).ok()?;
    let events = events(job, &parts);
    let failure = replay(&settings_of(job), device_of(job), &events).failure?;
    let Event::Allocate { tensor, .. } = *events.get(failure.event)? else { return None };
    let (op, name) = named(&in_order(job, &parts), tensor)?;
    Some(ReplayedFailure { op, name, numbers: failure.out_of_memory })
}

/// The operation that takes a tensor, and its name.
fn named(all: &[&TensorEvent], wanted: u32) -> Option<(&'static str, &'static str)> {
    all.iter().find_map(|event| match **event {
        TensorEvent::Taken { tensor, op, name, .. } if tensor == wanted => Some((op, name)),
        TensorEvent::Taken { .. } | TensorEvent::Freed { .. } | TensorEvent::CacheEmptied => None,
    })
}
