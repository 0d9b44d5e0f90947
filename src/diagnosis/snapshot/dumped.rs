//! A snapshot as PyTorch writes it (`torch/cuda/memory.py`, `torch/csrc/cuda/memory_snapshot.cpp`).
//! Unknown keys are skipped.

use std::rc::Rc;

use super::SnapshotError;
use super::pickle::{self, Value};

/// The parts of a snapshot that are used.
#[derive(Debug)]
pub(super) struct Dumped {
    /// Segments that the driver gave, of all GPUs.
    pub segments: Vec<Segment>,
    /// The events on each GPU, in order.
    pub device_traces: Vec<Vec<Entry>>,
    /// The contents of `PYTORCH_CUDA_ALLOC_CONF`.
    pub conf: String,
}

/// A segment that the driver gave.
#[derive(Debug)]
pub(super) struct Segment {
    pub device: u64,
    pub address: u64,
    pub total_size: u64,
    pub blocks: Vec<Block>,
}

/// A part of a segment.
#[derive(Debug)]
pub(super) struct Block {
    /// Snapshots before PyTorch 2.1 leave the address out: blocks follow on each other.
    pub address: Option<u64>,
    pub size: u64,
    pub requested_size: Option<u64>,
    pub is_of_a_tensor: bool,
    pub place: Option<String>,
}

/// One event.
#[derive(Debug)]
pub(super) struct Entry {
    pub action: Rc<str>,
    pub address: u64,
    pub size: u64,
    pub place: Option<String>,
}

/// Reads a snapshot.
///
/// # Errors
/// When the file is no pickle, or one of something else.
pub(super) fn read(file: &[u8]) -> Result<Dumped, SnapshotError> {
    let value = pickle::read(file).map_err(SnapshotError::NoSnapshot)?;
    let segments = value.get("segments").filter(|segments| matches!(segments, Value::List(_)));
    let segments =
        segments.ok_or_else(|| SnapshotError::NoSnapshot("it lists no segments".to_owned()))?;
    let traces = value.get("device_traces").map_or_else(Vec::new, |traces| traces.list());
    let settings = value
        .get("allocator_settings")
        .and_then(|settings| settings.get("PYTORCH_CUDA_ALLOC_CONF")?.text());
    Ok(Dumped {
        segments: segments.list().iter().filter_map(segment).collect(),
        device_traces: traces
            .iter()
            .map(|entries| entries.list().iter().filter_map(entry).collect())
            .collect(),
        conf: settings.map_or_else(String::new, |text| text.to_string()),
    })
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.number()
}

fn segment(value: &Value) -> Option<Segment> {
    Some(Segment {
        device: number(value, "device").unwrap_or(0),
        address: number(value, "address").unwrap_or(0),
        total_size: number(value, "total_size")?,
        blocks: value.get("blocks")?.list().iter().filter_map(block).collect(),
    })
}

fn block(value: &Value) -> Option<Block> {
    Some(Block {
        address: number(value, "address"),
        size: number(value, "size")?,
        requested_size: number(value, "requested_size"),
        is_of_a_tensor: &*value.get("state")?.text()? == "active_allocated",
        place: value.get("frames").and_then(|frames| place(&frames)),
    })
}

fn entry(value: &Value) -> Option<Entry> {
    Some(Entry {
        action: value.get("action")?.text()?,
        address: number(value, "addr").unwrap_or(0),
        size: number(value, "size").unwrap_or(0),
        place: value.get("frames").and_then(|frames| place(&frames)),
    })
}

/// The line of Python that asked for memory: the innermost one of a stack outside PyTorch, else the
/// innermost of all.
fn place(frames: &Value) -> Option<String> {
    let frames = frames.list();
    let file = |frame: &Value| frame.get("filename").and_then(|name| name.text());
    // PyTorch's own frames lie in its folder, or are C++.
    let is_outside = |frame: &&Value| {
        file(frame).is_some_and(|name| name.ends_with(".py") && !name.contains("/torch/"))
    };
    let frame = frames.iter().find(is_outside).or_else(|| frames.first())?;
    let (name, path) = (frame.get("name")?.text()?, file(frame)?);
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    Some(format!("{name} ({file}:{})", number(frame, "line").unwrap_or(0)))
}
