//! Primitives that read or write some places of a tensor.

use super::primitives::Save;
use super::state::{Operand, Rule};
use super::{Form, Kind, Tape, Var};
use crate::units::DType;

impl Var<'_> {
    /// `x.gather(-1, index)`: saves the index and itself; backward adds into zeros.
    pub fn gather_along(self, index: &Self, form: Form) -> Self {
        self.unary_saving(Rule::IntoZeros, index, true, form)
    }

    /// `x · factors`, both complex numbers: saves the factors, which want no gradient.
    pub fn turned_by(self, factors: &Self) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(Rule::Times, [self.operand(), factors.operand(), Operand::NOTHING]);
        state.save(node, factors.storage);
        // TorchInductor has no code for complex numbers.
        state.fuse(&[self.storage, factors.storage]);
        let storage = state.allocate("rotated", self.form, self.dtype);
        state.fuse_no_more();
        state.called(self.storage);
        state.called(storage);
        drop(state);
        Self::made(self.tape, storage, self.form, self.dtype, node).ordered(self.order)
    }

    /// `x.masked_fill(mask, constant)`: saves the mask.
    pub fn masked(self, mask: &Self) -> Self {
        let form = self.form;
        self.unary_saving(Rule::Unary { temporaries: 0, elementwise: true }, mask, false, form)
    }

    fn unary_saving(self, rule: Rule, other: &Self, itself: bool, form: Form) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(rule, [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, other.storage);
        if itself {
            state.save(node, self.storage);
        }
        let storage = state.allocate("chosen", form, self.dtype);
        drop(state);
        Self::made(self.tape, storage, form, self.dtype, node)
    }

    /// `x.sum(-1)`: backward sees the gradient in the larger shape.
    pub fn sum(self, to: Form) -> Self {
        let dtype = self.dtype;
        self.unary(Rule::Spread, Save::Nothing, "sum", (to, dtype))
    }

    /// `x[..., part] = part`.
    pub fn fill(mut self, part: &Self) -> Self {
        let operands = [self.operand(), part.operand(), Operand::NOTHING];
        self.node = self.tape.state.borrow_mut().node(Rule::Fill, operands);
        self
    }
}

impl Tape {
    /// A tensor that a module registers beside its parameters; it stays.
    pub fn buffer(&self, name: &'static str, form: Form, dtype: DType) {
        let mut state = self.state.borrow_mut();
        let kind = std::mem::replace(&mut state.kind, Kind::Buffer);
        state.allocate(name, form, dtype);
        state.kind = kind;
    }

    /// A tensor that lives as long as the graph of a result nobody uses, which keeps nothing under
    /// checkpointing.
    pub fn beside<'t>(&'t self, tensor: Var<'t>) -> Option<Var<'t>> {
        let state = self.state.borrow();
        let keeps = state.open_frame.is_none() && state.recording.is_none() && !state.no_grad;
        drop(state);
        keeps.then_some(tensor)
    }
}
