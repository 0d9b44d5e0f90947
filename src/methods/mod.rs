//! (room methods)
