//! Properties that hold after any sequence.

use super::super::rules::GRAIN;
use super::{Allocator, Device, Handle, MIB, Settings, Stream};

/// A generator of numbers that is the same everywhere (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Sizes of all magnitudes up to 512 MiB, some of them again and again.
    fn size(&mut self) -> u64 {
        let power = 1 << self.below(30);
        if self.below(3) == 0 { power } else { 1 + self.below(power) }
    }
}

const CONFS: [&str; 8] = [
    "",
    "expandable_segments:True",
    "max_split_size_mb:64",
    "max_split_size_mb:64,expandable_segments:True",
    "roundup_power2_divisions:[1:4,64:8,>:2]",
    "garbage_collection_threshold:0.4,per_process_memory_fraction:0.8",
    "per_process_memory_fraction:0.7,expandable_segments:True",
    "large_segment_size_mb:40,roundup_power2_divisions:16",
];

/// Blocks tile their segments; no two free blocks touch; the readings are sums over the blocks; the
/// gap is complete.
fn assert_sound(allocator: &Allocator, conf: &str) {
    let readings = allocator.readings();
    let segments = allocator.segments();
    let mut end = 0;
    let (mut reserved, mut allocated, mut requested) = (0, 0, 0);
    for segment in &segments {
        assert!(segment.at >= end, "{conf}: segments overlap");
        end = segment.at + segment.bytes;
        assert_eq!(
            segment.blocks.iter().map(|block| block.bytes).sum::<u64>(),
            segment.bytes,
            "{conf}: blocks tile"
        );
        assert!(segment.blocks.iter().all(|block| block.bytes > 0
            && block.bytes % GRAIN == 0
            && block.requested <= block.bytes));
        assert!(
            segment.blocks.windows(2).all(|pair| pair[0].used || pair[1].used),
            "{conf}: free blocks touch"
        );
        reserved += segment.bytes;
        allocated += segment.allocated();
        requested += segment.blocks.iter().map(|block| block.requested).sum::<u64>();
    }
    assert_eq!(
        (reserved, allocated, requested),
        (readings.reserved.now, readings.allocated.now, readings.requested.now),
        "{conf}"
    );
    assert!(requested <= allocated && allocated <= reserved);
    let peaks = [readings.requested, readings.allocated, readings.reserved];
    assert!(
        peaks.iter().all(|reading| reading.now <= reading.peak),
        "{conf}: a peak is below the present value"
    );
    let gap = allocator.gap();
    assert_eq!(gap.reserved(), reserved, "{conf}: the gap is complete");
    assert_eq!(gap.requested + gap.rounding + gap.unsplit, allocated, "{conf}: blocks in use");
    assert_free_lists(allocator);
}

/// The free lists hold the free blocks, once each, in order.
fn assert_free_lists(allocator: &Allocator) {
    let listed: usize = [super::super::PoolKind::Small, super::super::PoolKind::Large]
        .into_iter()
        .flat_map(|kind| allocator.lanes.by_stream(kind))
        .map(|lane| {
            let free = allocator.lanes.get(lane).free.entries();
            assert!(
                free.windows(2).all(|pair| (pair[0].size, pair[0].at) < (pair[1].size, pair[1].at))
            );
            for entry in free {
                let piece = allocator.pieces.get(entry.id);
                assert!(
                    piece.is_free()
                        && piece.size == entry.size
                        && piece.at == entry.at
                        && piece.lane == lane
                );
            }
            free.len()
        })
        .sum();
    assert_eq!(listed, allocator.pieces.iter().filter(|(_, piece)| piece.is_free()).count());
}

fn run(conf: &str, device: Device, seed: u64) -> Allocator {
    let mut random = Random(seed);
    let mut allocator = Allocator::new(Settings::from_conf(conf).unwrap(), device);
    let mut live: Vec<Handle> = Vec::new();
    for step in 0..600 {
        match random.below(100) {
            0 => allocator.empty_cache(),
            1..=54 => {
                let stream = Stream(u32::try_from(random.below(10) / 8).unwrap());
                let before = allocator.readings();
                match allocator.allocate(random.size(), stream) {
                    Ok(handle) => live.push(handle),
                    Err(error) => {
                        assert_eq!(before.allocated, allocator.readings().allocated);
                        assert!(
                            error
                                .free
                                .saturating_add(error.allocated)
                                .saturating_add(error.unallocated)
                                <= error.total
                        );
                    }
                }
            }
            _ if !live.is_empty() => {
                let index = random.below(u64::try_from(live.len()).unwrap());
                let handle = live.swap_remove(usize::try_from(index).unwrap());
                assert!(allocator.release(handle));
            }
            _ => {}
        }
        if step % 20 == 0 {
            assert_sound(&allocator, conf);
        }
    }
    for handle in live {
        assert!(allocator.release(handle));
    }
    allocator
}

#[test]
fn releasing_all_and_emptying_leaves_nothing() {
    for conf in CONFS {
        for seed in 1..=12 {
            for device in [Device::ENDLESS, Device::of(700 * MIB)] {
                let mut allocator = run(conf, device, seed * 0x9E37_79B9);
                assert_sound(&allocator, conf);
                let readings = allocator.readings();
                assert_eq!((readings.allocated.now, readings.requested.now), (0, 0), "{conf}");
                assert!(
                    allocator.segments().iter().all(|segment| segment.blocks.len() == 1),
                    "{conf}: all has grown together"
                );
                allocator.empty_cache();
                assert_eq!((allocator.reserved(), allocator.segments().len()), (0, 0), "{conf}");
                assert!(
                    allocator.pieces.iter().all(|(_, piece)| !piece.mapped),
                    "{conf}: only addresses are left"
                );
            }
        }
    }
}

#[test]
fn a_device_is_never_overdrawn() {
    for conf in CONFS {
        for seed in 1..=12 {
            let allocator = run(conf, Device::of(700 * MIB), seed * 0xC2B2_AE35);
            assert!(allocator.readings().reserved.peak <= 700 * MIB, "{conf}");
        }
    }
}

#[test]
fn sequences_repeat_exactly() {
    for conf in CONFS {
        let [first, second] = [0, 1].map(|_| run(conf, Device::of(900 * MIB), 0x1234_5678));
        assert_eq!(first.driver_calls(), second.driver_calls(), "{conf}");
        assert_eq!(first.readings(), second.readings(), "{conf}");
    }
}
