//! Random sequences on PyTorch's own allocator, with settings that the recorded traces do not
//! cover. Every reading, every driver call, every segment and block, and the numbers of every
//! out-of-memory message must be equal. `make_truth.py` beside the data file wrote it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail"
)]

use std::io::Read;

use headroom::hardware::allocator::{
    Allocator, Device, DriverCall, Handle, Peak, PoolKind, Settings, Stream,
};
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn peak(value: &Value) -> Peak {
    Peak { now: number(&value[0]), peak: number(&value[1]) }
}

/// A size as PyTorch's message prints it.
fn printed(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "C++ prints a double")]
    let size = bytes as f64;
    match bytes {
        0..=0x400 => format!("{bytes} bytes"),
        0x401..=0x10_0000 => format!("{:.2} KiB", size / 1024.0),
        0x10_0001..=0x4000_0000 => format!("{:.2} MiB", size / 1_048_576.0),
        _ => format!("{:.2} GiB", size / 1_073_741_824.0),
    }
}

/// Replays a row; returns the allocator, and each failed event with the numbers of its message.
fn run(row: &Value) -> (Allocator, Vec<(usize, Vec<String>)>) {
    let settings = Settings::from_conf(row["conf"].as_str().unwrap()).unwrap();
    let device = Device { total: number(&row["total"]), outside: number(&row["outside"]) };
    let mut allocator = Allocator::new(settings, device);
    let (mut handles, mut failures) = (std::collections::HashMap::new(), Vec::new());
    for (index, event) in row["events"].as_array().unwrap().iter().enumerate() {
        match number(&event[0]) {
            0 => match allocator
                .allocate(number(&event[2]), Stream(u32::try_from(number(&event[3])).unwrap()))
            {
                Ok(handle) => drop(handles.insert(number(&event[1]), handle)),
                Err(error) if error.rejected => {
                    failures.push((index, vec![printed(error.requested)]));
                }
                Err(error) => {
                    let sizes =
                        [Some(error.tried), Some(error.total), Some(error.free), error.allowed];
                    let sizes =
                        sizes.into_iter().flatten().chain([error.allocated, error.unallocated]);
                    failures.push((index, sizes.map(printed).collect()));
                }
            },
            1 => {
                let handle: Option<Handle> = handles.remove(&number(&event[1]));
                assert!(handle.is_none_or(|handle| allocator.release(handle)));
            }
            2 => allocator.empty_cache(),
            _ => allocator.set_settings(Settings::from_conf(event[1].as_str().unwrap()).unwrap()),
        }
    }
    (allocator, failures)
}

fn check(row: &Value, name: &str) -> u64 {
    assert!(row["error"].is_null(), "{name}: {}", row["error"]);
    let (allocator, failures) = run(row);
    let calls = allocator.driver_calls().iter().map(|call| match *call {
        DriverCall::Gave(bytes) => i64::try_from(bytes).unwrap(),
        DriverCall::TookBack(bytes) => -i64::try_from(bytes).unwrap(),
    });
    let real: Vec<i64> =
        row["calls"].as_array().unwrap().iter().map(|call| call.as_i64().unwrap()).collect();
    let ours: Vec<i64> = calls.collect();
    let differs = ours.iter().zip(&real).position(|(ours, real)| ours != real);
    assert_eq!((differs, ours.len()), (None, real.len()), "{name}: driver calls");
    let readings = allocator.readings();
    assert_eq!(readings.allocated, peak(&row["allocated"]), "{name}: allocated");
    assert_eq!(readings.requested, peak(&row["requested"]), "{name}: requested");
    assert_eq!(readings.reserved, peak(&row["reserved"]), "{name}: reserved");
    assert_eq!(readings.retries, number(&row["retries"]), "{name}: retries");
    assert_eq!(readings.out_of_memory, number(&row["ooms"]), "{name}: out of memory");
    let real: Vec<(usize, Vec<String>)> = serde_json::from_value(row["oom"].clone()).unwrap();
    assert_eq!(failures, real, "{name}: messages");
    let rejected = failures.iter().filter(|(_, sizes)| sizes.len() == 1).count();
    assert_eq!(u64::try_from(rejected).unwrap(), number(&row["rejections"]), "{name}: rejections");
    let sorted = |segments: Vec<Value>| {
        let mut texts: Vec<String> = segments.iter().map(Value::to_string).collect();
        texts.sort();
        texts
    };
    let (ours, real) = (
        allocator.segments().iter().map(segment).collect(),
        row["segments"].as_array().unwrap().clone(),
    );
    assert_eq!(sorted(ours), sorted(real), "{name}: segments");
    assert_eq!(allocator.gap().reserved(), readings.reserved.now, "{name}: gap");
    readings.retries
}

/// A segment in the file's form: bytes, stream, pool, whether it can grow, and its blocks (free
/// ones negative).
fn segment(segment: &headroom::hardware::allocator::Segment) -> Value {
    let kind = if segment.kind == PoolKind::Small { "small" } else { "large" };
    let blocks = segment.blocks.iter().map(|block| {
        let bytes = i64::try_from(block.bytes).unwrap();
        Value::from(if block.used { bytes } else { -bytes })
    });
    serde_json::json!([
        segment.bytes,
        segment.stream.0,
        kind,
        segment.expandable,
        blocks.collect::<Vec<_>>()
    ])
}

#[test]
fn random_sequences_are_those_of_pytorch() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/allocator/allocator.jsonl.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let (mut rows, mut retries, mut wrong) = (0, 0, Vec::new());
    for (line, row) in (1..).zip(text.lines()) {
        let row: Value = serde_json::from_str(row).unwrap();
        let name = format!("line {line}, {} on {} GiB", row["conf"], number(&row["total"]) >> 30);
        match std::panic::catch_unwind(|| check(&row, &name)) {
            Ok(times) => retries += times,
            Err(_) => wrong.push(name),
        }
        rows += 1;
    }
    println!("{rows} sequences, {retries} retries");
    assert!(wrong.is_empty(), "{} of {rows} differ: {wrong:#?}", wrong.len());
}
