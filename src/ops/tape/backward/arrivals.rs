//! Gradients that arrive: at the node before, where several add up, and at a parameter.

use crate::config::Dispatch;
use crate::ops::tape::Order;
use crate::ops::tape::state::{Arrival, Grad, Kind, NONE, Operand, State, Storage, at};
use crate::units::DType;

impl State {
    /// Adds a gradient to those a node has received.
    pub(super) fn hand_on(&mut self, node: u32, grad: Grad) {
        let before = self.nodes.get(at(node)).and_then(|node| node.grad);
        let sum = before.map_or(grad, |before| self.summed(before, grad));
        if let Some(node) = self.nodes.get_mut(at(node)) {
            node.grad = Some(sum);
        } else {
            self.release(sum.storage);
        }
    }

    pub(super) fn summed(&mut self, before: Grad, grad: Grad) -> Grad {
        self.reads(2, (grad.form, grad.dtype));
        if !self.compiled && self.is_added_to_in_place(before) {
            let operand = |grad: Grad| Operand { node: NONE, form: grad.form, dtype: grad.dtype };
            self.in_place(&[operand(before), operand(grad), Operand::NOTHING]);
            self.release(grad.storage);
            return before;
        }
        self.fuse(&[before.storage, grad.storage]);
        let sum = self.fresh((grad.form, before.dtype), before.order);
        self.fuse_no_more();
        self.release(before.storage);
        self.release(grad.storage);
        sum
    }

    /// True if a further gradient is added to `before` without a third tensor: nobody else sees the
    /// memory of `before`, and it fills that memory (`can_accumulate_inplace` in
    /// `torch/csrc/autograd/input_buffer.cpp`). A view's memory is also held by its base. Tensors
    /// under a tracker are of a subclass and are never added to.
    pub(super) fn is_added_to_in_place(&self, before: Grad) -> bool {
        let storage = self.storages.get(at(before.storage));
        let own = |storage: &Storage| {
            storage.refs == 1 && self.elements(storage.form) == self.elements(before.form)
        };
        self.dispatch == Dispatch::Cuda && !before.is_view && storage.is_some_and(own)
    }

    /// A gradient reaches a parameter; whether it is the last of this backward.
    pub(in crate::ops::tape) fn wait(&mut self, param: u32, grad: Grad) -> bool {
        let before = self.parameters.get(at(param)).and_then(|parameter| parameter.waiting);
        let sum = before.map_or(grad, |before| self.summed(before, grad));
        let Some(parameter) = self.parameters.get_mut(at(param)) else { return false };
        parameter.waiting = Some(sum);
        parameter.uses = parameter.uses.saturating_sub(1);
        parameter.uses == 0
    }

    /// A parameter's gradient is complete: it is kept, added to the one that is there, or waits for
    /// its group.
    pub(in crate::ops::tape) fn arrive(&mut self, param: u32) {
        let Some(parameter) = self.parameters.get_mut(at(param)) else { return };
        let Some(grad) = parameter.waiting.take() else { return };
        let (there, copied) = (parameter.gradient != NONE, parameter.copy != NONE);
        let kept = match self.arrival {
            Arrival::Kept if there => NONE,
            Arrival::Stepped => NONE,
            Arrival::Converted(dtype, copy) => {
                let fresh = if there { NONE } else { self.gradient(grad, dtype) };
                if let Some(copy) = copy.filter(|_| !copied) {
                    let copy = self.gradient(grad, copy);
                    if let Some(parameter) = self.parameters.get_mut(at(param)) {
                        parameter.copy = copy;
                    }
                }
                fresh
            }
            Arrival::Kept | Arrival::Pending { .. } => {
                let shared =
                    self.storages.get(at(grad.storage)).is_some_and(|storage| storage.refs > 1);
                let kept = if shared {
                    self.fresh((grad.form, grad.dtype), Order::Plain).storage
                } else {
                    grad.storage
                };
                if !shared {
                    self.hold(grad.storage);
                }
                if self.arrival == Arrival::Kept {
                    self.turn_into_gradient(kept);
                }
                kept
            }
        };
        self.release(grad.storage);
        if let Some(parameter) = self.parameters.get_mut(at(param)).filter(|_| kept != NONE) {
            parameter.gradient = kept;
        }
    }

    /// A gradient that is kept in that format.
    pub(super) fn gradient(&mut self, grad: Grad, dtype: DType) -> u32 {
        let kind = std::mem::replace(&mut self.kind, Kind::Gradient);
        let storage = self.allocate("gradient", grad.form, dtype);
        self.kind = kind;
        storage
    }
}
