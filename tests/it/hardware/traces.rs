//! The twelve recorded sequences of real training steps (PyTorch 2.15 on a pretended H100) must
//! come out exactly: allocated peak, reserved peak, and every segment that the driver gave or took
//! back, in order.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail"
)]

use std::path::{Path, PathBuf};

use headroom::hardware::allocator::{
    Device, DriverCall, Event, Gap, Segment, Settings, Stream, replay, replay_until,
};
use serde_json::Value;

struct Trace {
    name: String,
    settings: Settings,
    device: Device,
    events: Vec<Event>,
    calls: Vec<DriverCall>,
    peak_allocated: u64,
    peak_reserved: u64,
    reserved_end: u64,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/allocator/traces")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn read(path: &Path) -> Trace {
    let file = flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap());
    let trace: Value = serde_json::from_reader(std::io::BufReader::new(file)).unwrap();
    let (mut events, mut calls) = (Vec::new(), Vec::new());
    for event in trace["events"].as_array().unwrap() {
        let tensor = || u32::try_from(number(&event[1])).unwrap();
        match event[0].as_str().unwrap() {
            "a" => events.push(Event::Allocate {
                tensor: tensor(),
                bytes: number(&event[2]),
                stream: Stream::DEFAULT,
            }),
            "f" => events.push(Event::Release { tensor: tensor() }),
            "s" => calls.push(DriverCall::Gave(number(&event[1]))),
            "S" => calls.push(DriverCall::TookBack(number(&event[1]))),
            _ => {}
        }
    }
    Trace {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        settings: Settings::from_conf(trace["run"]["alloc_conf"].as_str().unwrap()).unwrap(),
        device: Device::of(number(&trace["capacity"])),
        events,
        calls,
        peak_allocated: number(&trace["peak_allocated"]),
        peak_reserved: number(&trace["peak_reserved"]),
        reserved_end: number(&trace["reserved_end"]),
    }
}

fn traces() -> Vec<Trace> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    assert_eq!(files.len(), 12, "twelve traces in {}", folder().display());
    files.iter().map(|path| read(path)).collect()
}

fn assert_tiles(segments: &[Segment], reserved: u64, allocated: u64, name: &str) {
    assert_eq!(
        segments.iter().map(|segment| segment.bytes).sum::<u64>(),
        reserved,
        "{name}: segments"
    );
    assert_eq!(
        segments.iter().map(Segment::allocated).sum::<u64>(),
        allocated,
        "{name}: blocks in use"
    );
    for segment in segments {
        let blocks: u64 = segment.blocks.iter().map(|block| block.bytes).sum();
        assert_eq!(blocks, segment.bytes, "{name}: blocks of a segment");
    }
}

#[test]
fn every_segment_of_the_twelve_traces_is_exact() {
    for trace in traces() {
        let name = &trace.name;
        let end = replay(&trace.settings, trace.device, &trace.events);
        let readings = end.readings();
        assert!(end.failure.is_none(), "{name}");
        assert_eq!(readings.allocated.peak, trace.peak_allocated, "{name}: allocated");
        assert_eq!(readings.reserved.peak, trace.peak_reserved, "{name}: reserved");
        assert_eq!(readings.reserved.now, trace.reserved_end, "{name}: reserved at the end");
        assert_eq!(end.allocator.driver_calls(), trace.calls, "{name}: segments");
        assert_eq!(readings.retries, 0, "{name}: retries");
        assert_tiles(
            &end.allocator.segments(),
            readings.reserved.now,
            readings.allocated.now,
            name,
        );
        let Gap { requested, rounding, unsplit, .. } =
            replay_until(&trace.settings, trace.device, &trace.events, end.peak_event).gap();
        assert_eq!(
            requested + rounding + unsplit,
            trace.peak_allocated,
            "{name}: the gap at the peak"
        );
    }
}
