//! (room catalog)
