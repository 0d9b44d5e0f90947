//! The allocator itself: allocation, release, and the memory it holds.

use super::blocks::{BlockId, Piece, Pieces};
use super::driver::{Device, Driver, DriverCall};
use super::expandable::Range;
use super::free_list::Free;
use super::lanes::{LaneId, Lanes, PoolKind, Stream};
use super::oom::OutOfMemory;
use super::rules::{self, block_size, segment_size, share, splits};
use super::settings::Settings;

/// A block that is in use. It goes stale when the block is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handle {
    pub(super) id: BlockId,
    pub(super) serial: u32,
}

/// A quantity in bytes and its highest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes at present.
    pub now: u64,
    /// The highest value since the beginning, or since [`Allocator::reset_peaks`].
    pub peak: u64,
}

impl Peak {
    fn add(&mut self, bytes: u64) {
        self.now = self.now.saturating_add(bytes);
        self.peak = self.peak.max(self.now);
    }

    fn take(&mut self, bytes: u64) {
        self.now = self.now.saturating_sub(bytes);
    }
}

/// The readings of `torch.cuda.memory_stats` that this module replays. Always `requested ≤
/// allocated ≤ reserved`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Bytes that tensors asked for (`requested_bytes.all`).
    pub requested: Peak,
    /// Bytes of the blocks in use (`allocated_bytes.all`, `torch.cuda.memory_allocated`).
    pub allocated: Peak,
    /// Bytes of all segments (`reserved_bytes.all`, `torch.cuda.memory_reserved`).
    pub reserved: Peak,
    /// How often the device was full, and everything cached was given back (`num_alloc_retries`).
    pub retries: u64,
    /// How often that did not help (`num_ooms`). Requests that were rejected beforehand do not
    /// count.
    pub out_of_memory: u64,
}

/// PyTorch's caching allocator for one device.
///
/// Source: PyTorch 2.15, CUDACachingAllocator.cpp, `DeviceCachingAllocator`. See the
/// [module](super) for the assumptions.
#[derive(Clone, Debug)]
pub struct Allocator {
    pub(super) settings: Settings,
    pub(super) driver: Driver,
    pub(super) lanes: Lanes,
    pub(super) pieces: Pieces,
    pub(super) ranges: Vec<Option<Range>>,
    /// How often each pool was searched: the clock by which garbage collection measures age.
    pub(super) searches: [u64; 2],
    readings: Readings,
}

impl Allocator {
    /// Returns an allocator that holds nothing yet.
    pub fn new(settings: Settings, device: Device) -> Self {
        Self {
            settings,
            driver: Driver::new(device),
            lanes: Lanes::new(),
            pieces: Pieces::new(),
            ranges: Vec::new(),
            searches: [0; 2],
            readings: Readings::default(),
        }
    }

    /// Returns the handle of a block for a tensor of `bytes`, used on `stream`. 0 bytes take no
    /// block, and a handle that may be released.
    ///
    /// # Errors
    /// [`OutOfMemory`] if no cached block fits and the driver has no memory left, even after
    /// everything cached was given back. The allocator can be used on.
    ///
    /// # Example
    /// ```
    /// use headroom::hardware::allocator::{Allocator, Device, Settings, Stream};
    ///
    /// let mut allocator = Allocator::new(Settings::default(), Device::of(1 << 30));
    /// let block = allocator.allocate(1_300, Stream::DEFAULT).expect("a GiB is there");
    /// let readings = allocator.readings();
    /// assert_eq!((readings.allocated.now, readings.reserved.now), (1_536, 2 << 20));
    /// assert!(allocator.release(block) && allocator.readings().reserved.now == 2 << 20);
    /// ```
    pub fn allocate(&mut self, bytes: u64, stream: Stream) -> Result<Handle, OutOfMemory> {
        if bytes == 0 {
            return Ok(Handle::default());
        }
        let size = block_size(&self.settings, bytes);
        let kind = PoolKind::of(size);
        let lane = self.lanes.of(kind, stream);
        if self.collects_garbage() {
            self.count_search(kind);
        }
        let index = match self.best_fit(lane, size) {
            Some(index) => index,
            None if self.rejects(size) => return Err(self.failure(bytes, size)),
            None => self.new_block(lane, size).ok_or_else(|| self.fail(bytes, size))?,
        };
        Ok(self.occupy(lane, index, size, bytes))
    }

