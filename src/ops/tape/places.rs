//! Primitives that read or write some places of a tensor, and products with one matrix per expert.

use super::state::{Operand, Rule};
use super::{Form, Kind, Param, Tape, Var};
use crate::units::DType;

impl<'t> Var<'t> {
    /// What `index` points at (`x[index]`, `x.gather(1, index)`, the values of `topk`): backward adds into a copy of zeros.
    ///
    /// Saves `index`, and itself where the formula asks for its shape (`gather`).
    pub fn pick(self, index: &Self, form: Form, whole: bool) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let rule = Rule::Unary { temporaries: 1, elementwise: false };
        let node = state.node(rule, [self.operand(), Operand::NOTHING, Operand::NOTHING], 0.0);
        state.save(node, index.storage);
        if whole {
            state.save(node, self.storage);
        }
        let storage = state.allocate("picked", form, self.dtype);
        drop(state);
        Self::made(self.tape, storage, form, self.dtype, node)
    }

    /// `x.sum(-1)`: backward sees the gradient in the larger shape.
    pub fn sum(self, to: Form) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(Rule::Spread, [self.operand(), Operand::NOTHING, Operand::NOTHING], 0.0);
        let storage = state.allocate("sum", to, self.dtype);
        drop(state);
        Self::made(self.tape, storage, to, self.dtype, node)
    }

    /// The same memory seen in a larger shape: backward sums.
    pub fn expand(self, form: Form) -> Self {
        let order = self.order;
        self.view_as(Rule::Pass, form).ordered(order)
    }

    /// `x[..., part] = part`.
    pub fn fill(mut self, part: Self) -> Self {
        let operands = [self.operand(), part.operand(), Operand::NOTHING];
        self.node = self.tape.state.borrow_mut().node(Rule::Fill, operands, 0.0);
        self
    }

    /// `x /= divisor`: saves the divisor and a copy of itself.
    pub fn div_in_place(mut self, divisor: Self) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(Rule::Div, [self.operand(), divisor.operand(), Operand::NOTHING], 0.0);
        state.save(node, divisor.storage);
        let before = state.allocate("dividend", self.form, self.dtype);
        state.save(node, before);
        state.release(before);
        drop(state);
        self.node = node;
        self
    }

    /// `grouped_mm`: rows sorted by expert, each times its expert's matrix, in the weight's format also under autocast.
    ///
    /// Saves operands and the experts' offsets.
    pub fn grouped(self, weight: Param, offsets: &Self, form: Form, flops: f64) -> Self {
        let tape = self.tape;
        let weight = tape.read(weight);
        let x = self.cast(weight.dtype);
        let mut state = tape.state.borrow_mut();
        let rule = Rule::Linear { bias: false };
        let node = state.node(rule, [x.operand(), weight.operand(), Operand::NOTHING], flops);
        state.count_flops(flops, false);
        let storage = state.allocate("projected", form, x.dtype);
        for saved in [offsets.storage, x.storage, weight.storage] {
            state.save(node, saved);
        }
        drop(state);
        Self::made(tape, storage, form, x.dtype, node)
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

    /// A tensor that lives as long as the graph of a result nobody uses, which keeps nothing under checkpointing.
    pub fn beside<'t>(&'t self, tensor: Var<'t>) -> Option<Var<'t>> {
        let state = self.state.borrow();
        let keeps = state.open_frame.is_none() && state.recording.is_none();
        drop(state);
        keeps.then_some(tensor)
    }
}
