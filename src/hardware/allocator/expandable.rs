//! Expandable segments: one long range of addresses per pool and stream, with memory behind it
//! where it is needed.
//!
//! Segments of fixed size leave slivers when sizes change from step to step. A range that grows at
//! its end lets the blocks tile it instead. Source: PyTorch 2.15, CUDACachingAllocator.cpp, note
//! [Expandable Segments].

use super::blocks::{BlockId, Piece};
use super::core::Allocator;
use super::lanes::LaneId;
use super::rules::{expandable_page, round_down, round_up};

/// The address range of an expandable segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// First address.
    base: u64,
    /// Bytes of a page: memory is mapped and unmapped in whole pages, counted from `base`.
    page: u64,
}

/// Address space of a range on an endless device: 256 TiB, what a process can have in all, in parts
/// for several ranges.
const ENDLESS_RANGE: u64 = 1 << 46;

impl Allocator {
    /// The position from `index` on of the free block that can grow least. A block at the end of
    /// the mapped part counts as large as it could become, so that the end stays free for large
    /// requests. Source: `get_free_block`, `expandable_size`.
    pub(super) fn least_expandable(&self, lane: LaneId, index: usize) -> usize {
        let free = self.lanes.get(lane).free.entries();
        let possible = |id: BlockId| {
            let piece = self.pieces.get(id);
            let next = self.pieces.get(piece.next);
            piece.size.saturating_add(if next.mapped { 0 } else { next.size })
        };
        let mut rest = free.get(index..).unwrap_or_default().iter();
        let Some(mut best) = rest.next() else { return index };
        let mut at = index;
        for next in rest {
            if !self.grows(best.id) || possible(next.id) >= possible(best.id) {
                break;
            }
            best = next;
            at = at.saturating_add(1);
        }
        at
    }

    /// The position after `index` of the first block outside expandable segments: while they are
    /// turned off, their blocks are not handed out. Source: `get_free_block`.
    pub(super) fn first_of_a_segment(&self, lane: LaneId, index: usize) -> Option<usize> {
        let after = index.saturating_add(1);
        let free = self.lanes.get(lane).free.entries().get(after..)?;
        free.iter()
            .position(|entry| !self.grows(entry.id))
            .map(|offset| after.saturating_add(offset))
    }

    /// A free block of at least `size` bytes, made by putting memory behind addresses. `None`: the
    /// device is full; pages that were mapped before it was stay in the cache. Source:
    /// `try_allocate_expandable_block`.
    pub(super) fn grow(&mut self, lane: LaneId, size: u64) -> Option<BlockId> {
        let mut id = self.room_for(lane, size);
        let start = self.pieces.get(id);
        if !start.mapped {
            id = self.map(id, start.size.min(size))?;
        }
        loop {
            let block = self.pieces.get(id);
            if block.size >= size {
                return Some(id);
            }
            let next = self.pieces.get(block.next);
            if next.mapped {
                return None;
            }
            id = self.map(block.next, size.saturating_sub(block.size).min(next.size))?;
        }
    }

    /// The first piece of the lowest run of free and unmapped pieces with room for `size` bytes;
    /// the beginning of a new range if there is none. Source: `find_expandable_block`.
    fn room_for(&mut self, lane: LaneId, size: u64) -> BlockId {
        let starts = self.lanes.get(lane).unmapped.iter().map(|(_, id)| {
            let before = self.pieces.get(*id).prev;
            if self.pieces.get(before).used { *id } else { before }
        });
        let found = starts.into_iter().find(|start| self.has_room(*start, size));
        found.unwrap_or_else(|| self.new_range(lane))
    }

    fn has_room(&self, start: BlockId, size: u64) -> bool {
        let mut piece = self.pieces.get(start);
        let mut room = 0_u64;
        while room < size && !piece.used {
            room = room.saturating_add(piece.size);
            piece = self.pieces.get(piece.next);
        }
        room >= size
    }

