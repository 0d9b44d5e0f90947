//! Each rule alone, and sequences at random. `tests/traces.rs` and `tests/pytorch.rs` compare with
//! the real allocator.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "a test may fail")]

use super::{Allocator, Device, Handle, OutOfMemory, Settings, Stream};

mod conf;
mod expandable;
mod giving_back;
mod pools;
mod random;
mod rounding;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// An allocator with the settings of a text on an endless device.
fn endless(conf: &str) -> Allocator {
    Allocator::new(Settings::from_conf(conf).unwrap(), Device::ENDLESS)
}

/// An allocator with the settings of a text on a device of so many MiB.
fn on(mib: u64, conf: &str) -> Allocator {
    Allocator::new(Settings::from_conf(conf).unwrap(), Device::of(mib * MIB))
}

impl Allocator {
    /// Allocates on the default stream where there is room.
    fn take(&mut self, bytes: u64) -> Handle {
        self.allocate(bytes, Stream::DEFAULT).unwrap()
    }

    /// Allocates on the default stream where there is none.
    fn refuse(&mut self, bytes: u64) -> OutOfMemory {
        self.allocate(bytes, Stream::DEFAULT).unwrap_err()
    }

    /// Releases a block in use.
    fn give(&mut self, handle: Handle) {
        assert!(self.release(handle));
    }

    /// Releases blocks in use, in this order.
    fn give_all(&mut self, handles: impl IntoIterator<Item = Handle>) {
        for handle in handles {
            self.give(handle);
        }
    }

    fn reserved(&self) -> u64 {
        self.readings().reserved.now
    }

    /// The blocks of every segment in bytes; free ones negative.
    fn layout(&self) -> Vec<Vec<i64>> {
        let signed = |block: &super::Block| {
            i64::try_from(block.bytes).unwrap() * if block.used { 1 } else { -1 }
        };
        self.segments().iter().map(|segment| segment.blocks.iter().map(signed).collect()).collect()
    }

    /// [`Allocator::layout`] in MiB, for blocks of whole MiB.
    fn layout_mib(&self) -> Vec<Vec<i64>> {
        self.layout()
            .iter()
            .map(|blocks| blocks.iter().map(|bytes| bytes >> 20).collect())
            .collect()
    }
}
