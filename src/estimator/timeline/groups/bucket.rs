//! How DeepSpeed's stages 1 and 2 reduce gradients, tensor by tensor
//! (`deepspeed/runtime/zero/stage_1_and_2.py`, 0.19).
//!
//! The first gradient of a backward takes the bucket (`setup_buckets`). Stage 2 copies each
//! gradient into it as it comes, stage 1 does so when backward is through, in the order of the
//! parameters; with `overlap_comm` stage 1 reduces as stage 2 does. A full bucket is cut by the
//! ranks that own its parts, and where there are several the parts are joined once more for the
//! all-reduce (`allreduce_bucket`). What the rank owns is copied into a tensor of its own, as whole
//! parameters (`copy_grads_in_partition`).

use std::cell::{Cell, RefCell};

use super::{GRADIENT_REDUCTION, REDUCING, REDUCTION_BUCKET};
use crate::estimator::timeline::plan::{Movement, Plan};
use crate::ops::tape::{Kind, Param, Parameter, Tape, Var};
use crate::sharding::Buckets;
use crate::sources;
use crate::units::DType;

/// The place of a parameter in the long vector that ranks share out.
#[derive(Clone, Copy, Debug)]
struct Place {
    param: Param,
    begins: u64,
    elements: u64,
    /// Elements that the rank keeps of it, where each parameter is cut by itself.
    kept: u64,
}

/// The bucket of a rank, and the gradients that it keeps.
#[derive(Debug)]
pub(in crate::estimator::timeline) struct Bucket<'t> {
    tape: &'t Tape,
    /// Elements that fit.
    size: u64,
    /// Format in which gradients are reduced, and format of those that the rank keeps.
    formats: [DType; 2],
    /// True if the rank's bucket and gradients have memory of their own from the start, and each
    /// parameter is cut by itself (stage 3).
    stands: bool,
    /// True if the parts of other ranks are freed.
    shares_gradients: bool,
    overlaps: bool,
    contiguous: bool,
    joins: bool,
    /// True if gradients add up in a format of their own, in one tensor of the rank's part
    /// (`_use_compact_grad_partition_buffer`).
    is_compact: bool,
    ranks: u64,
    /// Elements of a rank's part.
    part: u64,
    /// Where this rank's part begins.
    begins: u64,
    places: Vec<Place>,
    reduces: Cell<bool>,
    filling: RefCell<Filling<'t>>,
}

/// A bucket that is being filled.
#[derive(Debug, Default)]
struct Filling<'t> {
    buffers: Vec<Var<'t>>,
    waiting: Vec<Place>,
    elements: u64,
    /// The rank's own gradients of this backward.
    own: Option<Var<'t>>,
    /// The rank's own gradients of earlier backwards, which the step takes.
    kept: Vec<Var<'t>>,
}

impl<'t> Bucket<'t> {
    /// The bucket of a training of which every tensor is played; `None` where no library's bucket
    /// is filled so.
    pub fn of(tape: &'t Tape, plan: &Plan<'_>) -> Option<Self> {
        let (buckets, size, _) = plan.buckets;
        if !plan.singly || !(buckets == Buckets::WhileReducing || plan.is_coordinated()) {
            return None;
        }
        let stands = plan.is_coordinated();
        let shares_gradients = stands || plan.movement == Movement::Gradients;
        let learned = plan
            .with
            .tuning
            .adapter_dtype
            .filter(|_| plan.with.tuning.freezes_model())
            .unwrap_or(plan.with.parameter);
        // Stage 3's bucket has the format of communication, whatever adapters are in
        // (`communication_data_type`).
        let reduced = if stands {
            plan.with.parameter
        } else if shares_gradients {
            learned
        } else {
            plan.recipe.gradient
        };
        let places = places(tape);
        let all = places.last().map_or(0, |last| last.begins + last.elements);
        let part = part(all, plan.ranks);
        let rank = plan.rank.unwrap_or_else(|| fullest(&places, part, plan.ranks));
        Some(Self {
            tape,
            size,
            formats: [reduced, plan.recipe.gradient],
            stands,
            shares_gradients,
            overlaps: plan.library.overlap_comm.holds(plan.sharding.zero_stage),
            contiguous: plan.library.contiguous_gradients,
            joins: plan.library.reduce_scatter,
            is_compact: plan.recipe.gradient == DType::Fp32 && learned != DType::Fp32,
            ranks: plan.ranks.max(1),
            part,
            begins: rank.saturating_mul(part),
            places,
            reduces: Cell::new(true),
            filling: RefCell::default(),
        })
    }

    /// Sets whether micro-batches from now on reduce gradients.
    pub fn reduces(&self, reduces: bool) {
        self.reduces.set(reduces);
    }