    /// A range of addresses of nine eighths of the device, so that pages which were given back
    /// leave room to map them elsewhere. Source: the constructor of `ExpandableSegment`.
    fn new_range(&mut self, lane: LaneId) -> BlockId {
        let total = self.driver.device.limit().map(|_| self.driver.device.total);
        let room = total.map_or(ENDLESS_RANGE, |total| total.saturating_add(total / 8));
        let page = expandable_page(&self.settings, self.lanes.get(lane).kind);
        let size = round_up(room, page);
        let base = self.driver.reserve_addresses(size);
        let range = Some(Range { base, page });
        let index = self.ranges.iter().position(Option::is_none).unwrap_or(self.ranges.len());
        if let Some(place) = self.ranges.get_mut(index) {
            *place = range;
        } else {
            self.ranges.push(range);
        }
        let range = u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX);
        let id = self.pieces.add(Piece { at: base, size, lane, range, ..Piece::default() });
        self.lanes.get_mut(lane).add_unmapped(base, id);
        id
    }

    /// Puts memory behind the first `wanted` bytes of an unmapped piece, in whole pages, and joins
    /// it with its free neighbours. `None`: the device is full, nothing changed. Source:
    /// `map_block`, `ExpandableSegment::map`.
    fn map(&mut self, id: BlockId, wanted: u64) -> Option<BlockId> {
        let piece = *self.pieces.get(id);
        let range = self.range_of(&piece)?;
        let mapped = round_up(wanted, range.page).min(piece.size);
        if !self.driver.map(mapped) {
            return None;
        }
        let lane = self.lanes.get_mut(piece.lane);
        lane.drop_unmapped(piece.at);
        if mapped < piece.size {
            let at = piece.at.saturating_add(mapped);
            let rest = self.pieces.add(Piece {
                at,
                size: piece.size.saturating_sub(mapped),
                prev: id,
                ..piece
            });
            lane.add_unmapped(at, rest);
        }
        self.pieces.edit(id, |piece| {
            piece.size = mapped;
            piece.mapped = true;
        });
        Some(self.insert_free(id))
    }

    /// Gives the whole pages inside a free block back to the driver; the ends that share a page
    /// with blocks in use stay. Source: `unmap_block`, `ExpandableSegment::unmap`.
    pub(super) fn unmap(&mut self, id: BlockId) {
        let piece = *self.pieces.get(id);
        let Some(range) = self.range_of(&piece) else { return };
        let (from, to) = whole_pages(&piece, range);
        let bytes = to.saturating_sub(from);
        if bytes == 0 {
            return;
        }
        self.lanes.get_mut(piece.lane).free.remove(piece.size, piece.at);
        self.pieces.edit(id, |piece| {
            piece.at = from;
            piece.size = bytes;
            piece.mapped = false;
        });
        if from > piece.at {
            let head = Piece { size: from.saturating_sub(piece.at), next: id, ..piece };
            let head = self.pieces.add(head);
            self.insert_free(head);
        }
        if to < piece.end() {
            let tail = Piece { at: to, size: piece.end().saturating_sub(to), prev: id, ..piece };
            let tail = self.pieces.add(tail);
            self.insert_free(tail);
        }
        self.driver.unmap(bytes);
        self.join_unmapped(id);
    }

    /// Joins an unmapped piece with unmapped neighbours, and drops the range if nothing is mapped
    /// any more. Source: the end of `unmap_block`, `release_expandable_segment`.
    fn join_unmapped(&mut self, id: BlockId) {
        let piece = *self.pieces.get(id);
        let (mut at, mut end) = (piece.at, piece.end());
        for neighbour in [piece.prev, piece.next] {
            let other = *self.pieces.get(neighbour);
            if !other.mapped {
                self.lanes.get_mut(piece.lane).drop_unmapped(other.at);
                self.pieces.remove(neighbour);
                at = at.min(other.at);
                end = end.max(other.end());
            }
        }
        let size = end.saturating_sub(at);
        self.pieces.edit(id, |piece| {
            piece.at = at;
            piece.size = size;
        });
        if self.pieces.get(id).is_whole() {
            self.pieces.remove(id);
            let index = usize::try_from(piece.range).unwrap_or(usize::MAX).saturating_sub(1);
            if let Some(place) = self.ranges.get_mut(index) {
                *place = None;
            }
        } else {
            self.lanes.get_mut(piece.lane).add_unmapped(at, id);
        }
    }

    /// Bytes of whole pages inside a free piece of an expandable segment, which the driver could
    /// have back.
    pub(super) fn whole_pages_of(&self, piece: &Piece) -> u64 {
        self.range_of(piece).map_or(0, |range| {
            let (from, to) = whole_pages(piece, range);
            to.saturating_sub(from)
        })
    }

    fn range_of(&self, piece: &Piece) -> Option<Range> {
        let index = usize::try_from(piece.range).ok()?.checked_sub(1)?;
        self.ranges.get(index).copied().flatten()
    }
}

/// The first and last address of the whole pages inside a piece; equal if there is none.
fn whole_pages(piece: &Piece, range: Range) -> (u64, u64) {
    let offset = |at: u64| at.saturating_sub(range.base);
    let from = range.base.saturating_add(round_up(offset(piece.at), range.page));
    let to = range.base.saturating_add(round_down(offset(piece.end()), range.page));
    (from, to.max(from))
}
