//! Answers that need more than one estimate: how many accelerators, changes that make a job fit,
//! curves, and inverse questions.
//!
//! Every answer is put together from estimates of changed jobs; nothing here has a formula of its
//! own.

mod allocated;
mod count;
mod curves;
mod division;
mod fixes;
mod growth;
mod inverse;
mod legal;
mod load;
mod packing;
mod replayed;
pub mod search;
mod serving;
mod stairs;

pub use allocated::allocator_fixes;
pub use count::{GpuCount, Runnable, StatedLayout, Tried, gpu_count, smallest_replica, tried};
pub use curves::{
    Axis, Curve, CurvePoint, NamedStair, curve_gpus, curve_gpus_after, curve_seq, curve_seq_after,
};
pub use division::{MemoryDivision, division};
pub use fixes::{Change, Fix, fixes};
pub use growth::{Growth, Known, even_micro_batch, growth};
pub use inverse::{Inverse, admitted, inverse};
pub use load::{LoadPace, UserLoad, UsersAnswer, requests_of_users, shown_load, users_answer};
pub use packing::packing;
pub use replayed::{Replayed, replayed};
pub use serving::{
    BatchPoint, Fleet, Instances, Largest, Limit, More, RequestsPoint, Serving, TriedReplica,
    all_users, at_lengths, curve_batch, curve_requests, fleet_of, more_requests, replicas_tried,
    serving,
};
pub use stairs::{Climb, Stair};
