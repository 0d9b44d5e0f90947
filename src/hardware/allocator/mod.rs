//! PyTorch's CUDA caching allocator, replayed: which memory a process holds after a sequence of
//! allocations and releases.
//!
//! A training process shows more memory than its tensors take, because PyTorch does not hand freed
//! memory back to the driver. It keeps *segments* (pieces that the driver gave), cuts them into
//! *blocks*, and gives a block to the next tensor that fits. Three numbers follow, each at least as
//! large as the one before: **requested** (bytes that tensors asked for), **allocated** (bytes of
//! the blocks that they sit in) and **reserved** (bytes of the segments).
//!
//! The rules are those of PyTorch 2.15, `c10/cuda/CUDACachingAllocator.cpp` and
//! `c10/core/AllocatorConfig.cpp`. Each rule is a small function here that names the C++ function
//! it follows. [`replay`] runs a whole sequence; [`Allocator`] takes one call at a time;
//! [`Settings`] are the contents of `PYTORCH_CUDA_ALLOC_CONF`.
//!
//! Assumptions: one process, one device, no CUDA graph and no private pool. A block is free again
//! as soon as it is released, as for blocks that were used on their own stream only. Of two free
//! blocks of one size the one in the older segment serves, as in PyTorch 2.15; releases of 2025
//! took the lower address, which is the same until a segment was given back. Allocations that
//! bypass the allocator belong to [`Device::outside`].
//!
//! # Example
//! ```
//! use headroom::hardware::allocator::{Allocator, Device, Settings, Stream};
//!
//! let mut allocator = Allocator::new(Settings::default(), Device::ENDLESS);
//! let weights = allocator.allocate(3 << 20, Stream::DEFAULT)?;
//! assert_eq!(allocator.readings().allocated.now, 3 << 20);
//! assert_eq!(allocator.readings().reserved.now, 20 << 20); // requests of 1 to 10 MiB share segments of 20 MiB
//! allocator.release(weights);
//! assert_eq!(allocator.readings().reserved.now, 20 << 20); // still held, for whoever comes next
//! allocator.empty_cache();
//! assert_eq!(allocator.readings().reserved.now, 0);
//! # Ok::<(), headroom::hardware::allocator::OutOfMemory>(())
//! ```

mod blocks;
mod cache;
mod conf;
mod core;
mod driver;
mod expandable;
mod free_list;
mod lanes;
mod oom;
mod replay;
mod rules;
mod settings;
mod snapshot;

pub use conf::ConfError;
pub use core::{Allocator, Handle, Peak, Readings};
pub use driver::{Device, DriverCall};
pub use lanes::{PoolKind, Stream};
pub use oom::OutOfMemory;
pub use replay::{Event, Failure, Replay, replay, replay_until};
pub use settings::{Settings, SizeClasses};
pub use snapshot::{Block, Gap, Segment};

#[cfg(test)]
mod tests;
