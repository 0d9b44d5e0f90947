//! What of the page also runs natively: its words, and the report of the command line.
pub mod basis;
pub mod formula;
pub mod report;
pub mod side;
pub mod words;
