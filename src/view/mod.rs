//! Everything that is shown, without a browser: words, what the page knows of a scenario, and its
//! HTML by subject.
//!
//! The page, the worker, the command line and the files to take along write with the same
//! functions. `panels` and `fields` write what is known as finished HTML; `diff` finds what differs
//! between two texts of a part, so that the page changes nothing else.

pub mod action;
pub mod answers;
pub mod anything;
pub mod basis;
pub mod compared;
pub mod curve_view;
pub mod device;
pub mod diff;
pub mod explaining;
pub mod export;
pub mod fields;
pub mod first_picture;
pub mod following;
pub mod formula;
pub mod headline;
pub mod history;
pub mod later;
pub mod launching;
pub mod markup;
pub mod modules;
pub mod panels;
pub mod parts;
pub mod presenter;
pub mod replay;
pub mod report;
pub mod seen;
pub mod serving;
pub mod side;
pub mod slot;
pub mod timing;
pub mod ui;
pub mod what_fits;
pub mod words;
