//! Primitives that only some families use: parts of a tensor, what happens in place, and products that autocast does not cache.

use super::Order;
use super::state::{Operand, Rule};
use super::{Form, Param, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

impl Var<'_> {
    /// A slice that may be the whole, which then is an alias.
    pub fn part(self, part: Form) -> Self {
        if part == self.form { self.view_as(Rule::Pass, part) } else { self.slice(part) }
    }

    /// One index of a dimension, by a list: a copy, and the list is saved; backward writes it into zeros of the whole, anew.
    pub fn pick(self, form: Form) -> Self {
        let (tape, dtype) = (self.tape, self.dtype);
        let one = tape.form([Dim("one", 1)]);
        let index = tape.constant("index", one, DType::Int64);
        let mut state = tape.state.borrow_mut();
        let rule = Rule::Unary { temporaries: 1, elementwise: false };
        let node = state.node(rule, [self.operand(), Operand::NOTHING, Operand::NOTHING], 0.0);
        state.save(node, index.storage);
        let storage = state.allocate("picked heads", form, dtype);
        drop(state);
        Self::made(tape, storage, form, dtype, node)
    }

    /// Seen in a larger shape, repeated without a copy; backward sums.
    pub fn expand(self, form: Form) -> Self {
        self.view_as(Rule::Pass, form).ordered(Order::Spread)
    }

    /// Scaled in place.
    pub fn in_place(self) -> Self {
        let form = self.form;
        self.view_as(Rule::Unary { temporaries: 0, elementwise: true }, form)
    }

    /// `x @ W.T`: under autocast the transposed weight is cast anew each time.
    pub fn times(self, weight: Param, form: Form, flops: f64) -> Self {
        let weight = self.tape.read(weight).for_product();
        let x = self.for_product();
        x.affine(&weight, None, form, flops)
    }
}
