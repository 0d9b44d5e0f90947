//! Kernels that write over tensors that are there already (Liger Kernel 0.8.5, `liger_kernel/ops`).

use super::formulas::wants;
use super::scratch::MULTIPROCESSORS;
use super::state::{Grad, NONE, Node, Operand, Rule, State};
use super::{Attends, Form, Order, Tape, Var};
use crate::units::DType;

/// Bytes of a number in fp32.
const WIDE: u64 = 4;

/// Where backward of a kernel written by hand leaves gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// In tensors of their own.
    Anew,
    /// In tensors of their own, from copies of the gradient and the first operand.
    FromCopies,
    /// In tensors of their own, from copies of the first operand, taken before them, and of the
    /// gradient, behind them.
    FromPart,
    /// The first operand's over the gradient that has come; the second's is added up first, a row
    /// for every multiprocessor.
    OverGradient,
    /// Over the operands themselves, which were saved.
    OverOperands,
}

impl Tape {
    /// A product whose result is there already: it takes and frees its workspace.
    pub fn multiplies_into(&self) {
        self.state.borrow_mut().multiply_with_workspace(false);
    }

    /// A norm that saves its input and one fp32 number per row; its input's gradient takes the
    /// place of its output's (`rms_norm.py`).
    pub fn norm_in_place<'t>(
        &'t self,
        x: &Var<'t>,
        weight: Option<&Var<'t>>,
        rows: Form,
    ) -> Var<'t> {
        self.norm_written(x, weight, rows, Writes::OverGradient)
    }

    /// A norm that saves its input and one fp32 number per row, and reads copies of its input and,
    /// in backward, of both (`expect_contiguous` in
    /// `aten/src/ATen/native/cuda/layer_norm_kernel.cu`, PyTorch 2.15).
    pub fn norm_of_copy<'t>(
        &'t self,
        x: &Var<'t>,
        weight: Option<&Var<'t>>,
        rows: Form,
    ) -> Var<'t> {
        let _copy = self.constant("norm input in order", x.form(), x.dtype());
        self.norm_written(x, weight, rows, Writes::FromCopies)
    }

    /// A kernel of a part of a joint product, of which it reads a copy, and of the gradient another
    /// (`layer_norm_backward_cuda` in the same file).
    pub fn kernel_of_part<'t>(
        &'t self,
        operands: &[&Var<'t>],
        results: &[(&'static str, Form, DType)],
    ) -> Var<'t> {
        let copied = |x: &Var<'t>| self.constant("norm input in order", x.form(), x.dtype());
        let _copy = operands.first().map(|x| copied(x));
        let how = (Order::Plain, false, Attends::No, Writes::FromPart);
        self.hand_written(operands, results, 0, how)
    }

    fn norm_written<'t>(
        &'t self,
        x: &Var<'t>,
        weight: Option<&Var<'t>>,
        rows: Form,
        writes: Writes,
    ) -> Var<'t> {
        let results =
            [("norm output", x.form(), x.dtype()), ("norm statistics", rows, DType::Fp32)];
        let how = (x.order(), false, Attends::No, writes);
        match weight {
            Some(weight) => self.hand_written(&[x, weight], &results, 0, how),
            None => self.hand_written(&[x], &results, 0, how),
        }
    }

    /// A gated activation that saves gate and up, over which their gradients are written
    /// (`swiglu.py`).
    pub fn gated_in_place(&self, gate: &Var<'_>, up: &Var<'_>) -> Var<'_> {
        let results = [("down input", gate.form(), gate.dtype())];
        let how = (Order::Plain, false, Attends::No, Writes::OverOperands);
        self.hand_written(&[gate, up], &results, 0, how)
    }
}

impl<'t> Var<'t> {
    /// A copy that lies in memory as the tensor is seen, but in one piece.
    pub fn in_one_piece(self) -> Self {
        let order = self.order;
        self.copy().ordered(order)
    }

    /// Turned in place by tables that are saved, with tokens before heads in memory: what lies
    /// otherwise is copied first (`rope.py`).
    pub fn turned_in_place(self, (cos, sin): (&Var<'t>, &Var<'t>), several: bool) -> Self {
        let order = if several { Order::Swapped } else { Order::Plain };
        let mut x = if self.order == order { self } else { self.copy().ordered(order) };
        let operand = x.operand();
        let mut state = x.tape.state.borrow_mut();
        state.in_place(&[operand, Operand::NOTHING, Operand::NOTHING]);
        x.node = state.node(Rule::Turned(order), [operand, Operand::NOTHING, Operand::NOTHING]);
        state.counted(0);
        state.save(x.node, cos.storage);
        state.save(x.node, sin.storage);
        drop(state);
        x
    }
}

impl State {
    /// The gradient turned back in place; a copy where it lies in another order.
    pub(super) fn turned_back(&mut self, grad: Grad, order: Order) -> Grad {
        if grad.order == order {
            return Grad { is_view: true, ..self.alias(grad, grad.form) };
        }
        self.fresh((grad.form, grad.dtype), order)
    }

    /// One gradient for each operand, of copies.
    pub(super) fn by_copies(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let of_output = self.allocate("gradient in order", grad.form, grad.dtype);
        let mut made = node.operands.map(|operand| {
            wants(operand).then(|| self.fresh((operand.form, operand.dtype), Order::Plain))
        });
        let a = node.operands[0];
        let input = self.allocate("norm input in order", a.form, a.dtype);
        self.release(input);
        self.release(of_output);
        [made[0].take(), made[1].take(), made[2].take()]
    }

    /// One gradient for each operand, of a copy of the first and one of the gradient.
    pub(super) fn by_part(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, ..] = node.operands;
        let input = self.allocate("norm input in order", a.form, a.dtype);
        let made = node.operands.map(|operand| {
            wants(operand).then(|| self.fresh((operand.form, operand.dtype), Order::Plain))
        });
        let of_output = self.allocate("gradient in order", grad.form, grad.dtype);
        self.release(of_output);
        self.release(input);
        made
    }

    /// The input's gradient takes the place of the output's; that of the scale is summed in fp32.
    pub(super) fn over_gradient(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let sums = if wants(b) {
            let elements = self.elements(b.form);
            self.take_scratch(
                "sums of every multiprocessor",
                MULTIPROCESSORS.saturating_mul(elements).saturating_mul(WIDE),
            )
        } else {
            NONE
        };
        let input = wants(a).then(|| Grad { is_view: true, ..self.alias(grad, a.form) });
        let scale = wants(b).then(|| {
            let sum = self.fresh((b.form, DType::Fp32), Order::Plain);
            if b.dtype == DType::Fp32 {
                return sum;
            }
            let cast = self.fresh((b.form, b.dtype), Order::Plain);
            self.release(sum.storage);
            cast
        });
        self.release(sums);
        [input, scale, None]
    }
}
