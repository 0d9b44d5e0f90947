//! The autograd formula of every rule: which gradients it makes, in which order, and what it takes
//! for a moment beside them (`tools/autograd/derivatives.yaml`, PyTorch 2.15; the generated code
//! goes through the operands by name).

mod products;
use super::state::{Grad, NONE, Node, Operand, Rule, State, at, count};
use super::{Form, Order};
use crate::config::Dispatch;
use crate::ops::tensor::{Dim, Shape};
use crate::units::DType;

/// True if a gradient of the operand is wanted.
pub(super) const fn wants(operand: Operand) -> bool {
    operand.node != NONE
}

/// A gradient in that memory, with the operand's shape and format.
pub(super) const fn like(operand: Operand, storage: u32, order: Order) -> Grad {
    Grad { storage, form: operand.form, dtype: operand.dtype, order, is_view: false }
}

impl State {
    pub(super) fn fresh(&mut self, (form, dtype): (Form, DType), order: Order) -> Grad {
        Grad { storage: self.allocate("gradient", form, dtype), form, dtype, order, is_view: false }
    }

    pub(super) fn alias(&mut self, grad: Grad, form: Form) -> Grad {
        self.hold(grad.storage);
        Grad { form, ..grad }
    }

    /// Seen in another shape.
    fn view(&mut self, grad: Grad, form: Form) -> Grad {
        Grad { is_view: true, ..self.alias(grad, form) }
    }

    /// The gradients of a node's operands.
    pub(super) fn formula(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        self.before_formula(node, (grad.form, grad.dtype));
        let made = self.gradients(node, grad);
        self.after_formula();
        made
    }

