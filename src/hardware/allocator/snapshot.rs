//! Segments with their blocks, and the parts of the memory between requested and reserved.

use super::blocks::{BlockId, Piece};
use super::core::Allocator;
use super::lanes::{PoolKind, Stream};
use super::rules::block_size;

/// A piece of memory that the driver gave; of an expandable segment, one stretch with memory behind
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of its first byte, counted from where the device's addresses begin.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
    /// The stream whose blocks it holds.
    pub stream: Stream,
    /// The pool that it belongs to.
    pub kind: PoolKind,
    /// Can it grow and shrink?
    pub expandable: bool,
    /// Its blocks by address. They fill it without gaps.
    pub blocks: Vec<Block>,
}

impl Segment {
    /// Returns the bytes of its blocks in use.
    pub fn allocated(&self) -> u64 {
        self.blocks
            .iter()
            .filter(|block| block.used)
            .fold(0, |sum, block| sum.saturating_add(block.bytes))
    }
}

/// A block of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes.
    pub bytes: u64,
    /// Bytes that the tensor asked for; 0 if the block is free.
    pub requested: u64,
    /// Held by a tensor.
    pub used: bool,
}

/// Where reserved memory is, in bytes. The five parts add up to reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Bytes that tensors asked for.
    pub requested: u64,
    /// Rounding of requests: to 512 bytes, or to a step between powers of two.
    pub rounding: u64,
    /// Ends of blocks that were not split off, because they were too small to serve another
    /// request.
    pub unsplit: u64,
    /// Free blocks of segments in which something is in use: only a request that fits can have
    /// them, not the driver.
    pub between: u64,
    /// Segments, and pages of expandable segments, without anything in use: the driver gets them
    /// back when it needs them.
    pub cached: u64,
}

impl Gap {
    /// Returns the sum of the five parts, bytes.
    pub fn reserved(&self) -> u64 {
        let parts = [self.requested, self.rounding, self.unsplit, self.between, self.cached];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl Allocator {
    /// Returns every segment with its blocks, by address, sizes in bytes:
    /// `torch.cuda.memory_snapshot()`.
    ///
    /// It visits every block. Source: PyTorch 2.15, CUDACachingAllocator.cpp, `snapshot`.
    pub fn segments(&self) -> Vec<Segment> {
        let starts = |piece: &Piece| {
            piece.mapped && (!piece.prev.exists() || !self.pieces.get(piece.prev).mapped)
        };
        let heads = self.pieces.iter().filter(|(_, piece)| starts(piece));
        let mut segments: Vec<Segment> =
            heads.map(|(id, head)| self.segment_from(id, head)).collect();
        segments.sort_by_key(|segment| segment.at);
        segments
    }

    fn segment_from(&self, head_id: BlockId, head: &Piece) -> Segment {
        let lane = self.lanes.get(head.lane);
        let mut blocks = Vec::new();
        let mut bytes = 0_u64;
        let mut id = head_id;
        while id.exists() {
            let piece = self.pieces.get(id);
            if !piece.mapped {
                break;
            }
            let requested = if piece.used { piece.requested } else { 0 };
            blocks.push(Block { bytes: piece.size, requested, used: piece.used });
            bytes = bytes.saturating_add(piece.size);
            id = piece.next;
        }
        Segment {
            at: head.at,
            bytes,
            stream: lane.stream,
            kind: lane.kind,
            expandable: head.range != 0,
            blocks,
        }
    }

    /// Returns where the reserved memory is at present, bytes by part. It visits every block.
    pub fn gap(&self) -> Gap {
        let mut gap = Gap::default();
        for (_, piece) in self.pieces.iter().filter(|(_, piece)| piece.mapped) {
            if piece.used {
                let rounded = block_size(&self.settings, piece.requested).min(piece.size);
                gap.requested = gap.requested.saturating_add(piece.requested);
                gap.rounding = gap.rounding.saturating_add(rounded.saturating_sub(piece.requested));
                gap.unsplit = gap.unsplit.saturating_add(piece.size.saturating_sub(rounded));
            } else {
                let back = match piece.range {
                    0 if piece.is_whole() => piece.size,
                    0 => 0,
                    _ => self.whole_pages_of(piece),
                };
                gap.cached = gap.cached.saturating_add(back);
                gap.between = gap.between.saturating_add(piece.size.saturating_sub(back));
            }
        }
        gap
    }
}
