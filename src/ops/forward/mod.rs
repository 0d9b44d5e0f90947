//! Forward as serving engines run it, and as Korthikanti et al. 2022 write down what it saves for backward: each layer runs on a tape.
//!
//! Each half of a block, and each end of the model, runs on a tape of its own. What it takes for its own use lives until it ends, what
//! it saves lives until backward. Working sets and saved tensors are read off the tape; parameters and products are those of the modules
//! ([`super::record`]). In training a working tensor stands for
//! the gradient of its shape in backward.
//!
//! What PyTorch allocates differs from this in four ways, so working sets are *modelled*:
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
use crate::units::{DType, Flops};

/// The operations of a whole model, without its parameters and products.
pub(super) fn of(with: &Lowering) -> OpList {
    let block = |(kind, layers): (LayerKind, u64)| {
        let model = with.model.of_layers(kind);
        let with = &Lowering { model: &model, ..*with };
        let mut ops = run(with, |on| attention::first_half(on, kind));
        let first_half = ops.len();
        ops.extend(run(with, |on| second_half(on, kind.feed)));
        BlockKind { of: kind, layers, ops, first_half }
    };
    OpList {
        embedding: run(with, ends::embedding),
        kinds: kinds(with.model).into_iter().map(block).collect(),
        head: run(with, ends::head),
    }
}

/// From the first residual sum to the block's output.
fn second_half(on: &Forward<'_, '_>, feed: Feed) {
    match (feed, &on.with.model.moe) {
        (Feed::None, _) => {}
        (Feed::Experts, Some(moe)) => experts::run(on, moe),
        (Feed::Dense, _) | (Feed::Experts, None) => mlp::run(on),
    }
}

/// What layers run on.
struct Forward<'t, 'a> {
    tape: &'t Tape,
    with: &'a Lowering<'a>,
    taken: RefCell<Taken<'t>>,
}

/// What a part of the model has begun and taken so far.
#[derive(Default)]
struct Taken<'t> {
    /// Operations in the order in which they began.
    ops: Vec<Op>,
    /// How ranks share each storage, and what brings it back.
    places: Vec<(Split, Kept)>,
    /// What lives until the part ends.
    working: Vec<Var<'t>>,
    /// What lives until backward.
    saved: Vec<Var<'t>>,
}

/// Runs a part of the model on a tape of its own: its operations with what they take and save.
fn run(with: &Lowering, part: impl FnOnce(&Forward<'_, '_>)) -> Vec<Op> {
    let tape = Tape::default();
    let on = Forward { tape: &tape, with, taken: RefCell::default() };
    tape.begin(When::Forward, 0, Kind::Activation);
    part(&on);
    let Taken { mut ops, places, working, saved } = on.taken.into_inner();
    drop(working);
    tape.close();
    add_tensors(&tape, &places, &mut ops);
    drop(saved);
    ops
}

/// Adds what is saved, and of the rest what is alive when that is most, to the operation that took it.
fn add_tensors(tape: &Tape, places: &[(Split, Kept)], ops: &mut [Op]) {
    let state = tape.state();
    let peak = state.segments.first().map_or(0, |segment| segment.event);
    // When each storage is taken and freed.
    let mut lives = vec![(usize::MAX, usize::MAX); state.storages.len()];
    for (at, entry) in state.log.iter().enumerate() {
        let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
        let Some((taken, freed)) = usize::try_from(*id).ok().and_then(|id| lives.get_mut(id)) else { continue };
        *(if matches!(entry, Entry::Taken(_)) { taken } else { freed }) = at;
    }
    for ((storage, (taken, freed)), (split, kept)) in state.storages.iter().zip(lives).zip(places) {
        let role = match (freed, taken < peak && peak <= freed) {
            (usize::MAX, _) => Role::Saved,
            (_, true) => Role::Workspace,
            (_, false) => continue,
        };
        let name = state.op_name(storage.op).0;
        if let Some(op) = ops.iter_mut().find(|op| op.name == name) {
            let (shape, dtype) = (state.shape(storage.form), storage.dtype);
            op.tensors.push(Tensor { name: storage.name, role, shape, dtype, split: *split, kept: *kept });
        }
    }
}

impl Forward<'_, '_> {
    /// Begins an operation; what follows belongs to it.
    fn at(&self, name: &'static str, source: Source) {
        self.tape.at(name, source);
        let op = Op { name, tensors: Vec::with_capacity(6), forward: Flops(0.0), attention_core: false, source };
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
