//! Known models and accelerators: data files with a source for every row.
//!
//! Rows are starting points. A scenario copies one and changes any field; nothing here limits the
//! values that can be typed by hand. The build script writes the two data files as tables, values
//! and provenance apart; a row that cannot be read stops the build. A model's shape is the file
//! `configs/<id>.json`, read like a pasted one, so that it is described once; the few models
//! without such a file have their shape in their row. Models of a family stand together; families
//! that people look for most come first, examples of documents last.

mod accelerators;
mod host_links;
mod models;
mod prices;
mod provenance;
mod search;
mod speeds;

pub(crate) use accelerators::accelerator_of_id;
pub use accelerators::{AcceleratorRow, MemoryBasis, accelerator, accelerators};
pub use host_links::host_link;
pub use models::{ModelRow, model, models};
pub(crate) use models::{keys_of, model_of_id};
pub use prices::ListPrice;
pub use provenance::Provenance;
pub use search::Finder;
pub use speeds::speed;

/// The other names of each row, beside its id.
type Aliases = &'static [(&'static str, &'static [&'static str])];

/// The other names of the row with that id.
fn aliases_of(rows: Aliases, id: &str) -> &'static [&'static str] {
    rows.iter().find(|(row, _)| *row == id).map_or(&[], |(_, aliases)| aliases)
}

/// The id of the row with that name, which is its id or another of its names; case and surrounding
/// blanks do not count.
fn id_of(rows: Aliases, wanted: &str) -> Option<&'static str> {
    let is_wanted = |name: &str| name.eq_ignore_ascii_case(wanted.trim());
    rows.iter()
        .find(|(id, aliases)| is_wanted(id) || aliases.iter().any(|alias| is_wanted(alias)))
        .map(|(id, _)| *id)
}
