//! Inputs, built from the field table alone: label, unit, help, range, error with a way out.

pub mod frame;
mod input;
pub mod picker;
pub(super) mod rows;
mod step;

pub use step::stepped;