    /// Frees a block: it joins its free neighbours and waits for the next request.
    ///
    /// Returns false if the handle is stale, or of a tensor without bytes.
    pub fn release(&mut self, handle: Handle) -> bool {
        let Some(&Piece { size, requested, .. }) = self.pieces.of_handle(handle) else {
            return false;
        };
        self.readings.allocated.take(size);
        self.readings.requested.take(requested);
        self.pieces.edit(handle.id, |piece| piece.used = false);
        self.insert_free(handle.id);
        true
    }

    /// Gives every segment back in which nothing is in use (`torch.cuda.empty_cache`).
    pub fn empty_cache(&mut self) {
        self.release_cached();
    }

    /// Changes the settings from here on (`torch.cuda.memory._set_allocator_settings`), as
    /// frameworks do that share memory between processes. Blocks that exist stay as they are.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Lets the peaks start from the present values (`torch.cuda.reset_peak_memory_stats`).
    pub fn reset_peaks(&mut self) {
        self.readings.requested.peak = self.readings.requested.now;
        self.readings.allocated.peak = self.readings.allocated.now;
        self.driver.peak = self.driver.held;
    }

    /// Returns bytes in use and bytes held, now and at their peaks.
    pub fn readings(&self) -> Readings {
        Readings {
            reserved: Peak { now: self.driver.held, peak: self.driver.peak },
            ..self.readings
        }
    }

    /// Returns everything that the driver gave and took back, in order.
    pub fn driver_calls(&self) -> &[DriverCall] {
        &self.driver.calls
    }

    /// Bytes of the blocks in use.
    pub(super) fn allocated(&self) -> u64 {
        self.readings.allocated.now
    }

    /// Bytes that this process may reserve, where `per_process_memory_fraction` sets a limit below
    /// the whole device. Source: PyTorch 2.15, CUDACachingAllocator.cpp, `setMemoryFraction`.
    pub(super) fn allowed(&self) -> Option<u64> {
        let fraction =
            self.settings.per_process_memory_fraction.filter(|fraction| *fraction < 1.0)?;
        self.driver.device.limit().map(|_| share(self.driver.device.total, fraction))
    }

    /// Puts a piece that is in no list among the free blocks, joined with the free blocks before
    /// and after it: memory that was cut comes together again, so that larger requests find it.
    /// Source: PyTorch 2.15, CUDACachingAllocator.cpp, `free_block`, `try_merge_blocks`.
    pub(super) fn insert_free(&mut self, id: BlockId) -> BlockId {
        let &Piece { at, size, prev, next, lane, .. } = self.pieces.get(id);
        let (before, after) = (self.pieces.free_entry(prev), self.pieces.free_entry(next));
        let mut joined = Free { size, at, id };
        if let Some(after) = after {
            joined.size = joined.size.saturating_add(after.size);
            self.pieces.remove(next);
        }
        if let Some(before) = before {
            joined = Free { size: joined.size.saturating_add(before.size), ..before };
            self.pieces.remove(id);
        }
        let lane = self.lanes.get_mut(lane);
        match (before, after) {
            (None, None) => lane.free.insert(joined),
            (Some(old), None) | (None, Some(old)) => {
                lane.free.replace(lane.free.position(old.size, old.at), joined);
            }
            (Some(before), Some(after)) => {
                lane.free.remove(after.size, after.at);
                lane.free.replace(lane.free.position(before.size, before.at), joined);
            }
        }
        let born = self.searches.get(lane.kind as usize).copied().unwrap_or(0);
        self.pieces.edit(joined.id, |block| {
            block.size = joined.size;
            block.born = born;
        });
        joined.id
    }

    /// Takes the free block at a position of a lane for a tensor, and leaves the rest free where a
    /// rest is worth it. Source: PyTorch 2.15, CUDACachingAllocator.cpp, `alloc_found_block`.
    fn occupy(&mut self, lane_id: LaneId, index: usize, size: u64, bytes: u64) -> Handle {
        let lane = self.lanes.get_mut(lane_id);
        let Some(found) = lane.free.get(index) else { return Handle::default() };
        let rest = found.size.saturating_sub(size);
        let (id, taken) = if splits(&self.settings, lane.kind, size, rest) {
            let born = self.searches.get(lane.kind as usize).copied().unwrap_or(0);
            let at = found.at.saturating_add(size);
            lane.free.replace(index, Free { size: rest, at, id: found.id });
            let front = Piece { size, next: found.id, ..*self.pieces.get(found.id) };
            self.pieces.edit(found.id, |block| {
                block.at = at;
                block.size = rest;
                block.born = born;
            });
            (self.pieces.add(front), size)
        } else {
            lane.free.take(index);
            (found.id, found.size)
        };
        self.readings.allocated.add(taken);
        self.readings.requested.add(bytes);
        self.pieces.occupy(id, bytes)
    }

