//! The free blocks of a lane, sorted so that the best fit is found by halving.
//!
//! A sorted vector beats a tree here: a training step has a few dozen free blocks, at most some
//! hundred.

use super::blocks::BlockId;

/// A free block: its size, its address, its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    /// Bytes.
    pub size: u64,
    /// Address.
    pub at: u64,
    /// The block.
    pub id: BlockId,
}

impl Free {
    fn key(&self) -> (u64, u64) {
        (self.size, self.at)
    }
}

/// Free blocks by size; of one size, the oldest segment first. Addresses say both, because the
/// driver here never gives an address twice. Source: PyTorch 2.15, CUDACachingAllocator.cpp,
/// `BlockComparatorSize`, as watched in its sequences.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeList(Vec<Free>);

impl FreeList {
    /// The position of the first block of at least `size` bytes; the length of the list if there is
    /// none.
    pub fn first_fit(&self, size: u64) -> usize {
        self.0.partition_point(|entry| entry.size < size)
    }

    /// The entry at a position.
    pub fn get(&self, index: usize) -> Option<Free> {
        self.0.get(index).copied()
    }

    /// All entries, smallest first.
    pub fn entries(&self) -> &[Free] {
        &self.0
    }

    /// Adds a block.
    pub fn insert(&mut self, free: Free) {
        let index = self.position(free.size, free.at);
        self.0.insert(index.min(self.0.len()), free);
    }

    /// The position of the block of this size and address, or where it would be.
    pub fn position(&self, size: u64, at: u64) -> usize {
        self.0.partition_point(|entry| entry.key() < (size, at))
    }

    /// Takes out the entry at a position.
    pub fn take(&mut self, index: usize) {
        if index < self.0.len() {
            self.0.remove(index);
        }
    }

    /// Takes out the block of this size and address.
    pub fn remove(&mut self, size: u64, at: u64) {
        let index = self.position(size, at);
        if self.get(index).is_some_and(|entry| entry.key() == (size, at)) {
            self.take(index);
        }
    }

    /// Puts `free` in the place of the entry at `index`, and moves it to where it belongs. Most
    /// entries move by a few places, so they are moved one by one.
    pub fn replace(&mut self, index: usize, free: Free) {
        let Some((below, above)) = self.0.split_at_mut_checked(index) else { return };
        let Some((mut place, above)) = above.split_first_mut() else { return };
        for next in above {
            if next.key() > free.key() {
                break;
            }
            *place = *next;
            place = next;
        }
        for next in below.iter_mut().rev() {
            if next.key() < free.key() {
                break;
            }
            *place = *next;
            place = next;
        }
        *place = free;
    }
}
