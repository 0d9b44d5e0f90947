//! Primitives that send tensors between tensor-parallel ranks.

use super::primitives::Save;
use super::state::{Operand, Rule, State};
use super::{Form, Var};
use crate::ops::work::{Behind, Collective};
use crate::units::DType;

/// Which tensors of all tokens are copied into another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copies {
    /// Those that were gathered.
    pub gathered: bool,
    /// Those that are scattered.
    pub scattered: bool,
}

impl Var<'_> {
    /// Under sequence parallelism: all tokens from every rank's part of them, or this rank's part
    /// of the sum over ranks.
    pub fn exchanged(self, form: Form) -> Self {
        let dtype = self.dtype;
        self.send_both_ways(form, Behind::Products);
        self.unary(Rule::Exchanged(0), Save::Nothing, "exchanged between ranks", (form, dtype))
    }

    /// The collectives of an exchange, forward and backward; returns true if all tokens come out of
    /// it, and the form of all tokens.
    fn send_both_ways(&self, form: Form, behind: Behind) -> (bool, Form) {
        let mut state = self.tape.state.borrow_mut();
        let grows = state.elements(form) > state.elements(self.form);
        let (there, back, whole) = if grows {
            (Collective::AllGather, Collective::ReduceScatter, form)
        } else {
            (Collective::ReduceScatter, Collective::AllGather, self.form)
        };
        state.send(there, (whole, self.dtype), false, behind);
        state.send(back, (whole, self.dtype), true, behind);
        (grows, whole)
    }

    /// As [`Self::exchanged`], by collectives that lay ranks one behind the other: tokens are put
    /// in the other order in a tensor of their own. Selective recomputation may keep what was
    /// scattered.
    pub fn exchanged_in_order(self, form: Form, copies: Copies, keeps: bool) -> Self {
        let (tape, dtype) = (self.tape, self.dtype);
        let (grows, whole) = self.send_both_ways(form, Behind::Nothing);
        let [here, back] = if grows {
            [copies.gathered, copies.scattered]
        } else {
            [copies.scattered, copies.gathered]
        };
        let _other_order = here.then(|| tape.constant("tokens in another order", whole, dtype));
        let mut state = tape.state.borrow_mut();
        let operands = [self.operand(), Operand::NOTHING, Operand::NOTHING];
        let node = state.node(Rule::Exchanged(u8::from(back)), operands);
        let name = "exchanged between ranks";
        let storage = if keeps && !grows {
            state.allocate_kept(name, (form, dtype), false)
        } else {
            state.allocate(name, form, dtype)
        };
        drop(state);
        Self::made(tape, storage, form, dtype, node)
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
