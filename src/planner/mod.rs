//! (room planner)