    fn gradients(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, _, _] = node.operands;
        match node.rule {
            Rule::Add
            | Rule::Sub
            | Rule::Mul
            | Rule::Times
            | Rule::Div
            | Rule::Unary { .. }
            | Rule::Exchanged(_)
            | Rule::Clamp(_)
            | Rule::Softmax
            | Rule::IntoZeros
            | Rule::AtRows(_)
            | Rule::Embedding(_)
            | Rule::Script(_) => self.elementwise(node, grad),
            Rule::AtMost | Rule::Where => self.chosen(node, grad),
            Rule::Larger => self.larger_back(node, grad),
            Rule::Deviation => [Some(self.deviation(grad, a)), None, None],
            Rule::Variance => [Some(self.variance_back(grad, a)), None, None],
            Rule::Linear { .. }
            | Rule::Grouped(_)
            | Rule::Convolution
            | Rule::Patched
            | Rule::Scatter
            | Rule::Put(_)
            | Rule::Solve(_)
            | Rule::Matmul { .. }
            | Rule::Kernel { .. }
            | Rule::Packed(_)
            | Rule::Float8(_)
            | Rule::Tiled(_)
            | Rule::HeadAndLoss(_)
            | Rule::Saved => self.multiplied(node, grad),
            _ => self.moved(node, grad),
        }
    }

    /// Of views, copies and joined tensors.
    fn moved(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        match node.rule {
            Rule::View if grad.order != Order::Plain => {
                [Some(self.fresh((a.form, grad.dtype), Order::Plain)), None, None]
            }
            Rule::View => [Some(self.view(grad, grad.form)), None, None],
            Rule::Pass => [Some(self.alias(grad, grad.form)), None, None],
            Rule::Swap => {
                [Some(Grad { order: grad.order.swapped(), ..self.view(grad, a.form) }), None, None]
            }
            Rule::Heads if grad.order == Order::Plain => {
                [Some(self.fresh((a.form, grad.dtype), Order::Plain)), None, None]
            }
            Rule::Heads if grad.order == Order::Columns => {
                [Some(self.view(grad, a.form)), None, None]
            }
            Rule::Heads | Rule::Spread => {
                [Some(Grad { order: Order::Plain, ..self.view(grad, a.form) }), None, None]
            }
            Rule::Merge => {
                [Some(Grad { order: Order::Swapped, ..self.view(grad, a.form) }), None, None]
            }
            Rule::Split => {
                let joined = self.fresh((a.form, a.dtype), Order::Plain);
                for part in std::mem::take(&mut self.joined).iter().flatten() {
                    self.release(part.storage);
                }
                [Some(joined), None, None]
            }
            Rule::Fill => self.filled(grad, a, b),
            Rule::AddToPart(part) => {
                let rest = self.fresh((a.form, grad.dtype), Order::Plain);
                let copy = self.fresh((part, grad.dtype), Order::Plain);
                [Some(rest), Some(copy), None]
            }
            Rule::Turned(order) => [Some(self.turned_back(grad, order)), None, None],
            Rule::Cat => {
                node.operands.map(|operand| wants(operand).then(|| self.view(grad, operand.form)))
            }
            _ => [None; 3],
        }
    }

    /// Keeps the gradient of one part of a split tensor until all have come.
    pub(super) fn keep_part(&mut self, split: u32, number: usize, grad: Grad) {
        let Some(node) = self.nodes.get_mut(at(split)) else { return };
        let known = self.parts.iter().position(|(of, _)| *of == split).unwrap_or_else(|| {
            self.parts.push((split, Vec::new()));
            self.parts.len() - 1
        });
        if let Some((_, parts)) = self.parts.get_mut(known) {
            parts.resize(parts.len().max(number + 1), None);
            if let Some(part) = parts.get_mut(number) {
                *part = Some(grad);
            }
        }
        if node.grad.is_none() {
            // The split runs once any part has come; which gradient stands for it does not matter.
            node.grad = Some(Grad { storage: NONE, ..grad });
        }
    }

    /// The gradients of the parts of a split tensor, which have done their work once its node runs.
    pub(super) fn take_parts(&mut self, split: u32) -> Vec<Option<Grad>> {
        let place = self.parts.iter().position(|(of, _)| *of == split);
        place.map_or_else(Vec::new, |place| self.parts.swap_remove(place).1)
    }

    /// Of elementwise arithmetic.
    fn elementwise(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        match node.rule {
            Rule::Add => {
                let first = wants(a).then(|| self.alias(grad, grad.form));
                [first, wants(b).then(|| self.alias(grad, grad.form)), None]
            }
            Rule::Sub => {
                let second = wants(b).then(|| self.fresh((grad.form, grad.dtype), grad.order));
                [wants(a).then(|| self.alias(grad, grad.form)), second, None]
            }
            Rule::Mul => {
                let shape = (grad.form, grad.dtype);
                let second = wants(b).then(|| self.fresh(shape, grad.order));
                [wants(a).then(|| self.fresh(shape, grad.order)), second, None]
            }
            Rule::Times => {
                let conjugate = self.fresh((b.form, b.dtype), Order::Plain);
                let made = self.fresh((a.form, a.dtype), grad.order);
                self.release(conjugate.storage);
                [Some(made), None, None]
            }
            Rule::Div => self.quotient(grad, wants(a), wants(b)),
            Rule::Unary { temporaries, elementwise } => [
                Some(self.made_after(
                    a,
                    temporaries,
                    if elementwise { grad.order } else { Order::Plain },
                )),
                None,
                None,
            ],
            Rule::IntoZeros => {
                [Some(self.made_after(a, self.copies_zeros(), Order::Plain)), None, None]
            }
            Rule::AtRows(index) => {
                let made = self.made_after(a, self.copies_zeros(), Order::Plain);
                self.index_back(a.form, index);
                [Some(made), None, None]
            }
            Rule::Softmax => [Some(self.softmax_back(a)), None, None],
            Rule::Embedding(tokens) => {
                let tokens = self.elements(tokens);
                let storage = self.embedding_back((a.form, a.dtype), tokens);
                [Some(like(a, storage, Order::Plain)), None, None]
            }
            Rule::Exchanged(before) => [Some(self.sent_back(a, before, grad)), None, None],
            Rule::Clamp(masks) => [Some(self.clamped(a, masks, grad.order)), None, None],
            Rule::Script(steps) => {
                let storage = self.play(steps, "backward temporary", a.form, a.dtype);
                [Some(like(a, storage, grad.order)), None, None]
            }
            _ => [None; 3],
        }
    }

    /// Of a value held between limits: masks of the elements within each, and a zero for the
    /// others.
    fn clamped(&mut self, a: Operand, masks: u8, order: Order) -> Grad {
        let scalar = self.form(Shape::of([Dim("scalar", 1)]));
        let zero = self.allocate("zero", scalar, a.dtype);
        let masks: Vec<u32> =
            (0..masks).map(|_| self.allocate("within limits", a.form, DType::Mask)).collect();
        let made = self.fresh((a.form, a.dtype), order);
        for storage in masks.into_iter().chain([zero]) {
            self.release(storage);
        }
        made
    }

    /// How many tensors of zeros stand beside one into which something is written: PyTorch writes
    /// into the zeros themselves, but into a copy under a tracker, whose tensors are of a subclass
    /// (`areAnyTensorSubclassLike` in `torch/csrc/autograd/FunctionsManual.cpp`).
    const fn copies_zeros(&self) -> u8 {
        match self.dispatch {
            Dispatch::Cuda => 0,
            Dispatch::CpuTracker => 1,
        }
    }

    /// CUDA's kernel reads `grad * output`, which is a tensor of its own
    /// (`softmax_backward_cuda_out` in `aten/src/ATen/native/cuda/SoftMax.cu`); the CPU's
    /// multiplies as it goes.
    fn softmax_back(&mut self, operand: Operand) -> Grad {
        let made = self.fresh((operand.form, operand.dtype), Order::Plain);
        if self.dispatch == Dispatch::Cuda {
            let product =
                self.allocate("gradient times probabilities", operand.form, operand.dtype);
            self.release(product);
        }
        made
    }

    /// A gradient sent between ranks, after so many temporaries of all tokens.
    fn sent_back(&mut self, operand: Operand, temporaries: u8, grad: Grad) -> Grad {
        let whole = [operand.form, grad.form].into_iter().max_by_key(|form| self.elements(*form));
        let form = whole.unwrap_or(operand.form);
        let held: Vec<u32> = (0..temporaries)
            .map(|_| self.allocate("backward temporary", form, operand.dtype))
            .collect();
        let made = self.fresh((operand.form, operand.dtype), Order::Plain);
        for temporary in held {
            self.release(temporary);
        }
        made
    }

    /// One gradient like the operand, after so many temporaries.
    fn made_after(&mut self, operand: Operand, temporaries: u8, order: Order) -> Grad {
        let Operand { form, dtype, .. } = operand;
        let first = count(self.storages.len());
        (0..temporaries).for_each(|_| _ = self.allocate("backward temporary", form, dtype));
        let behind = count(self.storages.len());
        let made = self.fresh((form, dtype), order);
        (first..behind).for_each(|temporary| self.release(temporary));
        made
    }

    /// Gradients of a choice made by comparing.
    fn chosen(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        if node.rule == Rule::AtMost {
            return [Some(self.where_larger(Grad { form: a.form, ..grad })), None, None];
        }
        let scalar = self.form(Shape::of([Dim("scalar", 1)]));
        let mut made = [a, b].map(|operand| {
            wants(operand).then(|| {
                let zero = self.allocate("zero", scalar, grad.dtype);
                let made = self.fresh((grad.form, grad.dtype), grad.order);
                self.release(zero);
                made
            })
        });
        [made[0].take(), made[1].take(), None]
    }

    /// `CopySlices`: a copy of the gradient in which the part is zero, and a copy of the part in
    /// the operand's format.
    fn filled(&mut self, grad: Grad, whole: Operand, part: Operand) -> [Option<Grad>; 3] {
        let rest = self.fresh((whole.form, grad.dtype), Order::Plain);
        let mut copy = self.fresh((part.form, grad.dtype), Order::Plain);
        if whole.node == NONE {
            self.release(rest.storage);
            return [None, Some(copy), None];
        }
        let zeros = self.fresh((part.form, grad.dtype), Order::Plain);
        copy = self.fit(copy, part);
        self.release(zeros.storage);
        [Some(rest), Some(copy), None]
    }

    /// `grad / (2 · deviation)`, 0 where that is 0, times the operand less its mean.
    fn deviation(&mut self, grad: Grad, operand: Operand) -> Grad {
        let rows = (grad.form, grad.dtype);
        let doubled = self.fresh(rows, Order::Plain);
        let quotient = self.fresh(rows, Order::Plain);
        let zero = self.allocate("deviations of 0", grad.form, DType::Mask);
        for storage in [doubled.storage, zero] {
            self.release(storage);
        }
        let factor = self.fresh(rows, Order::Plain);
        let mean = self.fresh(rows, Order::Plain);
        let centred = self.fresh((operand.form, operand.dtype), Order::Plain);
        let made = self.fresh((operand.form, operand.dtype), Order::Plain);
        for held in [quotient, factor, mean, centred] {
            self.release(held.storage);
        }
        made
    }

    /// `grad / b`, and `-grad · (a / b) / b`.
    fn quotient(&mut self, grad: Grad, a: bool, b: bool) -> [Option<Grad>; 3] {
        let shape = (grad.form, grad.dtype);
        let second = b.then(|| {
            // The three operands of the last product live until it is made.
            let operands = [(); 3].map(|()| self.fresh(shape, grad.order));
            let product = self.fresh(shape, grad.order);
            for operand in operands {
                self.release(operand.storage);
            }
            product
        });
        [a.then(|| self.fresh(shape, grad.order)), second, None]
    }
}
