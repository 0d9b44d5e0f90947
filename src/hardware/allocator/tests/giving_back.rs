//! Cached memory goes back to the driver: for room, by age, on request. And when nothing helps.

use super::super::{Allocator, Device, DriverCall, Settings};
use super::{MIB, Stream, on};

#[test]
fn a_full_device_gets_every_whole_segment_back() {
    let mut allocator = on(100, "");
    let [first, second, _third, part] = [30, 12, 31, 8].map(|mib| allocator.take(mib * MIB));
    assert_eq!(allocator.reserved(), (30 + 12 + 32 + 20) * MIB);
    allocator.give_all([first, second, part]);
    allocator.take(50 * MIB);
    assert_eq!(allocator.layout_mib(), [[32], [50]]);
    let readings = allocator.readings();
    assert_eq!((readings.retries, readings.out_of_memory), (1, 0));
    assert_eq!(readings.reserved.peak, 94 * MIB);
}

#[test]
fn a_segment_with_something_in_it_stays() {
    let mut allocator = on(100, "");
    let big = allocator.take(60 * MIB);
    allocator.give(big);
    let small = allocator.take(12 * MIB); // cut from the cached 60 MiB
    let error = allocator.refuse(50 * MIB);
    assert_eq!(error.requested, 50 * MIB);
    assert_eq!((error.tried, error.total, error.free), (50 * MIB, 100 * MIB, 40 * MIB));
    assert_eq!((error.allocated, error.unallocated, error.allowed), (12 * MIB, 48 * MIB, None));
    let readings = allocator.readings();
    assert_eq!((readings.retries, readings.out_of_memory), (1, 1));
    assert_eq!(
        error.to_string(),
        "out of memory: 50.00 MiB wanted, 40.00 MiB of 100.00 MiB free, 12.00 MiB allocated, 48.00 MiB reserved but not allocated"
    );
    allocator.give(small);
    allocator.take(90 * MIB);
}

#[test]
fn outside_memory_leaves_less() {
    let device = Device { total: 100 * MIB, outside: 30 * MIB };
    let mut allocator = Allocator::new(Settings::default(), device);
    allocator.take(70 * MIB);
    assert_eq!(allocator.refuse(10 * MIB).free, 0);
}

#[test]
fn large_segments_go_back_before_small_ones() {
    let mut allocator = on(200, "");
    let handles = [1, 30 * MIB, 2 * MIB].map(|bytes| allocator.take(bytes));
    allocator.give_all(handles);
    allocator.empty_cache();
    let back = [20, 30, 2].map(|mib| DriverCall::TookBack(mib * MIB));
    assert_eq!(allocator.driver_calls()[3..], back);
}

#[test]
fn a_share_of_the_device_is_the_limit() {
    let mut allocator = on(100, "per_process_memory_fraction:0.5");
    allocator.take(40 * MIB);
    let error = allocator.refuse(12 * MIB);
    assert_eq!((error.allowed, error.free), (Some(50 * MIB), 60 * MIB));
    assert!(error.to_string().contains("50.00 MiB allowed"));
    allocator.take(10 * MIB);
    assert_eq!(on(100, "per_process_memory_fraction:1").refuse(101 * MIB).allowed, None);
}

#[test]
fn early_rejection_gives_nothing_back() {
    let mut allocator = on(100, "throw_on_cudamalloc_oom:True");
    let handle = allocator.take(60 * MIB);
    allocator.give(handle);
    let error = allocator.refuse(70 * MIB);
    assert!(error.rejected);
    assert_eq!(
        (allocator.reserved(), allocator.readings().retries, allocator.readings().out_of_memory),
        (60 * MIB, 0, 0)
    );
}

#[test]
fn blocks_above_the_split_size_stay_whole() {
    let mut allocator = on(1000, "max_split_size_mb:64");
    let big = allocator.take(100 * MIB);
    allocator.give(big);
    allocator.take(30 * MIB);
    assert_eq!(allocator.layout_mib(), [[-100], [30]], "a small request leaves it alone");
    allocator.take(70 * MIB);
    assert_eq!(
        allocator.layout_mib(),
        [[-100], [30], [70]],
        "30 MiB would be wasted: 20 are the most"
    );
    allocator.take(81 * MIB);
    assert_eq!(allocator.layout_mib(), [[100], [30], [70]], "19 MiB less may take it, whole");
}

#[test]
fn the_waste_that_an_unsplit_block_may_have_can_be_set() {
    let mut allocator = on(1000, "max_split_size_mb:64,max_non_split_rounding_mb:40");
    let big = allocator.take(100 * MIB);
    allocator.give(big);
    allocator.take(70 * MIB);
    assert_eq!(allocator.layout_mib(), [[100]]);
}

#[test]
fn one_large_cached_block_makes_room() {
    let mut allocator = on(300, "max_split_size_mb:64");
    let handles = [80, 90, 100].map(|mib| allocator.take(mib * MIB));
    allocator.give_all(handles);
    allocator.take(50 * MIB); // 30 MiB are free: the smallest block of 64 MiB or more goes
    assert_eq!(allocator.layout_mib(), [[-90], [-100], [50]]);
    assert_eq!(allocator.readings().retries, 0);
}

#[test]
fn several_large_cached_blocks_make_room_largest_first() {
    let mut allocator = on(300, "max_split_size_mb:64");
    let handles = [80, 90, 100].map(|mib| allocator.take(mib * MIB));
    allocator.give_all(handles);
    allocator.take(150 * MIB);
    assert_eq!(allocator.layout_mib(), [[-80], [150]]);
    assert_eq!(allocator.readings().retries, 0);
}

#[test]
fn old_segments_are_collected_above_the_threshold() {
    let conf = "garbage_collection_threshold:0.5,per_process_memory_fraction:0.8";
    let mut allocator = on(500, conf);
    let old = allocator.take(60 * MIB);
    allocator.give(old);
    let small = allocator.take(MIB);
    let kept: Vec<_> = [70, 80, 90].map(|mib| allocator.take(mib * MIB)).into();
    let young = allocator.take(30 * MIB); // cut from the old segment, which becomes young when it is free again
    allocator.give(young);
    allocator.give(kept[0]);
    // Held: 60 + 2 + 70 + 80 + 90 = 302 of 400 MiB allowed, 200 is the threshold; the next request
    // finds no block.
    allocator.take(91 * MIB);
    assert!(allocator.reserved() < 302 * MIB + 92 * MIB);
    assert_eq!(allocator.readings().retries, 0);
    assert!(allocator.driver_calls().contains(&DriverCall::TookBack(60 * MIB)));
    allocator.give(small);
}

#[test]
fn garbage_is_collected_only_below_a_share_of_the_device() {
    let mut allocator = on(500, "garbage_collection_threshold:0.1");
    let handle = allocator.take(100 * MIB);
    allocator.give(handle);
    allocator.take(200 * MIB);
    assert_eq!(allocator.reserved(), 300 * MIB);
}

#[test]
fn cached_memory_of_other_streams_goes_back_too() {
    let mut allocator = on(100, "");
    let handle = allocator.allocate(60 * MIB, Stream(3)).unwrap();
    allocator.give(handle);
    allocator.take(80 * MIB);
    assert_eq!(allocator.layout_mib(), [[80]]);
}
