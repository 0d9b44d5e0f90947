//! How the machine underneath behaves, apart from any model: the allocator that hands out a GPU's memory.

pub mod allocator;
