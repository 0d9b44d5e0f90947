//! Lanes: the free blocks of one stream, small and large apart.

use super::blocks::BlockId;
use super::free_list::FreeList;
use super::rules::SMALL;

/// The stream that a block was allocated on. Its blocks are reused by the same stream only, because
/// work on one stream is done in order, and nothing else says when the last reader has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(
    /// A number of the caller's choice. Lower numbers come first when cached memory is given back.
    pub u32,
);

impl Stream {
    /// The stream that PyTorch uses unless told otherwise.
    pub const DEFAULT: Self = Self(0);
}

/// The two pools of PyTorch: they never share a segment, so that short-lived small tensors do not
/// cut up large ones' memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Blocks of up to 1 MiB.
    Small,
    /// Blocks above 1 MiB.
    Large,
}

impl PoolKind {
    /// Returns the pool that serves a block of `size` bytes, after rounding. Source: PyTorch 2.15,
    /// CUDACachingAllocator.cpp, `get_pool`.
    pub fn of(size: u64) -> Self {
        if size <= SMALL { Self::Small } else { Self::Large }
    }
}

/// The number of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneId(u32);

impl LaneId {
    /// The lane that was made first.
    pub const FIRST: Self = Self(0);
}

/// The free blocks of one pool of one stream.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// The pool.
    pub kind: PoolKind,
    /// The stream.
    pub stream: Stream,
    /// Free blocks that are backed by memory.
    pub free: FreeList,
    /// Pieces of expandable segments without memory behind them, by address.
    pub unmapped: Vec<(u64, BlockId)>,
}

impl Lane {
    fn new(kind: PoolKind, stream: Stream) -> Self {
        Self { kind, stream, free: FreeList::default(), unmapped: Vec::new() }
    }

    /// Notes a piece without memory.
    pub fn add_unmapped(&mut self, at: u64, id: BlockId) {
        let index = self.unmapped.partition_point(|entry| entry.0 < at);
        self.unmapped.insert(index.min(self.unmapped.len()), (at, id));
    }

    /// Forgets the piece without memory that starts at `at`.
    pub fn drop_unmapped(&mut self, at: u64) {
        self.unmapped.retain(|entry| entry.0 != at);
    }
}

/// Two lanes for every stream that was used, in the order in which streams appeared.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    nowhere: Lane,
}

impl Lanes {
    /// No stream yet.
    pub fn new() -> Self {
        Self { lanes: Vec::new(), nowhere: Lane::new(PoolKind::Small, Stream::DEFAULT) }
    }

    /// The lane of a pool and a stream, made when it is first asked for.
    pub fn of(&mut self, kind: PoolKind, stream: Stream) -> LaneId {
        let known = self.lanes.iter().position(|lane| lane.kind == kind && lane.stream == stream);
        let index = known.unwrap_or_else(|| {
            self.lanes.push(Lane::new(kind, stream));
            self.lanes.len().saturating_sub(1)
        });
        LaneId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// A lane. A number that no lane has gives an empty one.
    pub fn get(&self, id: LaneId) -> &Lane {
        usize::try_from(id.0).ok().and_then(|index| self.lanes.get(index)).unwrap_or(&self.nowhere)
    }

    /// A lane, to change. A number that no lane has gives one that nobody reads.
    pub fn get_mut(&mut self, id: LaneId) -> &mut Lane {
        match usize::try_from(id.0).ok().and_then(|index| self.lanes.get_mut(index)) {
            Some(lane) => lane,
            None => &mut self.nowhere,
        }
    }

    /// The lanes of one pool by stream, the order in which C++ sorts its pools.
    pub fn by_stream(&self, kind: PoolKind) -> Vec<LaneId> {
        let mut found: Vec<(Stream, LaneId)> = (0_u32..)
            .zip(&self.lanes)
            .filter(|(_, lane)| lane.kind == kind)
            .map(|(index, lane)| (lane.stream, LaneId(index)))
            .collect();
        found.sort_by_key(|(stream, _)| *stream);
        found.into_iter().map(|(_, id)| id).collect()
    }
}
