//! Gradients of groups: reduced group by group, and the shares of them that a rank keeps.

use super::{GRADIENT_REDUCTION, Groups, REDUCING};
use crate::estimator::timeline::plan::{Movement, Share};
use crate::ops::modules::BESIDE;
use crate::ops::tape::{Kind, When};
use crate::sharding::{Buckets, GatheredInto};
use crate::sources;

impl Groups<'_> {
    pub(super) fn reduce_layer(&self, layer: u16, last: bool) {
        if self.is_behind(layer) {
            return;
        }
        let tag = self.tag(layer);
        if tag != 0 && layer > BESIDE && self.learns_nothing(tag) {
            self.release(tag);
        } else if tag != 0 {
            self.reduce(tag);
        }
        if last {
            self.reduce(0);
            // Where backward never enters a group that was gathered ahead, its buffer is freed with
            // the root's.
            let before = {
                let mut alive = self.alive.borrow_mut();
                (alive.reduced.take(), alive.gathered.take())
            };
            drop(before);
        }
    }

    /// All micro-batches of a stage are through: group by group, the last first, weights are given
    /// back and gradients reduced (`finalize_backward`).
    pub fn finalize(&self) {
        self.reduces.set(true);
        for tag in (0..self.end_of_tags()).rev() {
            self.tape.begin(When::Reduction, tag, Kind::Temporary);
            self.reduce(tag);
        }
        let before = self.alive.borrow_mut().reduced.take();
        drop(before);
        self.reduces.set(false);
    }

    /// True if no gradient comes to a group.
    fn learns_nothing(&self, tag: u16) -> bool {
        self.sizes.get(usize::from(tag)).is_none_or(|size| size.learned[0] == 0)
    }

    fn reduce(&self, tag: u16) {
        if self.into() == Some(GatheredInto::FlatTensor) {
            return self.reduce_flat(tag);
        }
        if !self.in_stages || self.reduces.get() {
            self.release(tag);
        }
        if !self.reduces.get() {
            return self.tape.add_up_gradients(|layer| self.tag(layer) == tag, self.reduce);
        }
        let before = self.alive.borrow_mut().reduced.take();
        drop(before);
        let has_been = tag == self.of_head() && self.head_is_reduced.take();
        let buffers = self.into() == Some(GatheredInto::BufferAndTensors);
        if buffers && !has_been {
            self.join(tag);
        }
        self.release_gradients(tag);
        if !has_been {
            self.scatter(tag, buffers);
        }
    }

    /// Takes the buffer in which a group's gradients are joined.
    pub(super) fn join(&self, tag: u16) {
        let joined = self.take(
            "reduce-scatter buffer",
            GRADIENT_REDUCTION,
            (Share::LearnedPadded(tag), self.reduce, 0),
        );
        self.alive.borrow_mut().reduced = Some(joined);
    }

    /// Reduces joined gradients to the share that a rank keeps.
    pub(super) fn scatter(&self, tag: u16, buffers: bool) {
        let exists = self.has_share(tag);
        // Reduced gradients are the share itself, unless they are cast into it or added to it.
        let reduced =
            (buffers && (self.reduce != self.gradient || exists || self.away)).then(|| {
                self.take(
                    "reduced gradients",
                    GRADIENT_REDUCTION,
                    (Share::LearnedKept(tag), self.reduce, REDUCING),
                )
            });
        if !exists {
            self.keep_share(tag);
        }
        drop(reduced);
    }

    /// Lets go of the gradients that a group's parameters were given.
    pub(super) fn release_gradients(&self, tag: u16) {
        self.tape.release_gradients(|layer| self.tag(layer) == tag);
    }

    /// True if a share of the group's gradients exists from an earlier micro-batch.
    pub(super) fn has_share(&self, tag: u16) -> bool {
        self.alive.borrow().shares.iter().any(|(held, _)| *held == tag)
    }

    pub(super) fn keep_share(&self, tag: u16) {
        if self.away {
            return;
        }
        self.tape.at("Gradients", self.source);
        let share = self.lump(
            "share of the gradients",
            (Kind::Gradient, Share::LearnedKept(tag), self.gradient),
            REDUCING,
        );
        self.alive.borrow_mut().shares.push((tag, share));
        if tag == 0 && self.movement == Movement::Gradients {
            self.tape.at(GRADIENT_REDUCTION, sources::DEEPSPEED);
            let cut = self.lump(
                "rest of the parameter that the share ends in",
                (Kind::Gathered, Share::Cut, self.gradient),
                REDUCING,
            );
            self.alive.borrow_mut().shares.push((tag, cut));
        }
    }

    /// Sets whether micro-batches from now on reduce gradients, or add them up unreduced
    /// (`no_sync`, `set_requires_gradient_sync`).
    pub fn reduces(&self, reduces: bool) {
        self.reduces.set(reduces);
        if let Some(bucket) = &self.bucket {
            bucket.reduces(reduces);
        }
    }

    /// Gradients exist from the micro-batch before: shares of them, or whole ones that add up
    /// unreduced.
    pub fn gradients_exist(&self, whole: bool) {
        if whole && self.into() == Some(GatheredInto::FlatTensor) {
            return (0..self.end_of_tags()).for_each(|tag| self.add_up_flat(tag));
        }
        if whole {
            return self.tape.added_up_gradients_exist(self.reduce);
        }
        for tag in 0..self.end_of_tags() {
            self.tape.set_layer(tag);
            self.keep_share(tag);
        }
    }

    /// Places of gradients that stand for good, as under `ZeRO`, exist before a step.
    pub fn places_stand(&self) {
        if self.shares_stand() {
            self.tape.at("Gradients", sources::PYTORCH_AUTOGRAD);
            self.gradients_exist(false);
        }
    }

    /// One more than the highest tag of a group.
    fn end_of_tags(&self) -> u16 {
        if self.is_one { 1 } else { self.head.saturating_add(u16::from(self.apart)) }
    }

    /// Lets go of the shares of gradients, as `zero_grad(set_to_none=True)` does, unless they have
    /// a place of their own.
    pub fn zero_gradients(&self) {
        if let Some(bucket) = &self.bucket {
            bucket.let_go();
        }
        if self.shares_stand() {
            return;
        }
        let before = std::mem::take(&mut self.alive.borrow_mut().shares);
        drop(before);
    }

    /// True if shares of gradients have memory of their own from the start (stage 3's
    /// `grad_partitions_flat_buffer`).
    pub fn shares_stand(&self) -> bool {
        self.buckets.0 == Buckets::Lasting && !self.coordinated
    }

    /// True if each rank keeps only its share of the gradients.
    pub fn shares_gradients(&self) -> bool {
        self.movement != Movement::Still
    }
}
