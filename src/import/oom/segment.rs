//! Compares a number of bytes with the amount that a message asks for.

use super::amount::PrintedAmount;

/// Every block of PyTorch's allocator is a multiple of this, bytes. Source: `kMinBlockSize`,
/// `CUDACachingAllocator::round_size`.
const BLOCK: u64 = 512;
/// Blocks up to this size share a segment of [`SMALL_SEGMENT`], bytes (`kSmallSize`).
const SMALL: u64 = 1 << 20;
/// The segment that small blocks are cut from, bytes (`kSmallBuffer`).
pub const SMALL_SEGMENT: u64 = 2 << 20;
/// Blocks below this size are cut from a segment of [`LARGE_SEGMENT`], bytes (`kMinLargeAlloc`).
const LARGE: u64 = 10 << 20;
/// The segment that blocks of middle size are cut from, bytes (`kLargeBuffer`).
pub const LARGE_SEGMENT: u64 = 20 << 20;
/// Larger blocks are asked for in multiples of this, bytes (`kRoundLarge`).
const STEP: u64 = 2 << 20;

/// How well a tensor agrees with the amount that was asked for, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// The message states the number of bytes, and it is the tensor's.
    Exact,
    /// The tensor's bytes print so, and so does the segment that PyTorch asks the driver for.
    Printed,
    /// Only the segment prints so: the tensor is smaller.
    Segment,
    /// Only the tensor's own bytes print so: it was asked for by a program that does not round as
    /// PyTorch does.
    Unrounded,
}

/// Returns how well a tensor of so many bytes agrees with the amount that a message asks for;
/// `None` where it does not, and for empty tensors.
///
/// A size of 2.00 or 20.00 MiB agrees with every small tensor, because PyTorch asks for whole
/// segments: the caller should say so instead of naming one of them.
///
/// ```
/// use headroom::import::oom::{Agreement, PrintedAmount, agreement};
///
/// let asked = PrintedAmount::parse("3.91 GiB").unwrap();
/// assert_eq!(agreement(asked, 4 * 1024 * 256_000 * 4), Some(Agreement::Printed));
/// assert_eq!(agreement(asked, 4 * 1023 * 256_000 * 4), None); // prints as 3.90 GiB
/// ```
pub fn agreement(asked: PrintedAmount, bytes: u64) -> Option<Agreement> {
    let prints = asked.contains(bytes);
    let segment_prints = asked.contains(segment_of(bytes));
    match (asked.exact(), prints, segment_prints) {
        _ if bytes == 0 => None,
        (Some(_), true, _) => Some(Agreement::Exact),
        (None, true, true) => Some(Agreement::Printed),
        (_, false, true) => Some(Agreement::Segment),
        (None, true, false) => Some(Agreement::Unrounded),
        (_, false, false) => None,
    }
}

/// Returns the bytes that PyTorch's CUDA allocator asks the driver for to hold a tensor of that
/// many bytes.
///
/// A tensor is rounded to 512 bytes. Up to 1 MiB it shares a segment of 2 MiB, below 10 MiB it is
/// cut from one of 20 MiB, and above it gets its own, rounded to 2 MiB. The message prints this
/// size, because it is the size that could not be had. Assumes that the settings
/// `roundup_power2_divisions` and `large_segment_size` are not changed.
///
/// Source: c10/cuda/CUDACachingAllocator.cpp, `round_size` and `get_allocation_size`, unchanged
/// from PyTorch 1.0 to 2.15.
///
/// ```
/// # use headroom::import::oom::segment_of;
/// assert_eq!(segment_of(1), 2 << 20);
/// assert_eq!(segment_of(1_048_577), 20 << 20);
/// assert_eq!(segment_of(4 * 1023 * 256_000 * 4), 1999 * (2 << 20));
/// ```
pub fn segment_of(bytes: u64) -> u64 {
    let block = bytes.max(1).div_ceil(BLOCK).saturating_mul(BLOCK);
    if block <= SMALL {
        SMALL_SEGMENT
    } else if block < LARGE {
        LARGE_SEGMENT
    } else {
        block.div_ceil(STEP).saturating_mul(STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(asked: &str, bytes: u64) -> Option<Agreement> {
        agreement(PrintedAmount::parse(asked).unwrap(), bytes)
    }

    #[test]
    fn the_print_parts_logits_from_shifted_logits() {
        // LLaMA-Factory issue 4253 prints 3.90 GiB: those are the shifted logits, not all of them.
        let [logits, shifted] = [1024, 1023].map(|tokens| 4 * tokens * 256_000 * 4);
        assert_eq!(
            [logits, shifted].map(|bytes| agrees("3.90 GiB", bytes)),
            [None, Some(Agreement::Printed)]
        );
        assert_eq!(
            [logits, shifted].map(|bytes| agrees("3.91 GiB", bytes)),
            [Some(Agreement::Printed), None]
        );
    }

    #[test]
    fn a_segment_is_told_from_a_tensor_of_its_own() {
        // 12 MiB take a segment of their own; 20.0013 MiB are rounded to 22 by PyTorch.
        assert_eq!(agrees("20.00 MiB", 12 << 20), None);
        assert_eq!(agrees("20.00 MiB", 20_972_960), Some(Agreement::Unrounded));
        assert_eq!(agrees("20.00 MiB", 20 << 20), Some(Agreement::Printed));
        assert_eq!(agrees("20.00 MiB", 4 << 20), Some(Agreement::Segment));
        assert_eq!(agrees("15600421632 bytes", 15_600_421_632), Some(Agreement::Exact));
    }

    #[test]
    fn absurd_and_empty_tensors_agree_with_nothing() {
        assert_eq!(agrees("2.00 MiB", 0), None);
        assert_eq!(agrees("2.00 MiB", u64::MAX), None);
    }
}
