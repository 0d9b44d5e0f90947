//! Blocks: the pieces of a segment, linked to their neighbours, kept in one vector.

use super::core::Handle;
use super::free_list::Free;
use super::lanes::LaneId;

/// The number of a block. Number 0 is no block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockId(u32);

impl BlockId {
    /// No block: the neighbour of the first and of the last block of a segment.
    pub const NONE: Self = Self(0);

    /// Is there such a block?
    pub fn exists(self) -> bool {
        self != Self::NONE
    }

    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A piece of a segment: in use, free, or (in an expandable segment) an address range without
/// memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// Address of the first byte.
    pub at: u64,
    /// Bytes. 0: the number is not in use.
    pub size: u64,
    /// Bytes that the tensor asked for, while in use.
    pub requested: u64,
    /// How often its pool had been searched when it became free: its age, for garbage collection.
    pub born: u64,
    /// The piece before it in its segment.
    pub prev: BlockId,
    /// The piece after it.
    pub next: BlockId,
    /// The lane it belongs to.
    pub lane: LaneId,
    /// The expandable segment it belongs to, counted from 1. 0: a segment of the usual kind.
    pub range: u32,
    /// Which of the uses of this number is the present one; a handle of an earlier use is stale.
    pub serial: u32,
    /// Held by a tensor.
    pub used: bool,
    /// Backed by memory. Always true outside expandable segments.
    pub mapped: bool,
}

impl Piece {
    /// Alone in its segment, so that the segment can be given back whole. Source: `is_split` of
    /// C++, negated.
    pub fn is_whole(&self) -> bool {
        !self.prev.exists() && !self.next.exists()
    }

    /// Free and backed by memory.
    pub fn is_free(&self) -> bool {
        !self.used && self.mapped
    }

    /// The address after its last byte.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.size)
    }
}

/// All pieces, by number. Numbers are used again.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    all: Vec<Piece>,
    unused: Vec<BlockId>,
    uses: u32,
}

/// The piece before the first and after the last: in use, so that nothing merges with it.
static EDGE: Piece = Piece {
    at: 0,
    size: 0,
    requested: 0,
    born: 0,
    prev: BlockId::NONE,
    next: BlockId::NONE,
    lane: LaneId::FIRST,
    range: 0,
    serial: 0,
    used: true,
    mapped: true,
};

impl Pieces {
    /// No pieces.
    pub fn new() -> Self {
        Self {
            all: vec![Piece { used: true, mapped: true, ..Piece::default() }],
            unused: Vec::new(),
            uses: 0,
        }
    }

    /// A piece. [`BlockId::NONE`] gives the edge, which is in use and has no bytes.
    pub fn get(&self, id: BlockId) -> &Piece {
        self.all.get(id.index()).unwrap_or(&EDGE)
    }

    /// A free piece as its lane's list has it.
    pub fn free_entry(&self, id: BlockId) -> Option<Free> {
        let piece = self.get(id);
        piece.is_free().then_some(Free { size: piece.size, at: piece.at, id })
    }

    /// Changes a piece; the edge stays as it is.
    pub fn edit(&mut self, id: BlockId, change: impl FnOnce(&mut Piece)) {
        if id.exists()
            && let Some(piece) = self.all.get_mut(id.index())
        {
            change(piece);
        }
    }

    /// Adds a piece and links its neighbours, as `prev` and `next` of the piece say, to it.
    pub fn add(&mut self, piece: Piece) -> BlockId {
        let id = if let Some(id) = self.unused.pop() {
            if let Some(place) = self.all.get_mut(id.index()) {
                *place = piece;
            }
            id
        } else {
            self.all.push(piece);
            BlockId(u32::try_from(self.all.len().saturating_sub(1)).unwrap_or(u32::MAX))
        };
        self.edit(piece.prev, |prev| prev.next = id);
        self.edit(piece.next, |next| next.prev = id);
        id
    }

    /// Removes a piece and links its neighbours to each other.
    pub fn remove(&mut self, id: BlockId) {
        let piece = *self.get(id);
        self.edit(piece.prev, |prev| prev.next = piece.next);
        self.edit(piece.next, |next| next.prev = piece.prev);
        self.edit(id, |gone| *gone = Piece { used: true, ..Piece::default() });
        if id.exists() {
            self.unused.push(id);
        }
    }

    /// Marks a piece as used for a tensor of `requested` bytes.
    pub fn occupy(&mut self, id: BlockId, requested: u64) -> Handle {
        self.uses = self.uses.wrapping_add(1);
        let serial = self.uses;
        self.edit(id, |piece| {
            piece.used = true;
            piece.requested = requested;
            piece.serial = serial;
        });
        Handle { id, serial }
    }

    /// The piece of a handle, if it is still in use by it.
    pub fn of_handle(&self, handle: Handle) -> Option<&Piece> {
        let piece = self.get(handle.id);
        (handle.id.exists() && piece.used && piece.size > 0 && piece.serial == handle.serial)
            .then_some(piece)
    }

    /// Every piece with its number, by number.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, &Piece)> {
        (0_u32..).map(BlockId).zip(&self.all).filter(|(_, piece)| piece.size > 0)
    }
}
