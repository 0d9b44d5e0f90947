//! Known accelerators.

use crate::config::{Accelerator, PeakRates};
use crate::units::Bytes;

/// How the memory of an accelerator is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryBasis {
    /// The total that the vendor's tool prints, such as `nvidia-smi`.
    DriverReported,
    /// The total that a program saw and logged.
    SeenInLogs,
    /// The vendor states it in GiB.
    VendorGibibytes,
    /// The marketed number of GB, assumed to mean GiB.
    AssumedGibibytes,
    /// The share of a Mac's memory that macOS lets the GPU use by default, as programs log it on
    /// Macs with that much memory.
    MacosShare,
    /// The default share of a Mac's memory by the rule that all logs follow, for a size of which no
    /// log was found: two thirds below 36 GB, three quarters from there.
    MacosShareByRule,
}

impl MemoryBasis {
    /// Returns the basis of an amount in one phrase for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::DriverReported => "as the driver reports it",
            Self::SeenInLogs => "as programs log it",
            Self::VendorGibibytes => "stated in GiB by the vendor",
            Self::AssumedGibibytes => "assumed: the marketed number taken as GiB",
            Self::MacosShare => "the share that macOS gives the GPU by default, as programs log it",
            Self::MacosShareByRule => {
                "assumed: the share that macOS gives the GPU by default on Macs of other sizes"
            }
        }
    }

    /// Returns true if the amount is an assumption rather than a figure that was read somewhere.
    pub const fn is_assumed(self) -> bool {
        matches!(self, Self::AssumedGibibytes | Self::MacosShareByRule)
    }
}

/// One accelerator that can be bought or rented.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorRow {
    /// Short stable name of letters, digits, `-` and `.`; links carry it.
    pub id: &'static str,
    /// Name shown to people.
    pub name: &'static str,
    /// The company that makes it.
    pub vendor: &'static str,
    /// Rows that are listed together, such as `GeForce RTX 30`.
    pub series: &'static str,
    /// Memory, rates and node size. The price is 0 here: `list_price` has it where one is known.
    pub accelerator: Accelerator,
    /// The memory it is sold with, in the vendor's "GB".
    pub marketed_gb: u64,
    /// How the usable memory is known.
    pub memory_basis: MemoryBasis,
    /// True if the row was checked against a source; see `unverified_fields` for the exceptions.
    pub verified: bool,
    /// Fields without a checked source: `memory`, `memory_bandwidth`, `peak`, `peak.bf16`,
    /// `accelerators_per_node`, `tdp_watts`.
    pub unverified_fields: &'static [&'static str],
    /// Board power, watts, if known.
    pub tdp_watts: Option<f64>,
}

#[allow(clippy::unreadable_literal, reason = "written by the build script")]
static ACCELERATORS: &[AcceleratorRow] = include!(concat!(env!("OUT_DIR"), "/accelerators.rs"));

/// Other names that find a row. They are in a table of their own, because the page shows rows
/// before anybody types.
static ALIASES: super::Aliases = include!(concat!(env!("OUT_DIR"), "/accelerator_aliases.rs"));

impl AcceleratorRow {
    /// Returns other names that find this row.
    pub fn aliases(&self) -> &'static [&'static str] {
        super::aliases_of(ALIASES, self.id)
    }
}

/// Returns all known accelerators, in the order they are listed: memory in bytes, rates as
/// [`crate::config::Accelerator`] has them.
pub fn accelerators() -> &'static [AcceleratorRow] {
    ACCELERATORS
}

/// Returns the accelerator with that id or other name, in any case; `None` where no row has it.
///
/// ```
/// let card = headroom::catalog::accelerator("H100").expect("a known accelerator");
/// assert_eq!(card.id, "h100-80");
/// assert_eq!(card.accelerator.memory.0, 81_559 << 20);
/// ```
pub fn accelerator(id_or_alias: &str) -> Option<&'static AcceleratorRow> {
    accelerator_of_id(super::id_of(ALIASES, id_or_alias)?)
}

/// The accelerator with exactly that id.
pub(crate) fn accelerator_of_id(id: &str) -> Option<&'static AcceleratorRow> {
    accelerators().iter().find(|row| row.id == id)
}
