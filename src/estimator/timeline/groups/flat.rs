//! Flat parameters: PyTorch's FSDP1 (`torch/distributed/fsdp/_flat_param.py` and
//! `_runtime_utils.py`, 2.15).

use super::{GATHERING, GRADIENT_REDUCTION, Groups, REDUCING};
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::estimator::timeline::plan::{Movement, Share};
use crate::ops::tape::{Kind, Var};

/// The stream on which a rank's part is cast (`_pre_unshard_stream`).
const CASTING: u8 = 3;

impl<'t> Groups<'t> {
    /// Gathers a flat parameter, which its weights are views of (`_unshard`). The cast part goes
    /// once it is gathered.
    pub(super) fn gather_flat(&self, tag: u16) {
        let part = (self.compute != self.kept).then(|| {
            self.take(
                "part in the format of products",
                GATHERED_WEIGHTS,
                (Share::Kept(tag), self.compute, CASTING),
            )
        });
        let flat = self.take(
            "flat weights",
            GATHERED_WEIGHTS,
            (Share::Padded(tag), self.compute, GATHERING),
        );
        drop(part);
        self.alive.borrow_mut().weights.push((tag, flat));
    }

    /// The flat gradient of a unit that was added up unreduced, taken from where it is kept.
    fn added_up(&self, tag: u16) -> Option<Var<'t>> {
        let mut alive = self.alive.borrow_mut();
        alive
            .added_up
            .iter()
            .position(|(held, _)| *held == tag)
            .map(|at| alive.added_up.swap_remove(at).1)
    }

    /// A unit has a flat gradient that was added up unreduced.
    pub(super) fn add_up_flat(&self, tag: u16) {
        self.tape.at("Gradients", self.source);
        let whole = self.lump(
            "gradients added up",
            (Kind::Gradient, Share::LearnedPadded(tag), self.compute),
            0,
        );
        self.alive.borrow_mut().added_up.push((tag, whole));
    }

    /// Joins the gradients of the views, lets the flat parameter go, and reduces
    /// (`_post_backward_hook`).
    ///
    /// The views come from one `split`, whose backward makes one tensor of their gradients. It is
    /// cast where the reduction has another format; the sum of a rank's part is cast back to the
    /// format of the part, and added to what is there.
    pub(super) fn reduce_flat(&self, tag: u16) {
        let joined = self.take(
            "flat gradient",
            GRADIENT_REDUCTION,
            (Share::LearnedPadded(tag), self.compute, 0),
        );
        self.release_gradients(tag);
        let reshards = matches!(self.movement, Movement::Weights { reshard: true, .. });
        if reshards || self.reduces.get() {
            self.release(tag);
        }
        let joined = match self.added_up(tag) {
            Some(before) => {
                drop(joined);
                before
            }
            None => joined,
        };
        if !self.reduces.get() {
            return self.alive.borrow_mut().added_up.push((tag, joined));
        }
        let cast = (self.reduce != self.compute).then(|| {
            self.take(
                "flat gradient to be reduced",
                GRADIENT_REDUCTION,
                (Share::LearnedPadded(tag), self.reduce, REDUCING),
            )
        });
        let exists = self.has_share(tag);
        let is_kept = self.reduce == self.gradient && !exists && !self.away;
        let reduced = (!is_kept).then(|| {
            self.take(
                "reduced gradients",
                GRADIENT_REDUCTION,
                (Share::LearnedKept(tag), self.reduce, REDUCING),
            )
        });
        if !exists {
            self.keep_share(tag);
        } else if self.reduce != self.gradient {
            let added = self.take(
                "reduced gradients cast",
                GRADIENT_REDUCTION,
                (Share::LearnedKept(tag), self.gradient, REDUCING),
            );
            drop((reduced, added));
            return drop((cast, joined));
        }
        drop((reduced, cast, joined));
    }
}
