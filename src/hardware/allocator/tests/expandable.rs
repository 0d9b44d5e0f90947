//! Segments that grow and shrink by pages.

use super::super::DriverCall;
use super::{MIB, Settings, endless, on};

const CONF: &str = "expandable_segments:True";

#[test]
fn a_range_grows_by_whole_pages() {
    let mut allocator = endless(CONF);
    allocator.take(5 * MIB);
    assert_eq!(allocator.layout_mib(), [[5, -15]]);
    allocator.take(30 * MIB);
    assert_eq!(
        allocator.layout_mib(),
        [[5, 30, -5]],
        "15 MiB were free at its end, 15 more need one page"
    );
    allocator.take(1);
    assert_eq!(allocator.layout().len(), 2, "the small pool has a range of its own");
    assert_eq!(allocator.reserved(), (40 + 2) * MIB);
    assert!(allocator.segments().iter().all(|segment| segment.expandable));
}

#[test]
fn every_rest_is_split_off() {
    let mut allocator = endless(CONF);
    allocator.take(20 * MIB - 512);
    assert_eq!(allocator.layout(), [[(20 << 20) - 512, -512]]);
}

#[test]
fn the_end_that_can_grow_counts_as_large() {
    let mut allocator = endless(CONF);
    let handle = allocator.take(12 * MIB);
    allocator.take(1 << 20 | 1);
    allocator.give(handle);
    // The end of the range has less than 7 MiB mapped, the hole has 12; the hole can grow less.
    allocator.take(6 * MIB);
    let layout = allocator.layout();
    assert_eq!((layout[0][0], layout[0][1]), (6 << 20, -(6 << 20)));
}

#[test]
fn whole_pages_are_unmapped_and_filled_again() {
    let mut allocator = endless(CONF);
    let [_first, second, third] = [5, 50, 5].map(|mib| allocator.take(mib * MIB));
    allocator.give(second);
    allocator.empty_cache();
    // Pages begin at 0, 20, 40: the hole from 5 to 55 holds one whole page.
    assert_eq!(allocator.layout_mib(), [vec![5, -15], vec![-15, 5]]);
    assert_eq!(allocator.driver_calls().last(), Some(&DriverCall::TookBack(20 * MIB)));
    allocator.take(40 * MIB);
    assert_eq!(allocator.layout_mib(), [[5, 40, -10, 5]], "the gap is mapped first");
    allocator.give(third);
    assert_eq!(allocator.layout_mib(), [[5, 40, -15]]);
}

#[test]
fn an_empty_range_is_dropped() {
    let mut allocator = endless(CONF);
    let handles = [5, 50].map(|mib| allocator.take(mib * MIB));
    allocator.give_all(handles);
    allocator.empty_cache();
    assert_eq!((allocator.reserved(), allocator.segments().len()), (0, 0));
    assert!(allocator.ranges.iter().all(Option::is_none));
    allocator.take(5 * MIB);
    assert_eq!(allocator.layout_mib(), [[5, -15]]);
}

#[test]
fn a_full_device_maps_all_pages_or_none() {
    let mut allocator = on(100, CONF);
    let handle = allocator.take(70 * MIB);
    assert_eq!(allocator.reserved(), 80 * MIB);
    let error = allocator.refuse(40 * MIB);
    assert_eq!(
        (error.tried, error.free, error.allocated, error.unallocated),
        (40 * MIB, 20 * MIB, 70 * MIB, 10 * MIB)
    );
    assert_eq!(allocator.layout_mib(), [[70, -10]]);
    allocator.take(30 * MIB);
    allocator.give(handle);
    assert_eq!(allocator.layout_mib(), [[-70, 30]]);
}

#[test]
fn growing_can_be_turned_off_and_on() {
    let mut allocator = endless(CONF);
    let handle = allocator.take(40 * MIB);
    allocator.give(handle);
    allocator.set_settings(Settings::default());
    allocator.take(40 * MIB);
    let kinds: Vec<(bool, u64)> = allocator
        .segments()
        .iter()
        .map(|segment| (segment.expandable, segment.allocated()))
        .collect();
    assert_eq!(kinds, [(true, 0), (false, 40 * MIB)]);
    allocator.set_settings(Settings::expandable());
    allocator.take(40 * MIB);
    assert_eq!(allocator.layout_mib(), [[40], [40]]);
}
