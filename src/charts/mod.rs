//! (room charts)
