//! Giving cached memory back to the driver: when the device is full, when a framework asks, when it
//! has grown old.
//!
//! Source of every rule: PyTorch 2.15, `c10/cuda/CUDACachingAllocator.cpp`; each function names the
//! C++ function.

use super::blocks::BlockId;
use super::core::Allocator;
use super::lanes::{LaneId, PoolKind};
use super::rules::share;

impl Allocator {
    /// Gives back every segment in which nothing is in use, and every whole free page of expandable
    /// segments. A segment with one small tensor in it stays: the driver takes whole segments only.
    /// Source: `release_cached_blocks`, `release_blocks`.
    pub(super) fn release_cached(&mut self) {
        for kind in [PoolKind::Large, PoolKind::Small] {
            let free = self.free_of(kind);
            for id in free.iter().filter(|id| !self.grows(**id)).copied().collect::<Vec<_>>() {
                if self.pieces.get(id).is_whole() {
                    self.release_segment(id);
                }
            }
            for id in free {
                if self.grows(id) {
                    self.unmap(id);
                }
            }
        }
    }

    /// Gives back cached blocks that are too large to be split, until the request has room: one
    /// that is large enough, or several of the largest. Only with `max_split_size_mb`, because such
    /// blocks wait for requests of their own size and would otherwise never serve this one. True if
    /// enough was given back. Source: `release_available_cached_blocks`.
    pub(super) fn release_oversize(&mut self, lane: LaneId, size: u64) -> bool {
        let Some(unsplit) = self.settings.max_split_size else { return false };
        let wanted = size.max(unsplit);
        let entries = self.lanes.get(lane).free.entries();
        let start = self.lanes.get(lane).free.first_fit(wanted);
        if let Some(enough) = entries.get(start).copied()
            && !self.grows(enough.id)
        {
            return self.release_segment(enough.id);
        }
        let largest = entries.get(..start).unwrap_or_default().iter().rev();
        let candidates: Vec<_> = largest
            .take_while(|entry| entry.size >= unsplit)
            .filter(|entry| !self.grows(entry.id))
            .copied()
            .collect();
        let mut released = 0_u64;
        for entry in candidates {
            if released >= wanted {
                break;
            }
            if self.release_segment(entry.id) {
                released = released.saturating_add(entry.size);
            }
        }
        released >= wanted
    }

    /// Are cached segments given back when they have not been used for long? It takes two settings:
    /// the share of memory from which on, and the limit that the share is of.
    pub(super) fn collects_garbage(&self) -> bool {
        self.settings.garbage_collection_threshold.is_some() && self.allowed().is_some()
    }

    /// Gives back large cached segments of at least average age, until no more is held than the
    /// threshold allows. Age is the number of searches of the pool since the segment became free. A
    /// round frees all of that age, even beyond the target, so that the next round comes late.
    /// Source: `garbage_collect_cached_blocks`.
    pub(super) fn collect_garbage(&mut self) {
        let threshold = self.settings.garbage_collection_threshold.zip(self.allowed());
        let Some(threshold) = threshold.map(|(fraction, allowed)| share(allowed, fraction)) else {
            return;
        };
        if self.driver.held <= threshold {
            return;
        }
        loop {
            let mut aged: Vec<(BlockId, u64)> =
                self.free_of(PoolKind::Large).into_iter().map(|id| (id, self.age(id))).collect();
            aged.retain(|(id, _)| self.pieces.get(*id).is_whole());
            let total = aged.iter().fold(0_u64, |sum, (_, age)| sum.saturating_add(*age));
            let count = u64::try_from(aged.len()).unwrap_or(u64::MAX);
            let mut freed = false;
            for (id, age) in aged {
                if age.saturating_mul(count) >= total {
                    freed |= self.release_segment(id);
                }
            }
            if !freed || self.driver.held <= threshold {
                return;
            }
        }
    }

    /// The free blocks of a pool, in the order in which C++ keeps them: by stream, size, address.
    fn free_of(&self, kind: PoolKind) -> Vec<BlockId> {
        let lanes = self.lanes.by_stream(kind).into_iter();
        lanes
            .flat_map(|lane| self.lanes.get(lane).free.entries().iter().map(|entry| entry.id))
            .collect()
    }

    fn age(&self, id: BlockId) -> u64 {
        let searches = self.searches.get(PoolKind::Large as usize).copied().unwrap_or(0);
        searches.saturating_sub(self.pieces.get(id).born)
    }

    /// Gives one whole free segment back. False: it is not whole, or grows, and nothing changed.
    /// Source: `release_block`.
    fn release_segment(&mut self, id: BlockId) -> bool {
        let piece = *self.pieces.get(id);
        if !piece.is_free() || !piece.is_whole() || piece.range != 0 {
            return false;
        }
        self.lanes.get_mut(piece.lane).free.remove(piece.size, piece.at);
        self.pieces.remove(id);
        self.driver.unmap(piece.size);
        true
    }
}
