//! The rows of the two searchable lists, written once: name, size and what they are listed under.

use std::sync::OnceLock;

use crate::app::words::billions;
use crate::catalog::{self, AcceleratorRow, Finder, ModelRow};
use crate::ops::parameters_of;
use crate::units::MemoryUnit;

/// One row of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The word that names it in the catalog and in links.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The heading it stands under: a family of models, or vendor and series of accelerators.
    pub group: String,
    /// Parameters of a model, memory of an accelerator.
    pub size: String,
    /// Longest context of a model, bandwidth of an accelerator; empty where unknown.
    pub more: String,
    /// Whether it was checked against a source.
    pub verified: bool,
}

/// A list with what finds its rows.
#[derive(Debug)]
pub struct List {
    /// All rows, in the catalog's order.
    pub rows: Vec<Row>,
    /// Finds rows by their positions.
    pub finder: &'static Finder,
    /// Units of size and more, which screen readers speak: `parameters`, `tokens of context`.
    pub units: [&'static str; 2],
}

/// The models. Parameters that nobody published are counted from the shape, once.
pub fn models() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List {
        rows: catalog::models().iter().map(of_model).collect(),
        finder: Finder::of_models(),
        units: ["parameters", "tokens of context"],
    })
}

/// The accelerators.
pub fn accelerators() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List {
        rows: catalog::accelerators().iter().map(of_accelerator).collect(),
        finder: Finder::of_accelerators(),
        units: ["of memory", "of bandwidth"],
    })
}

fn of_model(row: &'static ModelRow) -> Row {
    let counted = || parameters_of(&row.config);
    Row {
        id: row.id,
        name: row.name,
        group: row.family.to_owned(),
        size: billions(row.published_parameters.unwrap_or_else(counted)),
        more: context(row.config.max_position_embeddings),
        verified: row.verified,
    }
}

fn of_accelerator(row: &'static AcceleratorRow) -> Row {
    Row {
        id: row.id,
        name: row.name,
        group: format!("{} {}", row.vendor, row.series),
        size: MemoryUnit::Gib.show(row.accelerator.memory),
        more: row.accelerator.memory_bandwidth.map(bandwidth).unwrap_or_default(),
        verified: row.verified,
    }
}

/// A number of tokens as `128k` or `1M`; one that is no round number as it is.
fn context(tokens: u64) -> String {
    for (unit, name) in [(1 << 20, "M"), (1_000_000, "M"), (1 << 10, "k"), (1000, "k")] {
        if tokens >= unit && tokens.is_multiple_of(unit) {
            return format!("{}{name}", tokens / unit);
        }
    }
    tokens.to_string()
}

/// Bytes per second as `936 GB/s` or `3.35 TB/s`.
fn bandwidth(bytes: f64) -> String {
    if bytes < 1e12 { format!("{:.0} GB/s", bytes / 1e9) } else { format!("{:.2} TB/s", bytes / 1e12) }
}

#[cfg(test)]
mod tests {
    use super::{accelerators, bandwidth, context, models};

    #[test]
    fn every_row_has_a_size_and_most_have_more() {
        for list in [models(), accelerators()] {
            for row in &list.rows {
                assert!(row.size.starts_with(|letter: char| letter.is_ascii_digit()), "{}: {}", row.id, row.size);
                assert!(!row.group.is_empty() && !row.more.is_empty(), "{}", row.id);
            }
        }
        let row = |id: &str| models().rows.iter().chain(&accelerators().rows).find(|row| row.id == id).expect("a row");
        assert_eq!((row("llama3-8b").size.as_str(), row("llama3-8b").more.as_str()), ("8.03 B", "8k"));
        assert_eq!((row("rtx3060").size.as_str(), row("rtx3060").more.as_str()), ("12.0 GiB", "360 GB/s"));
        assert_eq!((row("rtx3060").group.as_str(), row("m3-max-64").size.as_str()), ("NVIDIA GeForce RTX 30", "48.0 GiB"));
    }

    #[test]
    fn contexts_and_bandwidths_are_short() {
        assert_eq!([131_072, 8192, 1_048_576, 1_000_000, 40_960, 512].map(context), ["128k", "8k", "1M", "1M", "40k", "512"]);
        assert_eq!([936e9, 3.35e12, 2e12].map(bandwidth), ["936 GB/s", "3.35 TB/s", "2.00 TB/s"]);
    }
}
