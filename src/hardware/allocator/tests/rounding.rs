//! Sizes of blocks and segments.

use super::super::rules::{block_size, segment_size, share};
use super::{KIB, MIB, Settings, endless};

fn rounded(conf: &str, bytes: u64) -> u64 {
    block_size(&Settings::from_conf(conf).unwrap(), bytes)
}

#[test]
fn blocks_are_multiples_of_512_bytes() {
    for (bytes, expected) in
        [(1, 512), (511, 512), (512, 512), (513, 1024), (MIB, MIB), (MIB + 1, MIB + 512)]
    {
        assert_eq!(rounded("", bytes), expected, "{bytes}");
    }
}

#[test]
fn segments_follow_the_size_of_the_block() {
    let settings = Settings::default();
    let expected = [
        (512, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 512, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 512, 12 * MIB),
        (21 * MIB, 22 * MIB),
    ];
    for (size, segment) in expected {
        assert_eq!(segment_size(&settings, size), segment, "{size}");
    }
    let larger = Settings::from_conf("large_segment_size_mb:64").unwrap();
    assert_eq!(segment_size(&larger, 9 * MIB), 64 * MIB);
    assert_eq!(segment_size(&larger, 10 * MIB), 10 * MIB);
}

#[test]
fn a_tensor_without_bytes_takes_nothing() {
    let mut allocator = endless("");
    let handle = allocator.take(0);
    assert_eq!(allocator.reserved(), 0);
    assert!(!allocator.release(handle));
}

#[test]
fn divisions_of_powers_of_two_round_to_their_steps() {
    let conf = "roundup_power2_divisions:4";
    // Steps of a quarter of the power of two below: 1 MiB, 1.25, 1.5, 1.75, 2 MiB.
    assert_eq!(rounded(conf, MIB), MIB);
    assert_eq!(rounded(conf, MIB + 1), MIB + 256 * KIB);
    assert_eq!(rounded(conf, MIB + 256 * KIB), MIB + 256 * KIB);
    assert_eq!(rounded(conf, MIB + 256 * KIB + 1), MIB + 512 * KIB);
    assert_eq!(rounded(conf, 2 * MIB - 1), 2 * MIB);
    // At most 512 bytes times the divisions: still 512 bytes.
    assert_eq!(rounded(conf, 2048), 2048);
    assert_eq!(rounded(conf, 2049), 2560);
    assert_eq!(rounded(conf, 1500), 1536);
    // One division is none.
    assert_eq!(rounded("roundup_power2_divisions:1", MIB + 1), MIB + 512);
}

#[test]
fn a_list_gives_each_size_class_its_divisions() {
    let conf = "roundup_power2_divisions:[4:2,8:8,32:0,>:16]";
    assert_eq!(
        rounded(conf, 3 * MIB + 1),
        4 * MIB,
        "below the first size its number holds: 2, 3, 4 MiB"
    );
    assert_eq!(rounded(conf, 5 * MIB), 6 * MIB, "4 MiB: 2 divisions");
    assert_eq!(rounded(conf, 8 * MIB + 1), 9 * MIB, "8 MiB: 8 divisions");
    assert_eq!(
        rounded(conf, 16 * MIB + 1),
        16 * MIB + 512,
        "16 MiB is between two that are listed"
    );
    assert_eq!(rounded(conf, 33 * MIB + 1), 33 * MIB + 512, "32 MiB: none");
    assert_eq!(rounded(conf, 64 * MIB + 1), 68 * MIB, "above: 16 divisions");
    assert_eq!(rounded(conf, (100 << 30) + 1), 104 << 30, "the last class has no end");
}

#[test]
fn absurd_sizes_saturate() {
    assert_eq!(rounded("", u64::MAX), u64::MAX);
    assert_eq!(segment_size(&Settings::default(), u64::MAX), u64::MAX);
    assert_eq!(rounded("roundup_power2_divisions:4", u64::MAX), u64::MAX);
    let mut allocator = super::on(100, "expandable_segments:True");
    assert_eq!(allocator.refuse(u64::MAX).requested, u64::MAX);
    let mut allocator = endless("");
    let handles = [u64::MAX, u64::MAX, 1].map(|bytes| allocator.take(bytes));
    allocator.give_all(handles);
    allocator.empty_cache();
    assert_eq!(allocator.reserved(), 0);
}

#[test]
fn a_share_is_rounded_down() {
    assert_eq!(share(1000, 0.5), 500);
    assert_eq!(share(1001, 0.5), 500);
    assert_eq!(share(1000, 2.0), 1000);
}
