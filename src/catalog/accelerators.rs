//! Known accelerators.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::config::{Accelerator, PeakRates};
use crate::units::Bytes;

/// How the memory of an accelerator is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryBasis {
    /// The total that the vendor's tool prints, such as `nvidia-smi`.
    DriverReported,
    /// The total that a program saw and logged.
    SeenInLogs,
    /// The vendor states it in GiB.
    VendorGibibytes,
    /// The marketed number of GB, assumed to mean GiB.
    AssumedGibibytes,
}

impl MemoryBasis {
    /// One phrase for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::DriverReported => "as the driver reports it",
            Self::SeenInLogs => "as programs log it",
            Self::VendorGibibytes => "stated in GiB by the vendor",
            Self::AssumedGibibytes => "assumed: the marketed number taken as GiB",
        }
    }

    /// Whether the amount is an assumption rather than something that was read.
    pub const fn is_assumed(self) -> bool {
        matches!(self, Self::AssumedGibibytes)
    }
}

/// One accelerator that can be bought or rented.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorRow {
    /// Short stable name of letters, digits, `-` and `.`; links carry it.
    pub id: String,
    /// Name shown to people.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// Other names that find this row.
    pub aliases: Vec<String>,
    /// Memory, rates and node size. The price is 0: prices change too often to be listed.
    #[serde(with = "Device")]
    pub accelerator: Accelerator,
    /// The memory it is sold with, in the vendor's "GB".
    pub marketed_gb: u64,
    /// How the usable memory is known.
    pub memory_basis: MemoryBasis,
    /// Whether the row was checked against a source; see `unverified_fields` for the exceptions.
    pub verified: bool,
    /// Fields without a checked source: `memory`, `memory_bandwidth`, `peak`, `peak.bf16`, `accelerators_per_node`, `tdp_watts`.
    pub unverified_fields: Vec<String>,
    /// Board power, watts, if known.
    pub tdp_watts: Option<f64>,
}

/// The device as written in the data file: memory in MiB, bandwidth in bytes per second, rates in dense TFLOP/s.
#[derive(Deserialize)]
#[serde(remote = "Accelerator", deny_unknown_fields)]
struct Device {
    #[serde(rename = "memory_mib", deserialize_with = "mebibytes")]
    memory: Bytes,
    memory_bandwidth: Option<f64>,
    #[serde(with = "Rates")]
    peak: PeakRates,
    accelerators_per_node: u64,
    #[serde(skip)]
    price_per_hour: f64,
}

/// The peak rates as written in the data file; a rate that is left out is unknown.
#[derive(Deserialize)]
#[serde(remote = "PeakRates", deny_unknown_fields)]
struct Rates {
    bf16: Option<f64>,
    fp16: Option<f64>,
    fp8: Option<f64>,
    int8: Option<f64>,
    tf32: Option<f64>,
    fp32: Option<f64>,
}

fn mebibytes<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Bytes, D::Error> {
    u64::deserialize(source).map(|mebibytes| Bytes(1 << 20) * mebibytes)
}

static ACCELERATORS: LazyLock<Vec<AcceleratorRow>> =
    LazyLock::new(|| serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/accelerators.json"))).unwrap_or_default());

/// All known accelerators, in the order they are listed.
pub fn accelerators() -> &'static [AcceleratorRow] {
    &ACCELERATORS
}

/// The accelerator with that id or other name, in any case.
///
/// ```
/// let card = headroom::catalog::accelerator("H100").expect("a known accelerator");
/// assert_eq!(card.id, "h100-80");
/// assert_eq!(card.accelerator.memory.0, 81_559 << 20);
/// ```
pub fn accelerator(id_or_alias: &str) -> Option<&'static AcceleratorRow> {
    accelerators().iter().find(|row| super::answers_to(&row.id, &row.aliases, id_or_alias))
}
