//! Primitives of several residual streams: tensors made one, sums in place, products of streams
//! with their coefficients.

use std::ops::Range;

use super::primitives::Save;
use super::state::{Operand, Rule};
use super::{Form, NONE, Order, Tape, Var};
use crate::units::DType;

/// A tensor that is held beyond the borrow of its tape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    storage: u32,
    form: Form,
    dtype: DType,
    node: u32,
    order: Order,
}

impl Tape {
    /// A further holder of a tensor that is kept.
    pub fn held(&self, kept: Kept) -> Var<'_> {
        self.state.borrow_mut().hold(kept.storage);
        let Kept { storage, form, dtype, node, order } = kept;
        Var { tape: self, storage, form, dtype, node, order }
    }

    /// How many tensors a forward that runs again has saved by now; 0 in one that runs for the
    /// first time.
    pub fn recorded(&self) -> usize {
        self.state.borrow().recording.as_ref().map_or(0, |recording| recording.tensors.len())
    }

    /// Holds what was saved between two such counts, in the order in which
    /// [`Self::release_recorded`] takes it.
    pub fn hold_recorded(&self, between: Range<usize>) -> Vec<u32> {
        let mut state = self.state.borrow_mut();
        let tensors = state.recording.as_ref().and_then(|recording| recording.tensors.get(between));
        let tensors = tensors.map_or_else(Vec::new, <[u32]>::to_vec);
        for tensor in &tensors {
            state.hold(*tensor);
        }
        tensors
    }

    /// Holds it no more.
    pub fn release_recorded(&self, tensors: &[u32]) {
        let mut state = self.state.borrow_mut();
        for tensor in tensors {
            state.release(*tensor);
        }
    }

    /// Keeps a tensor no more.
    pub fn let_go(&self, kept: Kept) {
        self.state.borrow_mut().release(kept.storage);
    }
}

impl Var<'_> {
    /// The tensor, held until [`Tape::let_go`].
    pub fn kept(&self) -> Kept {
        self.tape.state.borrow_mut().hold(self.storage);
        Kept {
            storage: self.storage,
            form: self.form,
            dtype: self.dtype,
            node: self.node,
            order: self.order,
        }
    }

    /// `torch.stack`: backward sees each part of the gradient; `None` of nothing.
    pub fn stacked(parts: &[Self], form: Form) -> Option<Self> {
        let first = parts.first()?;
        let (tape, dtype) = (first.tape, first.dtype);
        let mut state = tape.state.borrow_mut();
        let mut whole = Operand { node: NONE, form, dtype };
        for part in parts {
            whole.node = state.node(Rule::Cat, [whole, part.operand(), Operand::NOTHING]);
        }
        // All parts together are as large as the whole.
        state.reads(1, (form, dtype));
        let storage = state.allocate("stacked", form, dtype);
        drop(state);
        Some(Var::made(tape, storage, form, dtype, whole.node))
    }

    /// `x[part] += y`.
    pub fn add_to_part(mut self, part: Form, other: &Self) -> Self {
        let operands = [self.operand(), other.operand(), Operand::NOTHING];
        let mut state = self.tape.state.borrow_mut();
        self.node = state.node(Rule::AddToPart(part), operands);
        state.in_place(&operands);
        drop(state);
        self
    }

    /// `x *= constant`: saves the constant.
    pub fn scaled_in_place(self, by: &Self) -> Self {
        let made = self.in_place();
        made.tape.state.borrow_mut().save(made.node, by.storage);
        made
    }

    /// `x · number`, which is part of a vector of them and changes no format: each is saved if the
    /// other wants a gradient.
    pub fn by_number(self, number: &Self) -> Self {
        let (tape, form, dtype, order) = (self.tape, self.form, self.dtype, self.order);
        let mut state = tape.state.borrow_mut();
        let node = state.node(Rule::Mul, [self.operand(), number.operand(), Operand::NOTHING]);
        let saved = [(number.node, self.storage), (self.node, number.storage)];
        for (_, storage) in saved.into_iter().filter(|(other, _)| *other != NONE) {
            state.save(node, storage);
        }
        let storage = state.allocate("product", form, dtype);
        drop(state);
        Var::made(tape, storage, form, dtype, node).ordered(order)
    }

    /// `std(x, -1)`: saves operand and result.
    pub fn deviation(self, to: Form) -> Self {
        let dtype = self.dtype;
        let made = self.unary(Rule::Deviation, Save::Input, "deviation", (to, dtype));
        made.tape.state.borrow_mut().save(made.node, made.storage);
        made
    }

    /// A token's streams times a square of coefficients that is seen transposed: a batched product
    /// that is none of attention's.
    pub fn mixed(self, coefficients: Self, form: Form) -> Self {
        let rule = Rule::Matmul { batched: false, transposed: true, scaled: false };
        let (a, b) = (self.for_product(), coefficients.for_product());
        let tape = a.tape;
        let mut state = tape.state.borrow_mut();
        let node = state.node(rule, [a.operand(), b.operand(), Operand::NOTHING]);
        state.count_weights(form, b.form);
        if b.node != NONE {
            state.save(node, a.storage);
        }
        if a.node != NONE {
            state.save(node, b.storage);
        }
        let storage = state.allocate("mixed streams", form, a.dtype);
        drop(state);
        Var::made(tape, storage, form, a.dtype, node)
    }
}
