//! Primitives that only some families use: parts of a tensor, choices between two, what happens in
//! place, and products that autocast does not cache.

use super::Order;
use super::primitives::{Save, wider};
use super::state::{NONE, Operand, Rule};
use super::{Form, Param, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

impl Var<'_> {
    /// A slice that may be the whole, which then is an alias.
    pub fn part(self, part: Form) -> Self {
        let state = self.tape.state.borrow();
        let whole = state.elements(part) == state.elements(self.form);
        drop(state);
        if whole { self.view_as(Rule::Pass, part) } else { self.slice(part) }
    }

    /// One index of a dimension, by a list: a copy, and the list is saved; backward writes it into
    /// zeros of the whole, anew.
    pub fn pick(self, form: Form) -> Self {
        let (tape, dtype) = (self.tape, self.dtype);
        let one = tape.form([Dim("one", 1)]);
        let index = tape.constant("index", one, DType::Int64);
        let mut state = tape.state.borrow_mut();
        let node =
            state.node(Rule::AtRows(one), [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, index.storage);
        let storage = state.allocate("picked heads", form, dtype);
        drop(state);
        Self::made(tape, storage, form, dtype, node)
    }

    /// Seen in a larger shape, repeated without a copy; backward sums.
    pub fn expand(self, form: Form) -> Self {
        self.view_as(Rule::Pass, form).ordered(Order::Spread)
    }

    /// `minimum(x, constant)`: saves its operand.
    pub fn at_most(self) -> Self {
        let shape = (self.form, self.dtype);
        self.unary(Rule::AtMost, Save::Input, "at most a constant", shape)
    }

    /// `where(condition, self, other)`: saves the condition.
    pub fn chosen(self, other: &Self, condition: &Self) -> Self {
        let (tape, form, dtype) = (self.tape, self.form, wider(self.dtype, other.dtype));
        let mut state = tape.state.borrow_mut();
        let node = state.node(Rule::Where, [self.operand(), other.operand(), Operand::NOTHING]);
        state.save(node, condition.storage);
        let storage = state.allocate("chosen by condition", form, dtype);
        drop(state);
        Self::made(tape, storage, form, dtype, node)
    }

    /// `where(buffer, self, constant)`, of which nothing is saved but a buffer.
    pub fn chosen_by_buffer(self) -> Self {
        let shape = (self.form, self.dtype);
        self.unary(Rule::Where, Save::Nothing, "chosen by a buffer", shape)
    }

    /// `logsumexp(x, -1)`: saves operand and result; backward takes their difference and its
    /// exponential.
    pub fn log_sum_exp(self, to: Form) -> Self {
        let dtype = self.dtype;
        let sum = self.unary(
            Rule::Unary { temporaries: 2, elementwise: false },
            Save::Input,
            "log-sum-exp",
            (to, dtype),
        );
        sum.tape.state.borrow_mut().save(sum.node, sum.storage);
        sum
    }

    /// This tensor as an operand that no gradient comes back to.
    pub const fn detached(mut self) -> Self {
        self.node = NONE;
        self
    }

    /// The node that made this tensor saves another one as well.
    pub fn also_saves(&self, other: &Self) {
        self.tape.state.borrow_mut().save(self.node, other.storage);
    }

    /// Scaled in place.
    pub fn in_place(self) -> Self {
        let form = self.form;
        self.tape.state.borrow_mut().in_place(&[
            self.operand(),
            Operand::NOTHING,
            Operand::NOTHING,
        ]);
        self.view_as(Rule::Unary { temporaries: 0, elementwise: true }, form)
    }

    /// `x @ W.T`: under autocast the transposed weight is cast anew each time.
    pub fn times(self, weight: Param, form: Form) -> Self {
        let weight = self.tape.read(weight).for_product();
        let x = self.for_product();
        x.affine(&weight, None, form)
    }
}
