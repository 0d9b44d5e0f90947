//! Results that nobody reads: their graph goes as soon as their names do. And what few recurrences
//! need: the larger of two tensors, absolute values, the variance of rows.

use super::formulas::wants;
use super::primitives::Save;
use super::state::{Grad, NONE, Node, Operand, Rule, State, at};
use super::{Form, Order, Tape, Var};
use crate::units::DType;

/// Where operations begin whose results nobody reads: among nodes, and among what a forward that
/// runs again has saved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    node: u32,
    recorded: usize,
}

impl Tape {
    /// Marks this place: perhaps nobody reads the results of the operations that run from here on.
    pub fn unread_from(&self) -> Unread {
        Unread { node: self.nodes(), recorded: self.recorded() }
    }

    /// Forgets the operations that ran from that place on, because nobody reads their results: the
    /// tensors that they saved are released, and backward never comes to them.
    pub fn forget(&self, from: Unread) {
        let mut state = self.state.borrow_mut();
        if let Some(recording) = &mut state.recording {
            let least = from.recorded.min(recording.tensors.len());
            for tensor in recording.tensors.split_off(least) {
                state.release_weakly(tensor);
            }
            return;
        }
        let nodes = state.nodes.get(at(from.node)..).unwrap_or_default();
        let places: Vec<(u32, u32)> =
            nodes.iter().map(|node| (node.frame, u32::from(node.saves))).collect();
        for (frame, saves) in places {
            if let Some(frame) = state.frames.get_mut(at(frame)) {
                frame.saves = frame.saves.saturating_sub(saves);
            }
        }
        drop(state);
        self.abandon((from.node, self.nodes()));
    }
}

impl Var<'_> {
    /// `maximum(a, b)`: saves both.
    pub fn maximum(self, other: &Self) -> Self {
        let form = self.form;
        let made =
            self.clone().binary(other.clone(), Rule::Larger, "larger of two", form, [false; 2]);
        made.saves(&self);
        made.saves(other);
        made
    }

    /// `abs(x)`: saves its operand; backward takes its sign.
    pub fn absolute(self) -> Self {
        let shape = (self.form, self.dtype);
        self.unary(
            Rule::Unary { temporaries: 1, elementwise: true },
            Save::Input,
            "absolute value",
            shape,
        )
    }
}

impl Var<'_> {
    /// `var(x, -1)`: saves its operand.
    pub fn variance(self, to: Form) -> Self {
        let dtype = self.dtype;
        self.unary(Rule::Variance, Save::Input, "variance", (to, dtype))
    }
}

impl State {
    /// Twice the gradient over the row's length, times the operand less its mean (`var_backward`).
    pub(super) fn variance_back(&mut self, grad: Grad, operand: Operand) -> Grad {
        let rows = (grad.form, grad.dtype);
        let mean = self.fresh(rows, Order::Plain);
        let centred = self.fresh((operand.form, operand.dtype), Order::Plain);
        self.release(mean.storage);
        let scaled = self.fresh(rows, Order::Plain);
        let made = self.fresh((operand.form, operand.dtype), Order::Plain);
        for held in [centred, scaled] {
            self.release(held.storage);
        }
        made
    }

    /// Half of the gradient where both are equal, all of it where an operand is the larger one: of
    /// the second operand first.
    pub(super) fn larger_back(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let second = wants(b).then(|| self.where_larger(grad));
        [wants(a).then(|| self.where_larger(grad)), second, None]
    }

    /// The gradient of a value where it is the larger one.
    pub(super) fn where_larger(&mut self, grad: Grad) -> Grad {
        let operand = Operand { node: NONE, form: grad.form, dtype: grad.dtype };
        let larger = self.allocate("larger than the other", operand.form, DType::Mask);
        let half = self.fresh((grad.form, grad.dtype), grad.order);
        let equal = self.allocate("equal to the other", operand.form, DType::Mask);
        let shared = self.fresh((grad.form, grad.dtype), grad.order);
        let made = self.fresh((grad.form, grad.dtype), grad.order);
        for storage in [larger, half.storage, equal, shared.storage] {
            self.release(storage);
        }
        made
    }
}
