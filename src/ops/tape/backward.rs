//! Backward: each node's gradients in the order the autograd engine makes and frees them.

use super::state::{Arrival, Frame, Grad, Kind, NONE, Node, Operand, Order, Recording, Rule, State, When, as_leaf, at, count};
use super::{Form, Tape, Var};
use crate::ops::tensor::{Dim, Shape};
use crate::units::DType;

/// What backward asks of the model.
pub(crate) trait Model {
    /// Runs the forward of a checkpointed frame again; `input` is what was kept of it.
    fn recompute<'t>(&self, tape: &'t Tape, frame: usize, input: Var<'t>);
    /// Backward comes to a layer.
    fn enters(&self, tape: &Tape, layer: u16);
    /// Backward is through with a layer.
    fn leaves(&self, tape: &Tape, layer: u16);
}

impl Tape {
    /// Runs a part under checkpointing: only its input is kept, and it runs again in backward.
    ///
    /// `beside` are the further tensors that the part reads.
    pub fn checkpoint<'t, T>(&'t self, input: &Var<'t>, beside: &[Var<'t>], part: impl FnOnce(&'t Self, &Var<'t>) -> T) -> T {
        let frame = {
            let mut state = self.state.borrow_mut();
            let inputs: Vec<u32> = std::iter::once(input).chain(beside).map(|input| input.storage).collect();
            for input in &inputs {
                state.hold(*input);
            }
            let first = count(state.nodes.len());
            let frame = Frame { inputs, first, last: first, saves: 0, holders: 0, recomputed: false };
            state.frames.push(frame);
            let frame = count(state.frames.len()) - 1;
            state.open_frame = Some(frame);
            frame
        };
        let output = part(self, input);
        let mut state = self.state.borrow_mut();
        state.open_frame = None;
        let last = count(state.nodes.len());
        if let Some(frame) = state.frames.get_mut(at(frame)) {
            frame.last = last;
        }
        drop(state);
        output
    }

    /// `loss.backward()`; of a stage without a loss, from the gradient of its output that it was sent.
    pub fn backward(&self, loss: &Var<'_>, model: &dyn Model) {
        let root = {
            let mut state = self.state.borrow_mut();
            let storage = state.allocate("gradient of the loss", loss.form, loss.dtype);
            // `loss.backward()` holds it to the end.
            state.hold(storage);
            state.start(loss.node, Grad { storage, form: loss.form, dtype: loss.dtype, order: Order::Plain });
            storage
        };
        let mut here = None;
        let mut next = count(self.state.borrow().nodes.len());
        while next > 0 {
            next -= 1;
            let Some((layer, frame)) = self.state.borrow().ready(next) else { continue };
            if here != Some(layer) {
                if let Some(left) = here {
                    model.leaves(self, left);
                }
                self.state.borrow_mut().segment(When::Backward, layer);
                model.enters(self, layer);
                here = Some(layer);
            }
            if let Some(frame) = frame {
                self.recompute(frame, model);
            }
            self.state.borrow_mut().run(next);
        }
        if let Some(left) = here {
            model.leaves(self, left);
        }
        self.state.borrow_mut().release(root);
    }

    fn recompute(&self, frame: u32, model: &dyn Model) {
        let input = {
            let mut state = self.state.borrow_mut();
            let Some(found) = state.frames.get_mut(at(frame)) else { return };
            found.recomputed = true;
            let (wanted, storage) = (found.saves, found.inputs.first().copied().unwrap_or(NONE));
            state.recording = Some(Recording { tensors: Vec::new(), wanted });
            state.kind = Kind::Recomputed;
            state.hold(storage);
            let (form, dtype) = state.storages.get(at(storage)).map_or((0, DType::Fp32), |found| (found.form, found.dtype));
            Var::made(self, storage, form, dtype, 0)
        };
        let op = self.state.borrow().op;
        model.recompute(self, at(frame), input);
        let mut state = self.state.borrow_mut();
        state.stopped = false;
        state.kind = Kind::Temporary;
        state.op = op;
        let recorded = state.recording.take().unwrap_or_default().tensors;
        state.hand_out(frame, &recorded);
    }
}

impl State {
    fn start(&mut self, node: u32, grad: Grad) {
        if let Some(node) = self.nodes.get_mut(at(node)) {
            node.grad = Some(grad);
        }
    }

