//! Known models and accelerators: data files with a source for every row.
//!
//! Rows are starting points. A scenario copies one and changes any field; nothing here limits what can be typed by hand.
//! The build script writes the two data files as tables, values and provenance apart; a row that cannot be read stops the build. A
//! model's shape is the file `configs/<id>.json`, read as a pasted one is, so that it is described once; the few models without such a
//! file have their shape in their row. Families stand together, those that people look for first, examples of documents last.

mod accelerators;
mod models;
mod provenance;
mod search;
mod speeds;

pub use accelerators::{AcceleratorRow, MemoryBasis, accelerator, accelerators};
pub use models::{ModelRow, model, models};
pub use provenance::Provenance;
pub use search::Finder;
pub use speeds::speed;

/// Whether `wanted` is this row's id or one of its other names; case and surrounding blanks do not count.
fn answers_to(id: &str, aliases: &[&str], wanted: &str) -> bool {
    let wanted = wanted.trim();
    id.eq_ignore_ascii_case(wanted) || aliases.iter().any(|alias| alias.eq_ignore_ascii_case(wanted))
}
