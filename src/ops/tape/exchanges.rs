//! Primitives that send tensors between tensor-parallel ranks.

use super::primitives::Save;
use super::state::Rule;
use super::{Form, Var};
use crate::ops::work::{Behind, Collective};

impl Var<'_> {
    /// Under sequence parallelism: all tokens from every rank's part of them, or this rank's part of the sum over ranks.
    pub fn exchanged(self, form: Form) -> Self {
        let (tape, dtype) = (self.tape, self.dtype);
        tape.state.borrow_mut().exchange(self.form, form, dtype);
        let all = self.unary(Rule::Exchanged(0), Save::Nothing, "exchanged between ranks", (form, dtype));
        tape.state.borrow_mut().silent(false);
        all
    }

    /// The input of a product whose weight is split by columns: backward sums its gradient over ranks, in a tensor for the sum
    /// and one for the wait (`all_reduce` and `wait_tensor` of functional collectives).
    pub fn summed_in_backward(self) -> Self {
        let form = self.form;
        let shape = (form, self.dtype);
        self.tape.state.borrow_mut().send(Collective::AllReduce, shape, true, Behind::WeightGradient);
        self.view_as(Rule::Exchanged(1), form)
    }

    /// The sum over ranks of a product whose weight is split by rows; backward passes the gradient on.
    pub fn summed_over_ranks(self) -> Self {
        let (tape, shape) = (self.tape, (self.form, self.dtype));
        tape.state.borrow_mut().sum_over_ranks(shape);
        let _sum = tape.constant("sum over ranks", self.form, self.dtype);
        let sum = self.unary(Rule::Pass, Save::Nothing, "sum over ranks", shape);
        tape.state.borrow_mut().silent(false);
        sum
    }
}
