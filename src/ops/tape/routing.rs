//! Primitives of mixtures of experts: choosing, gathering and grouped products.

use super::primitives::Save;
use super::state::{NONE, Operand, Rule};
use super::{Form, Var};
use crate::units::DType;

impl Var<'_> {
    /// `topk(x)`: the largest values and where they are, which is saved; backward writes into
    /// zeros.
    pub fn topk(self, form: Form) -> (Self, Self) {
        let dtype = self.dtype;
        let values = self.unary(Rule::IntoZeros, Save::Nothing, "largest", (form, dtype));
        let places = values.tape.constant("places of the largest", form, DType::Int64);
        values.saves(&places);
        (values, places)
    }

    /// `x[index]` by rows: saves the index; backward adds into zeros.
    pub fn gather(self, index: &Self, form: Form) -> Self {
        let tape = self.tape;
        let mut state = tape.state.borrow_mut();
        let node = state
            .node(Rule::AtRows(index.form), [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, index.storage);
        let storage = state.allocate("gathered", form, self.dtype);
        drop(state);
        Self::made(tape, storage, form, self.dtype, node)
    }

    /// `gather(x, -1, index)`: saves its operand and the index; backward adds into zeros.
    pub fn taken_along(self, index: &Self, form: Form) -> Self {
        let dtype = self.dtype;
        let taken = self.unary(Rule::IntoZeros, Save::Input, "taken along rows", (form, dtype));
        taken.saves(index);
        taken
    }

    /// `masked_fill(x, mask, number)`: saves the mask.
    pub fn filled(self, mask: &Self) -> Self {
        let (shape, order) = ((self.form, self.dtype), self.order);
        let filled = self.unary(
            Rule::Unary { temporaries: 0, elementwise: true },
            Save::Nothing,
            "filled",
            shape,
        );
        filled.saves(mask);
        filled.ordered(order)
    }

    /// `grouped_mm(x, W, offsets)`: each group of rows by its own matrix, in the weights' format
    /// whatever autocast says.
    pub fn grouped(self, weight: &Self, offsets: &Self, form: Form) -> Self {
        let tape = self.tape;
        let x = self.cast(weight.dtype);
        let mut state = tape.state.borrow_mut();
        let node = state
            .node(Rule::Grouped(offsets.form), [x.operand(), weight.operand(), Operand::NOTHING]);
        state.count_weights(form, weight.form);
        let saved =
            [x.node != NONE, true, weight.node != NONE].into_iter().zip([weight, offsets, &x]);
        for (_, saved) in saved.filter(|(wanted, _)| *wanted) {
            state.save(node, saved.storage);
        }
        let storage = state.allocate("grouped product", form, weight.dtype);
        state.group_products(offsets.form, weight.dtype);
        drop(state);
        tape.multiplied(x.form, form);
        Self::made(tape, storage, form, weight.dtype, node)
    }

    /// `a /= b`: in place, so that a copy of the dividend is saved.
    pub fn divide_by(mut self, other: &Self) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let operands = [self.operand(), other.operand(), Operand::NOTHING];
        let node = state.node(Rule::Div, operands);
        state.in_place(&operands);
        state.save(node, other.storage);
        if other.node != NONE {
            let copy = state.allocate("dividend", self.form, self.dtype);
            state.save(node, copy);
            state.release(copy);
        }
        drop(state);
        self.node = node;
        self
    }

    /// `a / b`: both are saved.
    pub fn divided_by(self, other: &Self) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let node = state.node(Rule::Div, [self.operand(), other.operand(), Operand::NOTHING]);
        state.save(node, self.storage);
        state.save(node, other.storage);
        let storage = state.allocate("quotient", self.form, self.dtype);
        drop(state);
        Self::made(self.tape, storage, self.form, self.dtype, node)
    }

    /// `a += b`, in the format of the first.
    pub fn add_in_place(mut self, other: &Self) -> Self {
        let operands = [self.operand(), other.operand(), Operand::NOTHING];
        let mut state = self.tape.state.borrow_mut();
        self.node = state.node(Rule::Add, operands);
        state.in_place(&operands);
        drop(state);
        self
    }

    /// `clamp(x)` with that many limits: saves its operand.
    pub fn clamp(self, limits: u8) -> Self {
        let shape = (self.form, self.dtype);
        self.unary(Rule::Clamp(limits), Save::Input, "within limits", shape)
    }

    /// The sum over groups of rows: backward writes every row's gradient out, unless there is one
    /// row in a group.
    pub fn sum_of_rows(self, to: Form) -> Self {
        let state = self.tape.state.borrow();
        let single = state.elements(self.form) == state.elements(to);
        drop(state);
        let rule =
            if single { Rule::Pass } else { Rule::Unary { temporaries: 0, elementwise: false } };
        let dtype = self.dtype;
        self.unary(rule, Save::Nothing, "sum of rows", (to, dtype))
    }

    /// The sum of each row: backward sees one gradient in all columns.
    pub fn total(self, to: Form) -> Self {
        let dtype = self.dtype;
        self.unary(Rule::Pass, Save::Nothing, "sum", (to, dtype))
    }

    /// Saves another tensor for the backward of the node that made this one.
    pub fn saves(&self, other: &Self) {
        self.tape.state.borrow_mut().save(self.node, other.storage);
    }
}
