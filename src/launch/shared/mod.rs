//! Tables of flags, and readings of values, that several formats share.

pub mod layers;
pub mod read;
