//! Weights of a group gathered into the memory that they are used from, and given back.

use super::{GATHERING, Groups};
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::estimator::timeline::plan::{Holding, Share};
use crate::ops::tape::{Kind, Var};
use crate::sharding::GatheredInto;
use crate::units::DType;

impl<'t> Groups<'t> {
    pub(super) fn take(
        &self,
        name: &'static str,
        op: &'static str,
        (share, dtype, stream): (Share, DType, u8),
    ) -> Var<'t> {
        self.tape.at(op, self.source);
        self.lump(name, (Kind::Gathered, share, dtype), stream)
    }

    pub(super) fn lump(
        &self,
        name: &'static str,
        (kind, share, dtype): (Kind, Share, DType),
        stream: u8,
    ) -> Var<'t> {
        let size = |tag: u16| self.sizes.get(usize::from(tag)).copied().unwrap_or_default();
        let elements = match share {
            Share::Kept(tag) => size(tag).kept,
            Share::Padded(tag) => size(tag).padded,
            Share::LearnedKept(tag) => size(tag).learned[0],
            Share::LearnedPadded(tag) => size(tag).learned[1],
            Share::Cut => self.cut,
            Share::States(_) | Share::Temporaries(_) | Share::Upcast => 0,
        };
        let before = self.tape.on_stream(stream);
        let lump = self.tape.lump(name, (kind, elements, dtype));
        self.tape.on_stream(before);
        self.shares.borrow_mut().push((lump.parts().0, share));
        lump
    }

    /// Gathers a group, as far as that happens before its weights are used.
    pub(super) fn gather(&self, tag: u16) {
        match self.into() {
            Some(GatheredInto::BufferAndTensors) => self.gather_into_buffer(tag),
            Some(GatheredInto::FlatTensor) => self.gather_flat(tag),
            Some(GatheredInto::Tensors) | None => {}
        }
    }

    /// Gathers a group into its buffer.
    fn gather_into_buffer(&self, tag: u16) {
        self.gather_on(tag, GATHERING);
    }

    /// Shares are cast side by side first; those that need no cast are copied to their place in the
    /// buffer (`_get_param_all_gather_inputs` in `_fsdp_collectives.py`).
    pub(super) fn gather_on(&self, tag: u16, stream: u8) {
        let shares = (self.kept != self.compute).then(|| {
            self.take(
                "shares side by side",
                GATHERED_WEIGHTS,
                (Share::Kept(tag), self.compute, stream),
            )
        });
        let buffer = self.take(
            "all-gather buffer",
            GATHERED_WEIGHTS,
            (Share::Padded(tag), self.compute, stream),
        );
        drop(shares);
        let before = self.alive.borrow_mut().gathered.replace((tag, buffer));
        drop(before);
    }

    /// Copies a gathered group out into its weights, unless they are views of what was gathered.
    pub(super) fn copy_out(&self, tag: u16) {
        if self.into() == Some(GatheredInto::FlatTensor) {
            return;
        }
        let weights = match self.holding(tag) {
            Holding::Nothing => return,
            Holding::Rest(parameters) => {
                self.tape.at(GATHERED_WEIGHTS, self.source);
                self.tape.lump("weights gathered ahead", (Kind::Gathered, parameters, self.compute))
            }
            Holding::InTurn | Holding::Lasting => {
                self.take("full weights", GATHERED_WEIGHTS, (Share::Padded(tag), self.compute, 0))
            }
        };
        self.alive.borrow_mut().weights.push((tag, weights));
    }

    pub(super) fn holding(&self, tag: u16) -> Holding {
        self.holding.get(usize::from(tag)).copied().unwrap_or(Holding::InTurn)
    }

    pub(super) fn holds(&self, tag: u16) -> bool {
        self.alive.borrow().weights.iter().any(|(held, _)| *held == tag)
    }

    pub(super) fn release(&self, tag: u16) {
        let before = {
            let mut alive = self.alive.borrow_mut();
            alive
                .weights
                .iter()
                .position(|(held, _)| *held == tag)
                .map(|at| alive.weights.swap_remove(at))
        };
        drop(before);
    }
}
