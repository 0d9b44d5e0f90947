//! A whole sequence of allocations and releases.

use super::core::{Allocator, Handle, Readings};
use super::driver::Device;
use super::lanes::Stream;
use super::oom::OutOfMemory;
use super::settings::Settings;

/// One step of a sequence. Tensors are numbered by the caller, best from 0 upwards without gaps; a
/// number may be used again once it was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A tensor takes memory.
    Allocate {
        /// The number of the tensor.
        tensor: u32,
        /// Bytes that it asks for.
        bytes: u64,
        /// The stream that it is used on.
        stream: Stream,
    },
    /// A tensor gives its memory back.
    Release {
        /// The number of the tensor.
        tensor: u32,
    },
    /// A framework calls `torch.cuda.empty_cache()`.
    EmptyCache,
    /// The peaks start again, as between two steps that are measured apart.
    ResetPeaks,
}

/// The end of a sequence that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The event that failed, counted from 0.
    pub event: usize,
    /// The numbers.
    pub out_of_memory: OutOfMemory,
}

/// The result of a sequence.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The allocator after the last event, or at the failure: readings, segments, the gap.
    pub allocator: Allocator,
    /// The event after which most was allocated, counted from 0; the first of several.
    pub peak_event: usize,
    /// The failure, if the sequence did not fit. Nothing after it was replayed.
    pub failure: Option<Failure>,
}

impl Replay {
    /// Returns the readings at the end, bytes.
    pub fn readings(&self) -> Readings {
        self.allocator.readings()
    }
}

/// Replays a sequence and returns the allocator after its last event, or at its failure: bytes that
/// tensors and PyTorch hold, now and at their peaks.
///
/// An event that releases a tensor which holds nothing does nothing.
///
/// # Example
/// ```
/// use headroom::hardware::allocator::{Device, Event, Settings, Stream, replay};
///
/// let stream = Stream::DEFAULT;
/// let events = [
///     Event::Allocate { tensor: 0, bytes: 100 << 20, stream },
///     Event::Release { tensor: 0 },
///     Event::Allocate { tensor: 1, bytes: 102 << 20, stream }, // too large for the cached segment
/// ];
/// let end = replay(&Settings::default(), Device::ENDLESS, &events).readings();
/// assert_eq!(end.allocated.peak, 102 << 20);
/// assert_eq!(end.reserved.peak, (100 + 102) << 20);
/// ```
pub fn replay(settings: &Settings, device: Device, events: &[Event]) -> Replay {
    let mut allocator = Allocator::new(settings.clone(), device);
    let mut handles: Vec<Handle> = Vec::new();
    let mut peak_event = 0;
    let mut peak = 0;
    let mut failure = None;
    for (index, event) in events.iter().enumerate() {
        match *event {
            Event::Allocate { tensor, bytes, stream } => match allocator.allocate(bytes, stream) {
                Ok(handle) => keep(&mut handles, tensor, handle),
                Err(out_of_memory) => {
                    failure = Some(Failure { event: index, out_of_memory });
                    break;
                }
            },
            Event::Release { tensor } => {
                let handle =
                    usize::try_from(tensor).ok().and_then(|place| handles.get(place)).copied();
                allocator.release(handle.unwrap_or_default());
            }
            Event::EmptyCache => allocator.empty_cache(),
            Event::ResetPeaks => {
                allocator.reset_peaks();
                peak = 0;
            }
        }
        let now = allocator.allocated();
        if now > peak {
            (peak, peak_event) = (now, index);
        }
    }
    Replay { allocator, peak_event, failure }
}

/// Returns the allocator after the first events, up to and with `last`, counted from 0: for a look
/// at the peak, which [`Replay::peak_event`] names.
pub fn replay_until(
    settings: &Settings,
    device: Device,
    events: &[Event],
    last: usize,
) -> Allocator {
    let end = last.saturating_add(1).min(events.len());
    replay(settings, device, events.get(..end).unwrap_or_default()).allocator
}

fn keep(handles: &mut Vec<Handle>, tensor: u32, handle: Handle) {
    let place = usize::try_from(tensor).unwrap_or(usize::MAX);
    if place >= handles.len() {
        handles.resize(place.saturating_add(1), Handle::default());
    }
    if let Some(entry) = handles.get_mut(place) {
        *entry = handle;
    }
}
