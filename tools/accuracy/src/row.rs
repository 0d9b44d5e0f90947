//! One row of measured or published figures, and the library's figures for it.

use headroom::config::{DataSharding, Stack};
use serde_json::Value;

/// The sharding of that key in links.
pub fn sharding(key: &str) -> Result<DataSharding, String> {
    DataSharding::named(key).ok_or_else(|| format!("no sharding is called {key}"))
}

/// The software stack of that key in links.
pub fn stack(key: &str) -> Result<Stack, String> {
    Stack::named(key).ok_or_else(|| format!("the stack {key} is not modelled"))
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Bytes saved for backward when forward has ended.
    Activations,
    /// The highest total of a step, bytes.
    Peak,
    /// The highest sum of allocated tensors, bytes.
    Allocated,
    /// The most that the allocator reserved, bytes.
    Reserved,
    /// 1 where the run found no room, else 0.
    OutOfMemory,
    /// Weights, gradients and optimizer states together, bytes.
    ModelStates,
    /// Parameters, counted.
    Parameters,
    /// Parameters that learn, counted.
    Trainable,
    /// Floating-point operations of one forward pass.
    ForwardFlops,
    /// Floating-point operations of one backward pass.
    BackwardFlops,
    /// Bytes of keys and values per token.
    KvBytesPerToken,
    /// Bytes of weights as they are stored.
    Weights,
    /// Memory that a server finds for its cache, bytes.
    CacheRoom,
    /// Blocks of the cache.
    Blocks,
    /// Sequences of the whole context that find room, hundredths.
    Concurrency,
    /// Time of one optimizer step, or of a part of it, nanoseconds.
    StepTime,
    /// A speed or time of serving, millionths of the row's own unit.
    ServingSpeed,
}

impl Quantity {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Activations => "activations",
            Self::Peak => "peak",
            Self::Allocated => "allocated",
            Self::Reserved => "reserved",
            Self::OutOfMemory => "out of memory",
            Self::ModelStates => "model states",
            Self::Parameters => "parameters",
            Self::Trainable => "trainable parameters",
            Self::ForwardFlops => "forward FLOPs",
            Self::BackwardFlops => "backward FLOPs",
            Self::KvBytesPerToken => "KV bytes per token",
            Self::Weights => "weights",
            Self::CacheRoom => "room for the cache",
            Self::Blocks => "blocks",
            Self::Concurrency => "concurrency",
            Self::StepTime => "step time",
            Self::ServingSpeed => "serving speed",
        }
    }
}

/// Our figure beside the row's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The quantity that is compared.
    pub quantity: Quantity,
    /// The library's figure.
    pub ours: u64,
    /// The row's figure.
    pub measured: u64,
}

impl Comparison {
    /// The signed relative error; infinite where the row says 0 and the library does not.
    pub fn error(&self) -> f64 {
        if self.ours == self.measured {
            return 0.0;
        }
        headroom::units::to_f64(self.ours) / headroom::units::to_f64(self.measured) - 1.0
    }
}

/// A name of a group and the value in it, such as `precision` and `bf16`.
pub type Group = (&'static str, String);

/// One row after it was run.
#[derive(Debug)]
pub struct Row {
    /// The row's own id.
    pub id: String,
    /// The groups it belongs to.
    pub groups: Vec<Group>,
    /// The comparisons, or why the row cannot be expressed.
    pub outcome: Result<Vec<Comparison>, String>,
    /// The comparisons without some constants: the name of the constants left out, and the
    /// comparison then.
    pub without: Vec<(&'static str, Comparison)>,
}

/// Reads a row strictly: a field that is absent is a reason, never a default.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a Value);

impl<'a> Fields<'a> {
    /// The value at that pointer, which must be there and not null.
    pub fn value(self, pointer: &str) -> Result<&'a Value, String> {
        self.0
            .pointer(pointer)
            .filter(|value| !value.is_null())
            .ok_or_else(|| format!("the row does not say {}", named(pointer)))
    }

    /// A text.
    pub fn text(self, pointer: &str) -> Result<&'a str, String> {
        self.value(pointer)?.as_str().ok_or_else(|| format!("{} is no text", named(pointer)))
    }

    /// A whole number.
    pub fn count(self, pointer: &str) -> Result<u64, String> {
        let value = self.value(pointer)?;
        value
            .as_u64()
            .or_else(|| value.as_f64().and_then(whole))
            .ok_or_else(|| format!("{} is no whole number", named(pointer)))
    }

    /// A whole number that is at least 1, or 1 where the row does not speak of it.
    pub fn degree(self, pointer: &str) -> Result<std::num::NonZeroU64, String> {
        if self.is_absent(pointer) {
            return Ok(std::num::NonZeroU64::MIN);
        }
        std::num::NonZeroU64::new(self.count(pointer)?)
            .ok_or_else(|| format!("{} is 0", named(pointer)))
    }

    /// A number.
    pub fn number(self, pointer: &str) -> Result<f64, String> {
        self.value(pointer)?.as_f64().ok_or_else(|| format!("{} is no number", named(pointer)))
    }

    /// Yes or no.
    pub fn flag(self, pointer: &str) -> Result<bool, String> {
        self.value(pointer)?
            .as_bool()
            .ok_or_else(|| format!("{} is neither true nor false", named(pointer)))
    }

    /// A whole number, or 0 where the row does not speak of it.
    pub fn count_or_none(self, pointer: &str) -> Result<u64, String> {
        if self.is_absent(pointer) { Ok(0) } else { self.count(pointer) }
    }

    /// True if the row does not state the value at all.
    pub fn is_absent(self, pointer: &str) -> bool {
        self.0.pointer(pointer).is_none_or(Value::is_null)
    }
}

fn named(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// A number without a fraction as an integer.
fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..1.8e19).contains(&number)).then(|| rounded(number))
}

/// The nearest integer; 0 for a negative number.
pub fn rounded(number: f64) -> u64 {
    // Text is the conversion that cannot be wrong silently.
    format!("{number:.0}").parse().unwrap_or(0)
}
