//! Where the rows come from; read only by who shows it, so that the page's program goes without.

use super::{AcceleratorRow, ModelRow};

/// Where a row comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Where the values come from, as a sentence.
    pub source: &'static str,
    /// What else to know; may be empty.
    pub note: &'static str,
}

static PROVENANCE: &[(&str, Provenance)] = include!(concat!(env!("OUT_DIR"), "/provenance.rs"));

/// The provenance of the row with that id; empty where there is none, which a test of the catalog rules out.
fn of(id: &str) -> &'static Provenance {
    static NONE: Provenance = Provenance { source: "", note: "" };
    PROVENANCE.iter().find(|(row, _)| *row == id).map_or(&NONE, |(_, provenance)| provenance)
}

impl ModelRow {
    /// Where shape and count come from.
    pub fn provenance(&self) -> &'static Provenance {
        of(self.id)
    }
}

impl AcceleratorRow {
    /// Where the values come from.
    pub fn provenance(&self) -> &'static Provenance {
        of(self.id)
    }
}
