//! Out of memory, with the numbers that PyTorch's message gives.

use std::fmt;

/// No memory for a request. The fields are the numbers of PyTorch's message, in bytes.
///
/// Source: PyTorch 2.15, CUDACachingAllocator.cpp, the end of `malloc`.
///
/// # Example
/// ```
/// use headroom::hardware::allocator::{Allocator, Device, Settings, Stream};
///
/// let mut allocator = Allocator::new(Settings::default(), Device::of(1 << 30));
/// let error = allocator.allocate(3 << 30, Stream::DEFAULT).unwrap_err();
/// assert_eq!(error.tried, 3 << 30);
/// assert_eq!(error.free, 1 << 30);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that the tensor needed.
    pub requested: u64,
    /// Bytes of the segment that the driver was asked for: "tried to allocate".
    pub tried: u64,
    /// Bytes of the device: "total capacity".
    pub total: u64,
    /// Bytes that nobody holds: "is free".
    pub free: u64,
    /// Bytes that this process may have, if that is less than the device: "allowed".
    pub allowed: Option<u64>,
    /// Bytes of blocks in use: "allocated by PyTorch".
    pub allocated: u64,
    /// Bytes of segments that no block in use covers: "reserved by PyTorch but unallocated".
    pub unallocated: u64,
    /// Was it refused without asking the driver (`throw_on_cudamalloc_oom`)?
    pub rejected: bool,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "out of memory: {} wanted, {} of {} free",
            Size(self.tried),
            Size(self.free),
            Size(self.total)
        )?;
        if let Some(allowed) = self.allowed {
            write!(f, ", {} allowed", Size(allowed))?;
        }
        write!(
            f,
            ", {} allocated, {} reserved but not allocated",
            Size(self.allocated),
            Size(self.unallocated)
        )
    }
}

impl std::error::Error for OutOfMemory {}

/// Bytes with two decimals in the unit that PyTorch would choose. Source: PyTorch 2.15,
/// CachingDeviceAllocator.h, `format_size`.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0..=0x400 => return write!(f, "{} bytes", self.0),
            0x401..=0x10_0000 => (1_u128 << 10, "KiB"),
            0x10_0001..=0x4000_0000 => (1 << 20, "MiB"),
            _ => (1 << 30, "GiB"),
        };
        let hundredths = u128::from(self.0)
            .saturating_mul(100)
            .saturating_add(unit / 2)
            .checked_div(unit)
            .unwrap_or(0);
        write!(f, "{}.{:02} {name}", hundredths / 100, hundredths % 100)
    }
}
