//! (room scenario)