    /// The layer of a node that has a gradient, and the frame it needs recomputed.
    fn ready(&self, node: u32) -> Option<(u16, Option<u32>)> {
        let node = self.nodes.get(at(node)).filter(|node| node.grad.is_some())?;
        let wants = |frame: &u32| self.frames.get(at(*frame)).is_some_and(|frame| !frame.recomputed);
        Some((node.layer, Some(node.frame).filter(|frame| node.saves > 0 && wants(frame))))
    }

    /// Keeps the gradient of one part of a split tensor until all have come.
    fn keep_part(&mut self, node: u32, number: usize, grad: Grad) {
        let Some(node) = self.nodes.get_mut(at(node)) else { return };
        if let Some(part) = node.parts.get_mut(number) {
            *part = Some(grad);
        }
        if node.grad.is_none() {
            // The split runs once any part has come; which gradient stands for it does not matter.
            node.grad = Some(Grad { storage: NONE, ..grad });
        }
    }

    /// Plays a script; what is left is its result.
    pub(super) fn play(&mut self, steps: &[i8], name: &'static str, form: Form, dtype: DType) -> u32 {
        let mut slots = [NONE; 16];
        let mut last = NONE;
        for step in steps {
            let Some(slot) = slots.get_mut(usize::from(step.unsigned_abs())) else { continue };
            if *step > 0 {
                last = self.allocate(name, form, dtype);
                *slot = last;
            } else {
                let storage = std::mem::replace(slot, NONE);
                self.release(storage);
            }
        }
        last
    }

    /// Gives recomputed tensors to the nodes that saved their like.
    fn hand_out(&mut self, frame: u32, tensors: &[u32]) {
        let Some((first, last)) = self.frames.get(at(frame)).map(|frame| (at(frame.first), at(frame.last))) else { return };
        let mut tensors = tensors.iter();
        for node in self.nodes.iter_mut().take(last).skip(first).filter(|node| node.frame == frame) {
            let slots = usize::from(node.saves);
            for (slot, tensor) in node.saved.iter_mut().take(slots).zip(tensors.by_ref()) {
                *slot = *tensor;
            }
        }
    }

    /// Runs one node: its gradients, sums over broadcast dimensions, and what they are handed to.
    fn run(&mut self, number: u32) {
        let Some(found) = self.nodes.get_mut(at(number)) else { return };
        let Some(mut grad) = found.grad.take() else { return };
        let node = found.clone();
        self.op = node.op;
        if let Rule::Part(number) = node.rule {
            self.keep_part(node.operands[0].node, usize::from(number), grad);
            return;
        }
        let copied = match node.rule {
            // The product's operands are merged over sequences and heads, which a transposed gradient does not allow.
            Rule::Matmul { batched: true, .. } => grad.order != Order::Plain,
            // Complex numbers are seen in what lies side by side, not in a part of a tensor.
            Rule::Times => {
                self.storages.get(at(grad.storage)).is_some_and(|whole| self.elements(whole.form) > self.elements(grad.form))
            }
            _ => false,
        };
        if copied {
            let copy = self.fresh((grad.form, grad.dtype), Order::Plain);
            self.release(grad.storage);
            grad = copy;
        }
        let mut made = self.formula(&node, grad);
        let checkpointed = node.frame != NONE;
        if checkpointed {
            self.let_go(&node);
        }
        for (operand, made) in node.operands.iter().zip(&mut made) {
            if let Some(grad) = made.as_mut().filter(|_| operand.node != NONE) {
                *grad = self.fit(*grad, *operand);
            }
        }
        self.release(grad.storage);
        if !checkpointed {
            self.let_go(&node);
        }
        let mut arrived = [NONE; 3];
        for (at, (operand, made)) in node.operands.iter().zip(made).enumerate() {
            let Some(grad) = made else { continue };
            if let Some(param) = as_leaf(operand.node) {
                if self.wait(param, grad) {
                    arrived[at] = param;
                }
            } else {
                self.hand_on(operand.node, grad);
            }
        }
        for param in arrived {
            self.arrive(param);
        }
    }

