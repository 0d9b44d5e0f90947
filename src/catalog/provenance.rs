//! Where the rows come from; read only by who shows it, so that the page's first program goes without.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{AcceleratorRow, ModelRow};

/// Where a row comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Where the values come from, as a sentence.
    pub source: String,
    /// What else to know; may be empty.
    pub note: String,
}

static PROVENANCE: LazyLock<BTreeMap<String, Provenance>> =
    LazyLock::new(|| serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/provenance.json"))).unwrap_or_default());

/// The provenance of the row with that id; empty where there is none, which a test of the catalog rules out.
fn of(id: &str) -> &'static Provenance {
    static NONE: Provenance = Provenance { source: String::new(), note: String::new() };
    PROVENANCE.get(id).unwrap_or(&NONE)
}

impl ModelRow {
    /// Where shape and count come from.
    pub fn provenance(&self) -> &'static Provenance {
        of(&self.id)
    }
}

impl AcceleratorRow {
    /// Where the values come from.
    pub fn provenance(&self) -> &'static Provenance {
        of(&self.id)
    }
}
