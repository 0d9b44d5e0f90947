//! Sizes: how a request is rounded, how much is asked of the driver for it, and which block may
//! serve it.
//!
//! Source of every rule: PyTorch 2.15, `c10/cuda/CUDACachingAllocator.cpp`; each function names the
//! C++ function.

use super::lanes::PoolKind;
use super::settings::Settings;

/// Bytes of a mebibyte.
pub(super) const MIB: u64 = 1 << 20;
/// Every block is a multiple of this many bytes, so that any tensor is aligned for every kernel
/// (`kMinBlockSize`).
pub(super) const GRAIN: u64 = 512;
/// The largest request, rounded, that the small pool serves (`kSmallSize`).
pub(super) const SMALL: u64 = MIB;
/// A segment of the small pool, and a page of an expandable one (`kSmallBuffer`).
pub(super) const SMALL_SEGMENT: u64 = 2 * MIB;
/// A segment that requests of 1 to 10 MiB share, by default (`kLargeBuffer`).
pub(super) const LARGE_SEGMENT: u64 = 20 * MIB;
/// Requests of this size and more get a segment of their own (`kMinLargeAlloc`).
pub(super) const OWN_SEGMENT: u64 = 10 * MIB;
/// Segments of one request are a multiple of this, the driver's page (`kRoundLarge`).
pub(super) const PAGE: u64 = 2 * MIB;

/// The smallest multiple of `step` that is at least `bytes`. A step of 0 changes nothing.
pub(super) fn round_up(bytes: u64, step: u64) -> u64 {
    bytes.checked_next_multiple_of(step).unwrap_or(if step == 0 { bytes } else { u64::MAX })
}

/// The largest multiple of `step` that is at most `bytes`. A step of 0 changes nothing.
pub(super) fn round_down(bytes: u64, step: u64) -> u64 {
    bytes.saturating_sub(bytes.checked_rem(step).unwrap_or(0))
}

/// Bytes of the block that a request of `bytes` needs.
///
/// Blocks are multiples of 512 bytes, so that neighbours stay aligned. With
/// `roundup_power2_divisions` the size goes up to the next of a few steps between powers of two, so
/// that requests of nearly one size can reuse each other's blocks. Sizes below 512 bytes times the
/// divisions are too small for such steps. Source: `round_size`.
pub(super) fn block_size(settings: &Settings, bytes: u64) -> u64 {
    let divisions = settings.roundup_power2_divisions.of(bytes);
    if divisions > 1 && bytes > GRAIN.saturating_mul(divisions) {
        return next_division(bytes, divisions);
    }
    round_up(bytes, GRAIN).max(GRAIN)
}

/// `bytes` rounded up to a step of its power of two: 1,200 with 4 divisions lies between 1,024 and
/// 2,048, whose steps are 256 apart, so it becomes 1,280. Source: `roundup_power2_next_division`.
fn next_division(bytes: u64, divisions: u64) -> u64 {
    if bytes.is_power_of_two() {
        return bytes;
    }
    let floor = 1_u64.checked_shl(bytes.checked_ilog2().unwrap_or(0)).unwrap_or(u64::MAX);
    let step = floor.checked_shr(divisions.checked_ilog2().unwrap_or(0)).unwrap_or(0);
    if step == 0 { floor.saturating_mul(2) } else { round_up(bytes, step) }
}

/// Bytes to ask of the driver when no cached block fits a block of `size`.
///
/// A call to the driver is slow and waits for the GPU. So small blocks share segments of 2 MiB,
/// those up to 10 MiB share segments of 20 MiB, and only larger ones get a segment of their own.
/// Source: `get_allocation_size`.
pub(super) fn segment_size(settings: &Settings, size: u64) -> u64 {
    if size <= SMALL {
        SMALL_SEGMENT
    } else if size < OWN_SEGMENT {
        settings.large_segment
    } else {
        round_up(size, PAGE)
    }
}

/// Bytes of a page of an expandable segment. Large pages make mapping quick; small blocks need few
/// bytes. Source: `find_expandable_block`.
pub(super) fn expandable_page(settings: &Settings, kind: PoolKind) -> u64 {
    match kind {
        PoolKind::Small => SMALL_SEGMENT,
        PoolKind::Large => settings.large_segment,
    }
}

/// Is the rest of a block worth keeping as a block of its own, when `size` bytes of it are taken
/// and `rest` are left?
///
/// In the small pool, and while segments grow, every rest is. In the large pool a rest of 1 MiB or
/// less would serve no large request, so it stays inside the block; it is the one way in which a
/// block is larger than its rounded size. Requests of `max_split_size` and more take a block whole.
/// Source: `should_split`.
pub(super) fn splits(settings: &Settings, kind: PoolKind, size: u64, rest: u64) -> bool {
    if kind == PoolKind::Small || settings.expandable_segments {
        rest >= GRAIN
    } else {
        size < settings.unsplit_from() && rest > SMALL
    }
}

/// May a request of `size` bytes take the cached block of `block` bytes, the smallest that is large
/// enough?
///
/// Blocks of `max_split_size` and more are kept for requests of that size, because they cannot be
/// split; and such a request refuses a block that would waste too much. Source: the end of
/// `get_free_block`.
pub(super) fn may_take(settings: &Settings, size: u64, block: u64) -> bool {
    let unsplit = settings.unsplit_from();
    if size < unsplit {
        block < unsplit
    } else {
        block < size.saturating_add(settings.slack_of_unsplit())
    }
}

/// A share of `bytes`, rounded down, as C++ rounds when it makes a `double` an integer.
/// Source: `setMemoryFraction`, `garbage_collect_cached_blocks`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "PyTorch computes the share in double precision; the result is between 0 and `bytes`"
)]
pub(super) fn share(bytes: u64, fraction: f64) -> u64 {
    (bytes as f64 * fraction.clamp(0.0, 1.0)) as u64
}