    /// Frees what a node saved, and its frame with the last node.
    fn let_go(&mut self, node: &Node) {
        for storage in node.saved.iter().take(usize::from(node.saves)) {
            self.release(*storage);
        }
        if node.saves > 0
            && let Some(frame) = self.frames.get_mut(at(node.frame))
        {
            frame.holders = frame.holders.saturating_sub(1);
            if frame.holders == 0 {
                for input in std::mem::take(&mut frame.inputs) {
                    self.release(input);
                }
            }
        }
    }

    fn fresh(&mut self, (form, dtype): (Form, DType), order: Order) -> Grad {
        Grad { storage: self.allocate("gradient", form, dtype), form, dtype, order }
    }

    fn alias(&mut self, grad: Grad, form: Form) -> Grad {
        self.hold(grad.storage);
        Grad { form, ..grad }
    }

    /// The gradients of a node's operands.
    #[expect(clippy::too_many_lines, reason = "one arm for each rule, like PyTorch's table of derivatives")]
    fn formula(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, c] = node.operands;
        let wants = |operand: Operand| operand.node != NONE;
        match node.rule {
            Rule::View if grad.order != Order::Plain => [Some(self.fresh((a.form, grad.dtype), Order::Plain)), None, None],
            Rule::View | Rule::Pass => [Some(self.alias(grad, grad.form)), None, None],
            Rule::Swap => [Some(Grad { order: grad.order.swapped(), ..self.alias(grad, a.form) }), None, None],
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
            Rule::Unary { temporaries, elementwise } => {
                let shape = (a.form, a.dtype);
                let held: Vec<u32> = (0..temporaries).map(|_| self.allocate("backward temporary", a.form, a.dtype)).collect();
                let made = self.fresh(shape, if elementwise { grad.order } else { Order::Plain });
                for storage in held {
                    self.release(storage);
                }
                [Some(made), None, None]
            }
            Rule::Clamp(masks) => {
                let scalar = self.form(Shape::of([Dim("scalar", 1)]));
                let zero = self.allocate("zero", scalar, a.dtype);
                let masks: Vec<u32> = (0..masks).map(|_| self.allocate("within limits", a.form, DType::Mask)).collect();
                let made = self.fresh((a.form, a.dtype), grad.order);
                masks.into_iter().chain([zero]).for_each(|storage| self.release(storage));
                [Some(made), None, None]
            }
            Rule::Heads if grad.order == Order::Plain => [Some(self.fresh((a.form, grad.dtype), Order::Plain)), None, None],
            Rule::Heads | Rule::Spread => [Some(Grad { order: Order::Plain, ..self.alias(grad, a.form) }), None, None],
            Rule::Merge => [Some(Grad { order: Order::Swapped, ..self.alias(grad, a.form) }), None, None],
            Rule::Script(steps) => {
                let storage = self.play(steps, "backward temporary", a.form, a.dtype);
                [Some(Grad { storage, form: a.form, dtype: a.dtype, order: grad.order }), None, None]
            }
            Rule::Part(_) => [None; 3],
            Rule::Split => {
                let joined = self.fresh((a.form, a.dtype), Order::Plain);
                for part in node.parts.into_iter().flatten() {
                    self.release(part.storage);
                }
                [Some(joined), None, None]
            }
            Rule::Fill => self.filled(grad, a, b),
            Rule::Cat => [wants(a).then(|| self.alias(grad, a.form)), wants(b).then(|| self.alias(grad, b.form)), None],
            Rule::Linear { bias: true } => {
                let input = wants(a).then(|| self.product(node, a));
                let weight = wants(b).then(|| self.product(node, b));
                [input, weight, wants(c).then(|| self.alias(grad, grad.form))]
            }
            Rule::Linear { bias: false } => {
                let weight = wants(b).then(|| self.product(node, b));
                [wants(a).then(|| self.product(node, a)), weight, None]
            }
            Rule::Matmul { scaled: true, .. } => {
                let first = wants(a).then(|| self.scaled(node, a, Order::Plain));
                [first, wants(b).then(|| self.scaled(node, b, Order::Columns)), None]
            }
            Rule::Matmul { transposed, .. } => {
                let order = if transposed { Order::Columns } else { Order::Plain };
                let second = wants(b).then(|| Grad { order, ..self.product(node, b) });
                [wants(a).then(|| self.product(node, a)), second, None]
            }
            Rule::Kernel { orders } => {
                let mut made = [None; 3];
                for ((made, operand), order) in made.iter_mut().zip(node.operands).zip(orders) {
                    if wants(operand) {
                        *made = Some(self.fresh((operand.form, operand.dtype), order));
                    }
                }
                made
            }
            Rule::Saved => {
                let alias = |state: &mut Self, slot: usize, operand: Operand| {
                    let storage = node.saved.get(slot).copied().unwrap_or(NONE);
                    state.alias(Grad { storage, form: operand.form, dtype: operand.dtype, order: Order::Plain }, operand.form)
                };
                [wants(a).then(|| alias(self, 0, a)), wants(b).then(|| alias(self, 1, b)), None]
            }
        }
    }

    fn product(&mut self, node: &Node, operand: Operand) -> Grad {
        self.count_flops(node.flops, true);
        self.fresh((operand.form, operand.dtype), Order::Plain)
    }

    fn scaled(&mut self, node: &Node, operand: Operand, order: Order) -> Grad {
        let product = self.product(node, operand);
        let scaled = self.fresh((operand.form, operand.dtype), order);
        self.release(product.storage);
        scaled
    }

    /// `CopySlices`: a copy of the gradient in which the part is zero, and a copy of the part in the operand's format.
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

    /// A gradient in its operand's shape and format: summed over broadcast dimensions, then cast.
    fn fit(&mut self, grad: Grad, operand: Operand) -> Grad {
        let mut grad = grad;
        if self.elements(grad.form) > self.elements(operand.form) {
            let summed = self.fresh((operand.form, grad.dtype), Order::Plain);
            self.release(grad.storage);
            grad = summed;
        }
        if grad.dtype != operand.dtype {
            let cast = self.fresh((operand.form, operand.dtype), grad.order);
            self.release(grad.storage);
            grad = cast;
        }
        grad.form = operand.form;
        grad
    }

    /// Adds a gradient to those a node has received: never in place, since the first may be seen elsewhere.
    fn hand_on(&mut self, node: u32, grad: Grad) {
        let before = self.nodes.get(at(node)).and_then(|node| node.grad);
        let sum = self.summed(before, grad);
        if let Some(node) = self.nodes.get_mut(at(node)) {
            node.grad = Some(sum);
        } else {
            self.release(sum.storage);
        }
    }

    fn summed(&mut self, before: Option<Grad>, grad: Grad) -> Grad {
        let Some(before) = before else { return grad };
        let sum = self.fresh((grad.form, before.dtype), before.order);
        self.release(before.storage);
        self.release(grad.storage);
        sum
    }

    /// A gradient reaches a parameter; whether it is the last of this backward.
    fn wait(&mut self, param: u32, grad: Grad) -> bool {
        let before = self.parameters.get(at(param)).and_then(|parameter| parameter.waiting);
        let sum = self.summed(before, grad);
        let Some(parameter) = self.parameters.get_mut(at(param)) else { return false };
        parameter.waiting = Some(sum);
        parameter.uses = parameter.uses.saturating_sub(1);
        parameter.uses == 0
    }

    /// A parameter's gradient is complete: it is kept, added to the one that is there, or waits for its group.
    fn arrive(&mut self, param: u32) {
        let Some(parameter) = self.parameters.get_mut(at(param)) else { return };
        let Some(grad) = parameter.waiting.take() else { return };
        let (there, copied) = (parameter.gradient != NONE, parameter.copy != NONE);
        let kept = match self.arrival {
            Arrival::Kept if there => NONE,
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
            Arrival::Kept | Arrival::Pending => {
                let shared = self.storages.get(at(grad.storage)).is_some_and(|storage| storage.refs > 1);
                let kept = if shared { self.fresh((grad.form, grad.dtype), Order::Plain).storage } else { grad.storage };
                if !shared {
                    self.hold(grad.storage);
                }
                if self.arrival == Arrival::Kept {
                    self.turn_into(kept, Kind::Gradient);
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
    fn gradient(&mut self, grad: Grad, dtype: DType) -> u32 {
        let kind = std::mem::replace(&mut self.kind, Kind::Gradient);
        let storage = self.allocate("gradient", grad.form, dtype);
        self.kind = kind;
        storage
    }
}
