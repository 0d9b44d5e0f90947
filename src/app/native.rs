//! What of the page also runs natively: its words, and the report of the command line.
pub mod report;
pub mod words;
