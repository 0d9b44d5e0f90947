//! Primitives that send tensors between tensor-parallel ranks.

use super::primitives::Save;
use super::state::{Rule, State};
use super::{Form, Var};
use crate::ops::work::{Behind, Collective};
use crate::units::DType;

impl Var<'_> {
    /// Under sequence parallelism: all tokens from every rank's part of them, or this rank's part
    /// of the sum over ranks.
    pub fn exchanged(self, form: Form) -> Self {
        let dtype = self.dtype;
        let mut state = self.tape.state.borrow_mut();
        let grows = state.elements(form) > state.elements(self.form);
        let (there, back, whole) = if grows {
            (Collective::AllGather, Collective::ReduceScatter, form)
        } else {
            (Collective::ReduceScatter, Collective::AllGather, self.form)
        };
        state.send(there, (whole, dtype), false, Behind::Products);
        state.send(back, (whole, dtype), true, Behind::Products);
        drop(state);
        self.unary(Rule::Exchanged(0), Save::Nothing, "exchanged between ranks", (form, dtype))
    }

    /// As [`Self::exchanged`], by collectives that lay ranks one behind the other (spmd_types
    /// 0.2.3, `all_gather` and `reduce_scatter` in `_collectives.py`): what is gathered is put in
    /// the order of tokens in a second tensor, and what several sequences scatter is first put in
    /// the order of ranks.
    pub fn exchanged_in_order(self, form: Form, several: bool) -> Self {
        let (tape, dtype) = (self.tape, self.dtype);
        let mut state = tape.state.borrow_mut();
        let grows = state.elements(form) > state.elements(self.form);
        let (there, back, whole) = if grows {
            (Collective::AllGather, Collective::ReduceScatter, form)
        } else {
            (Collective::ReduceScatter, Collective::AllGather, self.form)
        };
        state.send(there, (whole, dtype), false, Behind::Nothing);
        state.send(back, (whole, dtype), true, Behind::Nothing);
        drop(state);
        let copies = |grows: bool| grows || several;
        let _by_ranks =
            copies(grows).then(|| tape.constant("tokens in the order of ranks", whole, dtype));
        let rule = Rule::Exchanged(u8::from(copies(!grows)));
        self.unary(rule, Save::Nothing, "exchanged between ranks", (form, dtype))
    }

    /// The input of a product whose weight is split by columns: backward sums its gradient over
    /// ranks, in a tensor for the sum and one for the wait (`all_reduce` and `wait_tensor` of
    /// functional collectives).
    pub fn summed_in_backward(self) -> Self {
        let form = self.form;
        let shape = (form, self.dtype);
        self.tape.state.borrow_mut().send(
            Collective::AllReduce,
            shape,
            true,
            Behind::WeightGradient,
        );
        self.view_as(Rule::Exchanged(1), form)
    }

    /// The sum over ranks of a product whose weight is split by rows; backward passes the gradient
    /// on.
    pub fn summed_over_ranks(self) -> Self {
        let (tape, shape) = (self.tape, (self.form, self.dtype));
        let mut state = tape.state.borrow_mut();
        state.send(Collective::AllReduce, shape, false, Behind::Nothing);
        state.counted(2);
        drop(state);
        let _sum = tape.constant("sum over ranks", self.form, self.dtype);
        self.unary(Rule::Pass, Save::Nothing, "sum over ranks", shape)
    }
}

impl State {
    /// A product's input of all tokens, which backward gathers again before it scatters the
    /// gradient.
    pub(super) fn gathered(&mut self, whole: (Form, DType)) -> u32 {
        self.send(Collective::AllGather, whole, false, Behind::Products);
        self.send(Collective::ReduceScatter, whole, true, Behind::WeightGradient);
        self.send(Collective::AllGather, whole, true, Behind::WeightGradient);
        self.counted(1);
        self.allocate("gathered hidden states", whole.0, whole.1)
    }
}