    /// True if gradients of a step's micro-batches add up whole, and are reduced with those of the
    /// last micro-batch.
    pub const fn reduces_once(&self) -> bool {
        !self.shares_gradients
    }

    /// True if the rank's gradients are one tensor in the format of master weights.
    pub const fn is_compact(&self) -> bool {
        self.is_compact
    }

    /// Elements of the pieces of the rank's part, a piece for each parameter.
    pub fn pieces(&self) -> impl Iterator<Item = u64> {
        let piece = |place: &Place| {
            let end = (place.begins + place.elements).min(self.begins + self.part);
            if self.stands { place.kept } else { end - place.begins.max(self.begins) }
        };
        self.places.iter().filter(|place| self.is_own(place)).map(piece)
    }

    const fn is_own(&self, place: &Place) -> bool {
        let ends = place.begins + place.elements;
        self.stands || (place.begins < self.begins + self.part && ends > self.begins)
    }

    /// The gradient of a parameter has come.
    pub fn arrives(&self, param: Param) {
        self.set_up();
        let Some(place) = self.places.iter().find(|place| place.param == param) else { return };
        if self.reduces.get() && (self.shares_gradients || self.overlaps) {
            self.put(*place);
        }
    }

    fn set_up(&self) {
        if self.stands || !self.contiguous || !self.filling.borrow().buffers.is_empty() {
            return;
        }
        self.tape.at(REDUCTION_BUCKET, sources::DEEPSPEED);
        let buffer = || self.tape.lump("flat buffer", (Kind::Gathered, self.size, self.formats[0]));
        let buffers = (0..=u8::from(self.overlaps)).map(|_| buffer()).collect();
        self.filling.borrow_mut().buffers = buffers;
    }

    /// Copies a gradient into the bucket, which is reduced first if there is no room.
    fn put(&self, place: Place) {
        if self.filling.borrow().elements + place.elements > self.size {
            self.send();
        }
        if self.contiguous && place.elements <= self.size {
            self.tape.release_gradient(place.param);
        }
        let mut filling = self.filling.borrow_mut();
        filling.waiting.push(place);
        filling.elements += place.elements;
    }

    /// Reduces the gradients in the bucket (`reduce_ipg_grads`).
    fn send(&self) {
        let waiting = {
            let mut filling = self.filling.borrow_mut();
            filling.elements = 0;
            std::mem::take(&mut filling.waiting)
        };
        let before = self.tape.on_stream(if self.overlaps { REDUCING } else { 0 });
        self.tape.at(GRADIENT_REDUCTION, sources::DEEPSPEED);
        if !self.stands && self.is_compact && waiting.iter().any(|place| self.is_own(place)) {
            self.keep_part();
        }
        for elements in self.joined(&waiting) {
            drop(
                self.tape.lump(
                    "parts of the bucket, joined",
                    (Kind::Gathered, elements, self.formats[0]),
                ),
            );
        }
        for place in waiting {
            self.settle(place);
        }
        self.tape.on_stream(before);
    }

    /// Elements of the parts that are joined for one message each.
    fn joined(&self, waiting: &[Place]) -> Vec<u64> {
        if self.stands {
            let all = waiting.iter().map(|place| place.kept.saturating_mul(self.ranks)).sum();
            // One gradient that can be cut evenly is reduced where it is
            // (`reduce_scatter_coalesced`).
            let is_one = waiting.len() == 1
                && waiting.iter().all(|place| place.elements.is_multiple_of(self.ranks));
            return if waiting.is_empty() || is_one || !self.joins {
                Vec::new()
            } else {
                vec![all]
            };
        }
        if !self.contiguous {
            let all = waiting.iter().map(|place| place.elements).sum();
            return if waiting.len() > 1 { vec![all] } else { Vec::new() };
        }
        if !self.joins {
            return Vec::new();
        }
        let (mut messages, mut parts, mut elements) = (Vec::new(), 0_u64, 0_u64);
        let mut close = |parts: &mut u64, elements: &mut u64| {
            if *parts > 1 {
                messages.push(*elements);
            }
            (*parts, *elements) = (0, 0);
        };
        for slice in self.slices(waiting) {
            parts += 1;
            elements += slice;
            if elements > self.size {
                close(&mut parts, &mut elements);
            }
        }
        close(&mut parts, &mut elements);
        messages
    }