    /// The position of the best cached block for `size` bytes: the smallest that is large enough,
    /// and of those the one in the oldest segment. Source: PyTorch 2.15, CUDACachingAllocator.cpp,
    /// `get_free_block`.
    fn best_fit(&self, lane_id: LaneId, size: u64) -> Option<usize> {
        let free = &self.lanes.get(lane_id).free;
        let mut index = free.first_fit(size);
        let mut found = free.get(index)?;
        if self.grows(found.id) {
            index = if self.settings.expandable_segments {
                self.least_expandable(lane_id, index)
            } else {
                self.first_of_a_segment(lane_id, index)?
            };
            found = free.get(index)?;
        }
        rules::may_take(&self.settings, size, found.size).then_some(index)
    }

    /// A block of at least `size` bytes that no cached block could give: old segments are
    /// collected, then the driver is asked, then large cached blocks go, then everything cached,
    /// each time with another try. Source: PyTorch 2.15, CUDACachingAllocator.cpp, `malloc`.
    fn new_block(&mut self, lane: LaneId, size: u64) -> Option<usize> {
        if self.collects_garbage() {
            self.collect_garbage();
        }
        if let Some(index) = self.ask_driver(lane, size) {
            return Some(index);
        }
        if self.release_oversize(lane, size)
            && let Some(index) = self.ask_driver(lane, size)
        {
            return Some(index);
        }
        self.release_cached();
        self.readings.retries = self.readings.retries.saturating_add(1);
        self.ask_driver(lane, size)
    }

    /// A block from the driver: a new segment, or more pages of one that grows. It is free, and its
    /// position is returned. Source: PyTorch 2.15, CUDACachingAllocator.cpp, `alloc_block`.
    fn ask_driver(&mut self, lane: LaneId, size: u64) -> Option<usize> {
        if self.exceeds_allowed(size) {
            return None;
        }
        let id = if self.settings.expandable_segments {
            self.grow(lane, size)?
        } else {
            let bytes = segment_size(&self.settings, size);
            let at = self.driver.allocate(bytes)?;
            let id =
                self.pieces.add(Piece { at, size: bytes, lane, mapped: true, ..Piece::default() });
            self.insert_free(id)
        };
        let piece = self.pieces.get(id);
        Some(self.lanes.get(lane).free.position(piece.size, piece.at))
    }

    /// Would a segment for `size` bytes go beyond the share of the device that this process may
    /// have? The size of a whole segment counts even where one only grows.
    fn exceeds_allowed(&self, size: u64) -> bool {
        let wanted = self.driver.held.saturating_add(segment_size(&self.settings, size));
        self.allowed().is_some_and(|allowed| wanted > allowed)
    }

    /// Is a request refused before the driver is asked? With `throw_on_cudamalloc_oom` it is, if it
    /// would take more than the whole device together with what is held: then nothing is given back
    /// for it. Where a fraction below 1 is set, that limit comes first and the usual way of giving
    /// back and trying again is taken. PyTorch 2.15 was watched doing so.
    fn rejects(&self, size: u64) -> bool {
        let wanted = self.driver.held.saturating_add(size);
        self.settings.reject_early && self.allowed().is_none() && wanted > self.driver.device.total
    }

    /// Does the block belong to an expandable segment?
    pub(super) fn grows(&self, id: BlockId) -> bool {
        self.pieces.get(id).range != 0
    }

    fn count_search(&mut self, kind: PoolKind) {
        if let Some(count) = self.searches.get_mut(kind as usize) {
            *count = count.saturating_add(1);
        }
    }

    fn fail(&mut self, requested: u64, size: u64) -> OutOfMemory {
        self.readings.out_of_memory = self.readings.out_of_memory.saturating_add(1);
        self.failure(requested, size)
    }

    fn failure(&self, requested: u64, size: u64) -> OutOfMemory {
        OutOfMemory {
            requested,
            tried: segment_size(&self.settings, size),
            total: self.driver.device.total,
            free: self.driver.free(),
            allowed: self.allowed(),
            allocated: self.readings.allocated.now,
            unallocated: self.driver.held.saturating_sub(self.readings.allocated.now),
            rejected: self.rejects(size),
        }
    }
}
