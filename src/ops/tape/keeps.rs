//! A checkpointed block keeps its input, and, where products are kept, some of its results.

use std::collections::VecDeque;
use std::rc::Rc;

use super::backward::Again;
use super::state::{NONE, State, at};
use super::{Form, Order, Tape, Var};
use crate::sources;
use crate::units::DType;

/// A checkpointed part, and how its saved tensors are made again.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The inputs, which are all that is kept of it.
    pub inputs: Vec<u32>,
    /// How to run a part that is smaller than a block again, and its inputs: shape, format, order
    /// in memory, and whether a gradient is wanted. A block is run by the model.
    pub part: Option<Part>,
    pub first: u32,
    pub last: u32,
    /// How many tensors its nodes save.
    pub saves: u32,
    /// Nodes that still hold the frame.
    pub holders: u32,
    pub recomputed: bool,
    /// True if the frame before it runs again first.
    pub follows: bool,
    /// True if a gradient of the input is wanted.
    pub wanted: bool,
    /// Results that are kept all the same, in the order in which they were made; running again
    /// finds them there.
    pub kept: VecDeque<u32>,
    /// In a compiled graph, how many tensors were saved before each of these was made.
    pub kept_behind: VecDeque<u32>,
}

/// A checkpointed part of a block.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub again: Rc<dyn Again>,
    pub inputs: Vec<(Form, DType, Order, bool)>,
    /// Which parameters its modules mean.
    pub copies: (u32, u32, u32),
}

/// Results of a checkpointed block that are kept all the same: those of attention's kernels, and of
/// every second product from the first on.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepsProducts {
    /// Products of the block so far.
    pub products: u64,
    /// The frame that runs again; none in forward.
    pub again: Option<u32>,
}

impl Tape {
    /// As [`Self::checkpoint`], but the results of attention's kernel are kept, and every second
    /// product from the first on.
    pub fn checkpoint_but_products<'t, T>(
        &'t self,
        input: &Var<'t>,
        beside: &[Var<'t>],
        block: impl FnOnce(&'t Self, &Var<'t>) -> T,
    ) -> T {
        self.state.borrow_mut().keeps = Some(KeepsProducts { products: 0, again: None });
        let output = self.checkpoint(input, beside, block);
        self.state.borrow_mut().keeps = None;
        output
    }

    /// Sets whether a checkpointed part runs to its end when it runs again, although backward has
    /// all the tensors it needs earlier.
    pub fn recompute_to_the_end(&self, to_the_end: bool) {
        self.state.borrow_mut().to_the_end = to_the_end;
    }
}

impl State {
    /// Saves a tensor for a node's backward.
    pub(super) fn save(&mut self, node: u32, storage: u32) {
        self.save_by(node, storage, Self::keep_if_smaller);
    }

    /// [`Self::save`], by that rule for the tensors that a compiled part keeps.
    pub(super) fn save_by(&mut self, node: u32, storage: u32, keep: impl FnOnce(&mut Self, u32)) {
        if node == NONE || self.stopped {
            return;
        }
        if let Some(recording) = &mut self.recording {
            recording.tensors.push(storage);
            if recording.tensors.len() >= at(recording.wanted) {
                self.stopped = true;
            }
            keep(self, storage);
            self.hold_weakly(storage);
            return;
        }
        let Some(found) = self.nodes.get_mut(at(node)) else { return };
        let slot = usize::from(found.saves);
        found.saves += 1;
        if let Some(frame) = self.frames.get_mut(at(found.frame)) {
            // Under checkpointing only the place is remembered.
            frame.saves += 1;
            if found.saves == 1 {
                frame.holders += 1;
            }
            return;
        }
        if let Some(place) = found.saved.get_mut(slot) {
            *place = storage;
        }
        keep(self, storage);
        self.hold_weakly(storage);
    }

    /// Gives recomputed tensors to the nodes that saved their like.
    pub(super) fn hand_out(&mut self, frame: u32, tensors: &[u32]) {
        let Some((first, last)) =
            self.frames.get(at(frame)).map(|frame| (at(frame.first), at(frame.last)))
        else {
            return;
        };
        let mut tensors = tensors.iter();
        for node in self.nodes.iter_mut().take(last).skip(first).filter(|node| node.frame == frame)
        {
            let slots = usize::from(node.saves);
            for (slot, tensor) in node.saved.iter_mut().take(slots).zip(tensors.by_ref()) {
                *slot = *tensor;
            }
        }
    }

    /// Takes memory for the result of a product with a weight (`counted`) or of attention's kernel,
    /// which a checkpointed block may keep.
    pub fn allocate_kept(
        &mut self,
        name: &'static str,
        (form, dtype): (Form, DType),
        counted: bool,
    ) -> u32 {
        let Some(keeps) = self.keeps.as_mut() else { return self.allocate(name, form, dtype) };
        keeps.products += u64::from(counted);
        let (is_kept, again) = (!counted || keeps.products % 2 == 1, keeps.again);
        if let Some(kept) = again
            .filter(|_| is_kept)
            .and_then(|frame| self.frames.get_mut(at(frame))?.kept.pop_front())
        {
            return kept;
        }
        let made = self.allocate(name, form, dtype);
        if is_kept
            && again.is_none()
            && let Some(frame) = self.open_frame.and_then(|frame| self.frames.get_mut(at(frame)))
        {
            frame.kept.push_back(made);
            if self.compiled {
                frame.kept_behind.push_back(frame.saves);
            }
            self.hold(made);
        }
        made
    }

    /// True if the result of the next product (`counted`) or kernel of attention was kept.
    pub fn finds_kept(&self, counted: bool) -> bool {
        self.keeps.is_some_and(|keeps| {
            keeps.again.is_some() && (!counted || keeps.products.is_multiple_of(2))
        })
    }

    /// Takes memory for a kernel's result; attention's may be kept.
    pub fn allocate_result(
        &mut self,
        (name, form, dtype): (&'static str, Form, DType),
        attends: bool,
    ) -> u32 {
        if attends {
            self.allocate_kept(name, (form, dtype), false)
        } else {
            self.allocate(name, form, dtype)
        }
    }

    /// A hidden state that is all that is kept of the block it goes into.
    pub fn keep_as_input(&mut self, storage: u32) {
        let op = self.op;
        self.at("Block input", sources::PYTORCH_AUTOGRAD);
        let own = std::mem::replace(&mut self.op, op);
        if let Some(storage) = self.storages.get_mut(at(storage)) {
            (storage.op, storage.name) = (own, "block input");
        }
    }
}
