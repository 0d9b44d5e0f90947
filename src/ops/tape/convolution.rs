//! Convolutions along tokens, of each channel by itself (`conv1d` with as many groups as channels).

use super::order::Order;
use super::state::{Grad, NONE, Node, Operand, Rule, State};
use super::{Form, Param, Var};
use crate::config::Dispatch;
use crate::units::DType;

impl Var<'_> {
    /// `conv1d(x, weight, bias)`, padded on both sides so that the result has all but one of the
    /// weight's tokens more: saves input and weight. The weight is seen in another shape before, so
    /// that autocast casts it anew each time.
    pub fn convolved(self, (weight, bias): (Param, Option<Param>), form: Form) -> Self {
        let tape = self.tape;
        let bias = bias.map(|bias| tape.weight(bias));
        let weight = tape.read(weight).for_product();
        let x = self.for_product();
        let mut state = tape.state.borrow_mut();
        let third = bias.as_ref().map_or(Operand::NOTHING, Var::operand);
        let node = state.node(Rule::Convolution, [x.operand(), weight.operand(), third]);
        state.count_weights(form, weight.form);
        state.save(node, x.storage);
        state.save(node, weight.storage);
        let copy = state.in_order_for_convolution((x.form, x.dtype), x.order);
        let storage = state.allocate("convolved", form, x.dtype);
        state.release(copy);
        drop(state);
        Self::made(tape, storage, form, x.dtype, node)
    }
}

impl Var<'_> {
    /// `nn.Conv1d` over all channels, whose weight is `[output, input · tokens]`: saves input and
    /// weight.
    pub fn convolution(self, [weight, bias]: [Param; 2], form: Form) -> Self {
        let tape = self.tape;
        let bias = tape.weight(bias);
        let weight = tape.weight(weight);
        let x = self.for_product();
        let mut state = tape.state.borrow_mut();
        let node = state.node(Rule::Convolution, [x.operand(), weight.operand(), bias.operand()]);
        state.count_weights(form, weight.form);
        state.save(node, x.storage);
        state.save(node, weight.storage);
        let storage = state.allocate("convolved", form, x.dtype);
        drop(state);
        Self::made(tape, storage, form, x.dtype, node)
    }
}

impl State {
    /// Kernels of GPUs read an input in the order of its shape (`_convolution` and
    /// `convolution_backward` in `aten/src/ATen/native/Convolution.cpp`), the tracker's have none.
    fn in_order_for_convolution(&mut self, (form, dtype): (Form, DType), order: Order) -> u32 {
        let copies = self.dispatch == Dispatch::Cuda && order != Order::Plain;
        if copies { self.allocate("input in order", form, dtype) } else { NONE }
    }

    /// `convolution_backward`: all gradients at once.
    pub(super) fn convolution_back(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let copy = self.in_order_for_convolution((grad.form, grad.dtype), grad.order);
        let made = node.operands.map(|operand| {
            let wanted = operand.node != NONE;
            wanted.then(|| self.fresh((operand.form, operand.dtype), Order::Plain))
        });
        self.release(copy);
        made
    }
}
