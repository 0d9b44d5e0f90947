//! The buckets of `DistributedDataParallel`, one by one (`torch/nn/parallel/distributed.py`,
//! `torch/csrc/distributed/c10d/reducer.cpp`, 2.15).
//!
//! When the model is wrapped, all gradients are in one bucket. Before the second step the reducer
//! knows in which order gradients come, and makes buckets anew in that order. With
//! `find_unused_parameters` the order may change from step to step: the first buckets, in the order
//! of the parameters, stay.

use std::cell::RefCell;

use super::GRADIENT_BUCKETS;
use crate::estimator::timeline::plan::Plan;
use crate::ops::tape::{Kind, Param, Tape, Var};
use crate::sharding::Buckets;
use crate::sources;
use crate::units::DType;

/// Bytes at which the first bucket is full (`kDefaultFirstBucketBytes`).
const FIRST: u64 = 1 << 20;

/// The reducer of a training of which every tensor is played.
#[derive(Debug)]
pub(in crate::estimator::timeline) struct Reducer<'t> {
    tape: &'t Tape,
    /// Bytes at which a bucket is full.
    cap: u64,
    /// True if the first buckets stay for all steps.
    stays: bool,
    /// Parameters in the order in which their gradients come.
    order: RefCell<Vec<Param>>,
    buckets: RefCell<Vec<Var<'t>>>,
}

impl<'t> Reducer<'t> {
    /// The reducer with its first buckets; `None` under other libraries.
    pub fn of(tape: &'t Tape, plan: &Plan<'_>) -> Option<Self> {
        if plan.buckets.0 != Buckets::EveryGradient || !plan.singly {
            return None;
        }
        let reducer = Self {
            tape,
            cap: plan.library.bucket_cap_mb << 20,
            stays: plan.library.find_unused_parameters,
            order: RefCell::default(),
            buckets: RefCell::default(),
        };
        let learned: Vec<Param> = {
            let state = tape.state();
            let learned = state.parameters.iter().zip(0..).filter(|(parameter, _)| !parameter.idle);
            learned.map(|(_, param)| param).collect()
        };
        let mut first = reducer
            .assigned(&learned, if reducer.stays { [FIRST, reducer.cap] } else { [u64::MAX; 2] });
        first.reverse();
        reducer.take(&first);
        Some(reducer)
    }

    /// The gradient of a parameter has come.
    pub fn arrives(&self, param: Param) {
        let mut order = self.order.borrow_mut();
        if !order.contains(&param) {
            order.push(param);
        }
    }

    /// Makes the buckets anew in the order of gradients (`rebuild_buckets`).
    pub fn rebuild(&self) {
        if self.stays {
            return;
        }
        let before = std::mem::take(&mut *self.buckets.borrow_mut());
        drop(before);
        self.take(&self.assigned(&self.order.borrow(), [FIRST, self.cap]));
    }

    /// Bytes and format of each bucket; one that is full takes no more
    /// (`compute_bucket_assignment_by_size`).
    fn assigned(&self, order: &[Param], [first, cap]: [u64; 2]) -> Vec<(u64, DType)> {
        let state = self.tape.state();
        let mut buckets: Vec<(u64, DType)> = Vec::new();
        let mut open: Vec<(u64, DType, u64)> = Vec::new();
        for param in order {
            let found = usize::try_from(*param).ok().and_then(|at| state.parameters.get(at));
            let Some((bytes, dtype)) =
                found.map(|found| (found.kept.saturating_mul(found.dtype.bits()) / 8, found.dtype))
            else {
                continue;
            };
            // Each format fills a bucket of its own.
            let at = open.iter().position(|(_, format, _)| *format == dtype).unwrap_or_else(|| {
                open.push((0, dtype, first));
                open.len() - 1
            });
            if let Some((filled, _, limit)) = open.get_mut(at) {
                *filled = filled.saturating_add(bytes);
                if *filled >= *limit {
                    buckets.push((*filled, dtype));
                    (*filled, *limit) = (0, cap);
                }
            }
        }
        buckets.extend(
            open.into_iter()
                .filter(|(filled, ..)| *filled > 0)
                .map(|(filled, dtype, _)| (filled, dtype)),
        );
        buckets
    }

    fn take(&self, buckets: &[(u64, DType)]) {
        self.tape.at(GRADIENT_BUCKETS, sources::PYTORCH_DDP);
        let bucket = |(bytes, dtype): &(u64, DType)| {
            self.tape.lump(
                "flat bucket",
                (Kind::Gathered, bytes.saturating_mul(8) / dtype.bits().max(1), *dtype),
            )
        };
        *self.buckets.borrow_mut() = buckets.iter().map(bucket).collect();
    }
}
