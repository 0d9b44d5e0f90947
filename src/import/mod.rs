//! (room import)