    /// Elements of what is in the bucket, cut by the ranks that own it; what follows on each other
    /// for one rank is one piece.
    fn slices(&self, waiting: &[Place]) -> Vec<u64> {
        let mut slices: Vec<(u64, u64)> = Vec::new();
        for place in waiting {
            let (mut from, end) = (place.begins, place.begins + place.elements);
            while from < end {
                let rank = from / self.part.max(1);
                let until = end.min((rank + 1).saturating_mul(self.part.max(1)));
                match slices
                    .last_mut()
                    .filter(|(owner, _)| *owner == rank && !(self.is_compact && rank == 0))
                {
                    Some((_, elements)) => *elements += until - from,
                    None => slices.push((rank, until - from)),
                }
                from = until;
            }
        }
        slices.into_iter().map(|(_, elements)| elements).collect()
    }

    /// Frees or keeps a gradient that was reduced: the rank's own part is kept, in one tensor where
    /// that is contiguous.
    fn settle(&self, place: Place) {
        let is_own = self.is_own(&place) && !self.stands;
        if self.shares_gradients && !is_own {
            self.tape.release_gradient(place.param);
        }
        if !self.contiguous || !is_own || self.is_compact {
            return;
        }
        if self.filling.borrow().own.is_none() {
            let all = self
                .places
                .iter()
                .filter(|place| self.is_own(place))
                .map(|place| place.elements)
                .sum();
            self.keep("own gradients, as whole parameters", all);
        }
        self.tape.release_gradient(place.param);
    }

    /// Takes the tensor of the rank's part in which gradients add up.
    fn keep_part(&self) {
        let mut filling = self.filling.borrow_mut();
        filling.own = filling.kept.pop();
        drop(filling);
        if self.filling.borrow().own.is_none() {
            self.keep("own gradients", self.part);
        }
    }

    fn keep(&self, name: &'static str, elements: u64) {
        let own = self.tape.lump(name, (Kind::Gradient, elements, self.formats[1]));
        self.filling.borrow_mut().own = Some(own);
    }

    /// Backward has ended (`independent_gradient_partition_epilogue`).
    pub fn ends(&self) {
        if !self.reduces.get() && !self.shares_gradients {
            return;
        }
        if !self.shares_gradients && !self.overlaps {
            for place in &self.places {
                self.put(*place);
            }
        }
        self.send();
        if !self.contiguous && !self.is_compact && !self.stands {
            let has_kept = !self.filling.borrow().kept.is_empty();
            for place in self.places.iter().filter(|place| self.is_own(place)) {
                let gradient = self.tape.take_gradient(place.param).filter(|_| !has_kept);
                self.filling.borrow_mut().kept.extend(gradient);
            }
        }
        for place in &self.places {
            self.tape.release_gradient(place.param);
        }
        let mut filling = self.filling.borrow_mut();
        let (buffers, own) = (std::mem::take(&mut filling.buffers), filling.own.take());
        // Gradients of a further backward are added to those of the first and freed.
        let added = if filling.kept.is_empty() {
            filling.kept.extend(own);
            None
        } else {
            own
        };
        drop(filling);
        drop((buffers, added));
    }

    /// The step has taken the gradients.
    pub fn let_go(&self) {
        let kept = std::mem::take(&mut self.filling.borrow_mut().kept);
        drop(kept);
    }
}

/// The parameters that learn, in the order of the long vector.
fn places(tape: &Tape) -> Vec<Place> {
    let mut begins = 0;
    let state = tape.state();
    let learned = state.parameters.iter().zip(0..).filter(|(parameter, _)| !parameter.idle);
    let place = |(parameter, param): (&Parameter, Param)| {
        let elements = state.elements(parameter.form);
        let place = Place { param, begins, elements, kept: parameter.kept };
        begins += elements;
        place
    };
    learned.map(place).collect()
}

/// The rank whose part touches the largest parameters, all of whose gradients it keeps.
fn fullest(places: &[Place], part: u64, ranks: u64) -> u64 {
    let part = part.max(1);
    let mut kept = vec![0_u64; usize::try_from(ranks).unwrap_or(1).max(1)];
    for place in places.iter().filter(|place| place.elements > 0) {
        let last = (place.begins + place.elements - 1) / part;
        for rank in place.begins / part..=last {
            if let Some(kept) = usize::try_from(rank).ok().and_then(|rank| kept.get_mut(rank)) {
                *kept += place.elements;
            }
        }
    }
    let most = kept.iter().max();
    kept.iter().zip(0..).find(|(kept, _)| Some(*kept) == most).map_or(0, |(_, rank)| rank)
}

/// Elements of a rank's part of a vector of so many: all parts are even, so that they begin at four
/// bytes (`nccl_start_alignment_factor`).
pub(in crate::estimator::timeline) fn part(all: u64, ranks: u64) -> u64 {
    let ranks = ranks.max(1);
    all.div_ceil(2 * ranks).saturating_mul(2)
}
