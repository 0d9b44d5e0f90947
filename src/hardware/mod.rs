//! How the machine underneath behaves, apart from any model: the allocator that hands out a GPU's
//! memory, and what kernels take.

pub mod allocator;
pub mod kernels;
