//! Forward as serving engines run it, and as Korthikanti et al. 2022 write down what it saves for backward: each layer runs on a tape.
//!
//! A half of a block, and an end of the model, is a stretch of the tape. What it takes for its own use lives until it ends, what it
//! saves lives until backward. Working sets and saved tensors are read off the tape; parameters and products are those of the
//! modules ([`super::record`]). In training a working tensor stands for the gradient of its shape in backward.
//!
//! PyTorch allocates other memory than this in four ways, so working sets are *modelled*:
//! - a half lets go of nothing before it ends, where an engine frees gate and up once they are multiplied;
//! - norms, rotation and residual sums take nothing, since engines run them in place;
//! - queries, keys and values lie side by side and are cut evenly over tensor-parallel ranks, also where these outnumber key heads;
//! - every token of a chunk that goes through experts is copied for each expert of it, also where a kernel gathers rows as it reads.

mod attention;
mod ends;
mod experts;
mod latent;
mod mlp;
mod state;

use std::cell::RefCell;

use super::builder::Lowering;
use super::tape::{Entry, Kind, Tape, Var, When};
use super::tensor::{Dim, Kept, Op, Role, Split, Tensor};
use super::{BlockKind, OpList, kinds};
use crate::config::{Feed, LayerKind};
use crate::sources::Source;
use crate::units::DType;

/// The operations of a whole model, without its parameters and products.
pub(super) fn of(with: &Lowering) -> OpList {
    let tape = Tape::default();
    tape.make_room_for(48);
    let mut parts = Parts { tape: &tape, taken: RefCell::default(), ops: Vec::with_capacity(4) };
    parts.run(with, ends::embedding);
    let kinds = kinds(with.model);
    for (kind, _) in &kinds {
        let model = with.model.of_layers(*kind);
        let with = &Lowering { model: &model, ..*with };
        parts.run(with, |on| attention::first_half(on, *kind));
        parts.run(with, |on| second_half(on, kind.feed));
    }
    parts.run(with, ends::head);
    let mut parts = parts.read().into_iter();
    let mut next = || parts.next().unwrap_or_default();
    let embedding = next();
    let block = |(of, layers): (LayerKind, u64)| {
        let mut ops = next();
        let first_half = ops.len();
        ops.extend(next());
        BlockKind { of, layers, ops, first_half }
    };
    OpList { embedding, kinds: kinds.into_iter().map(block).collect(), head: next() }
}

/// From the first residual sum to the block's output.
fn second_half(on: &Forward<'_, '_>, feed: Feed) {
    match (feed, &on.with.model.moe) {
        (Feed::None, _) => {}
        (Feed::Experts, Some(moe)) => experts::run(on, moe),
        (Feed::Dense, _) | (Feed::Experts, None) => mlp::run(on),
    }
}

/// Parts of the model, one after the other on one tape, each a stretch of its own.
struct Parts<'t> {
    tape: &'t Tape,
    taken: RefCell<Taken<'t>>,
    /// The operations of every part that has run.
    ops: Vec<Vec<Op>>,
}

/// Operations and tensors of the part that runs.
#[derive(Default)]
struct Taken<'t> {
    /// Operations in the order in which they began.
    ops: Vec<Op>,
    /// How ranks share each storage, and what brings it back, from the first part on.
    places: Vec<(Split, Kept)>,
    /// Tensors that live until the part ends.
    working: Vec<Var<'t>>,
    /// Tensors that live until backward, from the first part on.
    saved: Vec<Var<'t>>,
}

impl<'t> Parts<'t> {
    fn run(&mut self, with: &Lowering, part: impl FnOnce(&Forward<'_, 't>)) {
        self.tape.begin(When::Forward, u16::try_from(self.ops.len()).unwrap_or(u16::MAX), Kind::Activation);
        part(&Forward { tape: self.tape, with, taken: &self.taken });
        let taken = self.taken.get_mut();
        taken.working.clear();
        self.ops.push(std::mem::take(&mut taken.ops));
    }

    /// The operations of each part; an operation has the tensors that it saves, and of the rest those that are alive when its part holds
    /// most.
    fn read(mut self) -> Vec<Vec<Op>> {
        self.tape.close();
        let state = self.tape.state();
        // When each storage is taken and freed.
        let mut lives = vec![(usize::MAX, usize::MAX); state.storages.len()];
        for (at, entry) in state.log.iter().enumerate() {
            let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
            let Some((taken, freed)) = usize::try_from(*id).ok().and_then(|id| lives.get_mut(id)) else { continue };
            *(if matches!(entry, Entry::Taken(_)) { taken } else { freed }) = at;
        }
        let places = std::mem::take(&mut self.taken.get_mut().places);
        for ((storage, (taken, freed)), (split, kept)) in state.storages.iter().zip(lives).zip(places) {
            let part = usize::from(storage.layer);
            let peak = state.segments.get(part).map_or(0, |segment| segment.event);
            let role = match (freed, taken < peak && peak <= freed) {
                (usize::MAX, _) => Role::Saved,
                (_, true) => Role::Workspace,
                (_, false) => continue,
            };
            let name = state.op_name(storage.op).0;
            if let Some(op) = self.ops.get_mut(part).and_then(|ops| ops.iter_mut().find(|op| op.name == name)) {
                let (shape, dtype) = (state.shape(storage.form), storage.dtype);
                op.tensors.push(Tensor { name: storage.name, role, shape, dtype, split, kept });
            }
        }
        drop(state);
        self.ops
    }
}

/// Where the layers of a part run.
struct Forward<'a, 't> {
    tape: &'t Tape,
    with: &'a Lowering<'a>,
    taken: &'a RefCell<Taken<'t>>,
}

impl Forward<'_, '_> {
    /// Begins an operation; what follows belongs to it.
    fn at(&self, name: &'static str, source: Source) {
        self.tape.at(name, source);
        let op = Op { name, source, ..Op::NONE };
        self.taken.borrow_mut().ops.push(op);
    }

    /// Takes a tensor that lives until this part of the model ends.
    fn takes<const N: usize>(&self, name: &'static str, dims: [Dim; N], split: Split, dtype: DType) {
        let tensor = self.tape.constant(name, self.tape.form(dims), dtype);
        let mut taken = self.taken.borrow_mut();
        taken.places.push((split, Kept::Always));
        taken.working.push(tensor);
    }

    /// Saves a tensor in that format for backward, if one follows.
    fn saves_as<const N: usize>(&self, name: &'static str, dims: [Dim; N], place: (Split, Kept), dtype: DType) {
        if self.with.training {
            let tensor = self.tape.constant(name, self.tape.form(dims), dtype);
            let mut taken = self.taken.borrow_mut();
            taken.places.push(place);
            taken.saved.push(tensor);
        }
    }

    /// Saves an activation for backward, if one follows.
    fn saves<const N: usize>(&self, name: &'static str, dims: [Dim; N], place: (Split, Kept)) {
        self.saves_as(name, dims, place, self.with.activation);
    }

    /// Saves hidden states, which every tensor rank holds.
    fn saves_hidden(&self, name: &'static str, kept: Kept) {
        self.saves(name, self.hidden(), (Split::Replicated, kept));
    }

    /// Saves one flag for each value of the hidden states.
    fn saves_mask(&self, name: &'static str, kept: Kept) {
        self.saves_as(name, self.hidden(), (Split::Replicated, kept), DType::Mask);
    }

    /// `[seq_length, micro_batch_size, hidden_size]`.
    const fn hidden(&self) -> [Dim; 3] {
        [self.with.s(), self.with.b(), self.with.h()]
    }
}
