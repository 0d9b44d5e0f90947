//! The rows of the two searchable lists, written once: name, size and what they are listed under.

use std::sync::OnceLock;

use crate::catalog::{self, AcceleratorRow, Finder, ModelRow};
use crate::config::ModelConfig;
use crate::estimator::has_parts_of;
use crate::ops::parameters_of;
use crate::units::{Bytes, MemoryUnit};
use crate::view::later;
use crate::view::words::billions;

/// One row of a list.
#[derive(Debug, PartialEq)]
pub struct CatalogRow {
    /// The word that names it in the catalog and in links.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The heading it stands under: a family of models, or vendor and series of accelerators.
    pub group: String,
    amount: Amount,
    size: OnceLock<String>,
    /// Longest context of a model, bandwidth of an accelerator; empty where unknown.
    pub more: String,
    /// True if it was checked against a source.
    pub verified: bool,
}

/// How large a row is.
#[derive(Debug, PartialEq)]
enum Amount {
    /// Parameters that somebody published.
    Published(u64),
    /// A model whose parameters are counted.
    Counted(&'static ModelConfig),
    /// Memory of an accelerator.
    Memory(Bytes),
}

impl CatalogRow {
    /// Parameters of a model, memory of an accelerator; empty while modules have not come by which
    /// parameters are counted.
    pub fn size(&self) -> &str {
        let text = || match self.amount {
            Amount::Published(count) => Some(billions(count)),
            Amount::Counted(model) => has_parts_of(model).then(|| billions(parameters_of(model))),
            Amount::Memory(memory) => Some(MemoryUnit::Gib.show(memory)),
        };
        self.size
            .get()
            .or_else(|| text().map(|text| self.size.get_or_init(|| text)))
            .map_or("", String::as_str)
    }
}

/// A list with what finds its rows.
#[derive(Debug)]
pub struct List {
    /// All rows, in the catalog's order.
    pub rows: Vec<CatalogRow>,
    /// The subject of questions about rows by what people type.
    subject: &'static str,
    /// Units of size and more, which screen readers speak: `parameters`, `tokens of context`.
    pub units: [&'static str; 2],
}

/// Positions of the rows that a search leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum FoundRows {
    /// Rows with all typed words, best first; every row where nothing is typed.
    Rows(Vec<usize>),
    /// No row has all typed words; these are nearest.
    Nearest(Vec<usize>),
    /// The finder has not come: nobody can say yet.
    NotYet,
}

impl List {
    /// The rows found by what was typed.
    pub fn found(&self, typed: &str) -> FoundRows {
        if typed.trim().is_empty() {
            return FoundRows::Rows((0..self.rows.len()).collect());
        }
        found_of(later::ask(self.subject, typed).as_deref())
    }
}

/// The positions in the answer to a search, as [`answer`] writes it.
fn found_of(told: Option<&str>) -> FoundRows {
    let Some(told) = told else { return FoundRows::NotYet };
    let mut words = told.split(' ');
    let is_found = words.next() == Some(FOUND);
    let positions = words.filter_map(|at| at.parse().ok()).collect();
    if is_found { FoundRows::Rows(positions) } else { FoundRows::Nearest(positions) }
}

/// The answer to a search: whether rows were found, and their positions.
pub fn answer(finder: &Finder, typed: &str) -> String {
    let found = finder.find(typed);
    let (word, positions) =
        if found.is_empty() { ("near", finder.nearest(typed, NEAR)) } else { (FOUND, found) };
    positions.into_iter().fold(word.to_owned(), |told, at| format!("{told} {at}"))
}

/// The first word of an answer with rows that were found.
const FOUND: &str = "found";
/// How many near rows are offered where no row is found.
const NEAR: usize = 3;

/// The models. Parameters that nobody published are counted from the shape, once.
pub fn models() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List {
        rows: catalog::models().iter().map(of_model).collect(),
        subject: later::MODELS,
        units: ["parameters", "tokens of context"],
    })
}

/// The accelerators.
pub fn accelerators() -> &'static List {
    static LIST: OnceLock<List> = OnceLock::new();
    LIST.get_or_init(|| List {
        rows: catalog::accelerators().iter().map(of_accelerator).collect(),
        subject: later::ACCELERATORS,
        units: ["of memory", "of bandwidth"],
    })
}

fn of_model(row: &'static ModelRow) -> CatalogRow {
    CatalogRow {
        id: row.id,
        name: row.name,
        group: row.family.to_owned(),
        amount: row.published_parameters.map_or(Amount::Counted(&row.config), Amount::Published),
        size: OnceLock::new(),
        more: context(row.config.max_position_embeddings),
        verified: row.verified,
    }
}

fn of_accelerator(row: &'static AcceleratorRow) -> CatalogRow {
    CatalogRow {
        id: row.id,
        name: row.name,
        group: format!("{} {}", row.vendor, row.series),
        amount: Amount::Memory(row.accelerator.memory),
        size: OnceLock::new(),
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
    if bytes < 1e12 {
        format!("{:.0} GB/s", bytes / 1e9)
    } else {
        format!("{:.2} TB/s", bytes / 1e12)
    }
}

#[cfg(test)]
mod tests {
    use super::{FoundRows, accelerators, answer, bandwidth, context, found_of, models};
    use crate::catalog::Finder;

    #[test]
    fn a_search_says_what_it_found_and_that_it_cannot_say_yet() {
        let told = |typed: &str| found_of(Some(&answer(Finder::of_accelerators(), typed)));
        assert!(
            matches!(told("3060 12gb"), FoundRows::Rows(rows) if accelerators().rows[rows[0]].id == "rtx3060")
        );
        assert!(matches!(told("voodoo 2"), FoundRows::Nearest(rows) if rows.len() == 3));
        assert_eq!(found_of(None), FoundRows::NotYet);
        assert_eq!(
            accelerators().found(" "),
            FoundRows::Rows((0..accelerators().rows.len()).collect())
        );
    }

    #[test]
    fn every_row_has_a_size_and_most_have_more() {
        for list in [models(), accelerators()] {
            for row in &list.rows {
                assert!(
                    row.size().starts_with(|letter: char| letter.is_ascii_digit()),
                    "{}: {}",
                    row.id,
                    row.size()
                );
                assert!(!row.group.is_empty() && !row.more.is_empty(), "{}", row.id);
            }
        }
        let row = |id: &str| {
            models()
                .rows
                .iter()
                .chain(&accelerators().rows)
                .find(|row| row.id == id)
                .expect("a row")
        };
        assert_eq!((row("llama3-8b").size(), row("llama3-8b").more.as_str()), ("8.03 B", "8k"));
        assert_eq!((row("rtx3060").size(), row("rtx3060").more.as_str()), ("12.0 GiB", "360 GB/s"));
        assert_eq!(
            (row("rtx3060").group.as_str(), row("m3-max-64").size()),
            ("NVIDIA GeForce RTX 30", "48.0 GiB")
        );
    }

    #[test]
    fn contexts_and_bandwidths_are_short() {
        assert_eq!(
            [131_072, 8192, 1_048_576, 1_000_000, 40_960, 512].map(context),
            ["128k", "8k", "1M", "1M", "40k", "512"]
        );
        assert_eq!([936e9, 3.35e12, 2e12].map(bandwidth), ["936 GB/s", "3.35 TB/s", "2.00 TB/s"]);
    }
}
