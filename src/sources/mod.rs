//! (room sources)
