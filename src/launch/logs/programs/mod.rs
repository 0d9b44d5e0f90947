//! Programs whose lines are read, one file each: a table of lines, and nothing else.

use super::LogSpec;

members::of_folder!("src/launch/logs/programs", LOG: LogSpec);

/// Programs whose lines are read, in the order of lists.
pub const SPECS: [&LogSpec; MEMBERS.len()] = in_order_of_place!(MEMBERS);
