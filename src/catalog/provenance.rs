//! The sources of the rows. Only code that shows them reads this table, so that the page's program
//! does not carry it.

use super::{AcceleratorRow, ModelRow};

/// The source of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The source of the values, as a sentence.
    pub source: &'static str,
    /// A further remark; may be empty.
    pub note: &'static str,
}

static PROVENANCE: &[(&str, Provenance)] = include!(concat!(env!("OUT_DIR"), "/provenance.rs"));

/// The provenance of the row with that id; empty where there is none, which a test of the catalog
/// rules out.
fn of(id: &str) -> &'static Provenance {
    static NONE: Provenance = Provenance { source: "", note: "" };
    PROVENANCE.iter().find(|(row, _)| *row == id).map_or(&NONE, |(_, provenance)| provenance)
}

impl ModelRow {
    /// The source of the model's shape and count.
    pub fn provenance(&self) -> &'static Provenance {
        of(self.id)
    }
}

impl AcceleratorRow {
    /// The source of the accelerator's values.
    pub fn provenance(&self) -> &'static Provenance {
        of(self.id)
    }
}
