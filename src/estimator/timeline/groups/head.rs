//! A head whose loss has a backward of its own, chunk by chunk (torchtitan 0.3.0,
//! `ChunkedLossWrapper`), under FSDP2.

use super::Groups;
use crate::sharding::GatheredInto;
use crate::units::DType;

impl Groups<'_> {
    /// True if the head is in a group of its own that is gathered into buffers.
    fn has_head_apart(&self) -> bool {
        self.apart && self.into() == Some(GatheredInto::BufferAndTensors)
    }

    /// Gathers the head's group on the stream that computes, for all chunks (`unshard`).
    pub fn gather_head(&self) {
        if !self.has_head_apart() {
            return;
        }
        let tag = self.of_head();
        self.gather_on(tag, 0);
        self.copy_out(tag);
        let buffer = self.alive.borrow_mut().gathered.take();
        drop(buffer);
    }

    /// Gives the head's weights back (`reshard`).
    pub fn release_head(&self) {
        if self.has_head_apart() {
            self.release(self.of_head());
        }
    }

    /// The format in which whole gradients of the head add up.
    pub fn head_adds_up_in(&self) -> Option<DType> {
        self.has_head_apart().then_some(self.reduce)
    }

    /// Takes the buffer in which the head's gradients are joined.
    pub fn join_head(&self) {
        if self.has_head_apart() {
            self.join(self.of_head());
        }
    }

    /// Reduces the head's gradients.
    pub fn reduce_head(&self) {
        if self.has_head_apart() {
            self.scatter(self.of_head(), true);
            self.head_is_reduced.set(true);
        }
    }
}
