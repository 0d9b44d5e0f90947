//! Which block serves a request, how it is split, and which free blocks are merged again.

use super::{KIB, MIB, Stream, endless};

#[test]
fn small_and_large_blocks_do_not_mix() {
    let mut allocator = endless("");
    allocator.take(MIB);
    allocator.take(MIB + 1);
    assert_eq!(
        allocator.layout(),
        [vec![1 << 20, -(1 << 20)], vec![(1 << 20) + 512, -(19 << 20) + 512]]
    );
}

#[test]
fn the_small_pool_splits_off_every_rest() {
    let mut allocator = endless("");
    allocator.take(MIB);
    allocator.take(MIB - 512);
    assert_eq!(allocator.layout(), [[1 << 20, (1 << 20) - 512, -512]]);
}

#[test]
fn the_large_pool_keeps_a_rest_of_one_mib_inside_the_block() {
    let mut allocator = endless("");
    allocator.take(21 * MIB);
    assert_eq!(allocator.layout_mib(), [[22]], "a rest of exactly 1 MiB stays inside");
    assert_eq!(allocator.readings().allocated.now, 22 * MIB);
    assert_eq!(allocator.readings().requested.now, 21 * MIB);
    assert_eq!(allocator.gap().unsplit, MIB);
    let mut allocator = endless("");
    allocator.take(21 * MIB - 512);
    assert_eq!(
        allocator.layout(),
        [[(21 << 20) - 512, -(1 << 20) - 512]],
        "a larger one is split off"
    );
}

#[test]
fn the_smallest_block_that_fits_is_taken() {
    let mut allocator = endless("");
    let handles = [40, 30, 50].map(|mib| allocator.take(mib * MIB));
    allocator.give_all(handles);
    allocator.take(30 * MIB + 1);
    assert_eq!(allocator.layout()[0], [(30 << 20) + 512, -(10 << 20) + 512]);
    assert_eq!(allocator.reserved(), 120 * MIB);
}

#[test]
fn of_two_blocks_of_one_size_the_older_segment_serves() {
    let mut allocator = endless("");
    let (first, second) = (allocator.take(40 * MIB), allocator.take(40 * MIB));
    allocator.give(first);
    allocator.give(second);
    allocator.take(40 * MIB);
    assert_eq!(allocator.layout_mib(), [[40], [-40]]);
    // A segment that was given back and comes again is the youngest.
    allocator.empty_cache();
    let third = allocator.take(40 * MIB);
    allocator.take(40 * MIB);
    allocator.give(third);
    assert_eq!(allocator.layout_mib(), [vec![40], vec![-40], vec![40]]);
}

#[test]
fn a_released_block_joins_both_neighbours() {
    let mut allocator = endless("");
    let [first, second, third, _fourth] = [4, 5, 6, 3].map(|mib| allocator.take(mib * MIB));
    assert_eq!(allocator.layout_mib(), [[4, 5, 6, 3, -2]]);
    allocator.give(first);
    allocator.give(third);
    assert_eq!(allocator.layout_mib(), [[-4, 5, -6, 3, -2]]);
    allocator.give(second);
    assert_eq!(allocator.layout_mib(), [[-15, 3, -2]]);
    allocator.take(9 * MIB);
    assert_eq!(allocator.layout_mib(), [[9, -6, 3, -2]]);
}

#[test]
fn a_released_block_joins_the_one_before_or_after() {
    let mut allocator = endless("");
    let [first, second, third] = [4, 5, 6].map(|mib| allocator.take(mib * MIB));
    allocator.give(third);
    assert_eq!(allocator.layout_mib(), [[4, 5, -11]], "after");
    allocator.give(first);
    allocator.give(second);
    assert_eq!(allocator.layout_mib(), [[-20]], "both");
    let [first, second, _third] = [4, 5, 6].map(|mib| allocator.take(mib * MIB));
    allocator.give(first);
    allocator.give(second);
    assert_eq!(allocator.layout_mib(), [[-9, 6, -5]], "before");
}

#[test]
fn a_stream_reuses_its_own_blocks_only() {
    let mut allocator = endless("");
    let other = Stream(7);
    let handle = allocator.take(40 * MIB);
    allocator.give(handle);
    allocator.allocate(40 * MIB, other).unwrap();
    assert_eq!(allocator.layout_mib(), [[-40], [40]]);
    let streams: Vec<Stream> = allocator.segments().iter().map(|segment| segment.stream).collect();
    assert_eq!(streams, [Stream::DEFAULT, other]);
}

#[test]
fn a_handle_goes_stale_when_it_is_released() {
    let mut allocator = endless("");
    let first = allocator.take(KIB);
    allocator.give(first);
    assert!(!allocator.release(first));
    let second = allocator.take(KIB);
    assert!(!allocator.release(first), "the block is another tensor's now");
    assert_eq!(allocator.readings().allocated.now, KIB);
    allocator.give(second);
}

#[test]
fn peaks_stay_until_they_are_reset() {
    let mut allocator = endless("");
    let handle = allocator.take(100 * MIB);
    allocator.give(handle);
    allocator.empty_cache();
    let readings = allocator.readings();
    assert_eq!((readings.allocated.now, readings.reserved.now), (0, 0));
    assert_eq!((readings.allocated.peak, readings.reserved.peak), (100 * MIB, 100 * MIB));
    allocator.reset_peaks();
    assert_eq!(allocator.readings().reserved.peak, 0);
}
