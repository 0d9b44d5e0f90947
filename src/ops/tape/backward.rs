//! Backward: each node's gradients in the order the autograd engine makes and frees them.

mod arrivals;
use super::Order;
use super::keeps::KeepsProducts;
use super::state::{
    Arrival, Grad, Kind, NONE, Node, Operand, Recording, Rule, State, When, as_leaf, at, count,
};
use super::{Form, Param, Tape, Var};
use crate::units::DType;

/// A part of a block that can run again.
pub(crate) trait Again {
    /// Its forward, from the inputs that were kept.
    fn run<'t>(&self, tape: &'t Tape, inputs: Vec<Var<'t>>);
}

// `Debug` is that of the trait: as a supertrait it would bring every implementation's into the
// page's program.
impl std::fmt::Debug for dyn Again + '_ {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a part that runs again")
    }
}

/// Calls from backward to the model.
pub(crate) trait Model {
    /// Runs the forward of a checkpointed frame again; `input` is the tensor that was kept of it.
    fn recompute<'t>(&self, tape: &'t Tape, frame: usize, input: Var<'t>);
    /// Backward enters a layer.
    fn enters(&self, tape: &Tape, layer: u16);
    /// Backward leaves a layer.
    fn leaves(&self, tape: &Tape, layer: u16);
    /// The gradient of a parameter is complete.
    fn arrives(&self, tape: &Tape, param: Param);
}

impl Tape {
    /// `loss.backward()`; of a stage without a loss, from the gradient of its output that it was
    /// sent.
    pub fn backward(&self, loss: &Var<'_>, model: &dyn Model) {
        let root = {
            let mut state = self.state.borrow_mut();
            let storage = state.allocate("gradient of the loss", loss.form, loss.dtype);
            // `loss.backward()` holds it to the end.
            state.hold(storage);
            state.start(
                loss.node,
                Grad {
                    storage,
                    form: loss.form,
                    dtype: loss.dtype,
                    order: Order::Plain,
                    is_view: false,
                },
            );
            storage
        };
        let mut here = None;
        let mut next = count(self.state.borrow().nodes.len());
        while next > 0 {
            next -= 1;
            let mut state = self.state.borrow_mut();
            let Some((layer, frame)) = state.ready(next) else { continue };
            if here != Some(layer) || frame.is_some() {
                drop(state);
                self.comes_to(layer, &mut here, model);
                if let Some(frame) = frame {
                    self.recompute(frame, model);
                }
                state = self.state.borrow_mut();
            }
            let from = state.log.len();
            state.run(next);
            state.note_node(next, from);
            if !state.arrived.is_empty() {
                let arrived = std::mem::take(&mut state.arrived);
                drop(state);
                for param in &arrived {
                    model.arrives(self, *param);
                }
                self.state.borrow_mut().arrived = arrived;
            }
        }
        if let Some(left) = here {
            model.leaves(self, left);
        }
        let mut state = self.state.borrow_mut();
        let leaves = std::mem::take(&mut state.leaves);
        let ended = if state.hands_on { state.handed_on.replace(leaves) } else { Some(leaves) };
        for leaf in ended.into_iter().flatten() {
            state.release(leaf);
        }
        state.release(root);
    }

    /// How many gradients the forwards since the last call want of each parameter.
    pub fn take_uses(&self) -> Vec<u32> {
        let mut state = self.state.borrow_mut();
        state.parameters.iter_mut().map(|found| std::mem::take(&mut found.uses)).collect()
    }

    /// The next backward is of the forwards that want those.
    pub fn give_uses(&self, uses: &[u32]) {
        let mut state = self.state.borrow_mut();
        for (parameter, uses) in state.parameters.iter_mut().zip(uses) {
            parameter.uses = *uses;
        }
    }

    /// From now on, gradients of what the stage received stay until the next backward has ended, as
    /// the pipeline's list of messages holds them; or those are let go.
    pub fn hands_gradients_on(&self, hands_on: bool) {
        let mut state = self.state.borrow_mut();
        state.hands_on = hands_on;
        for leaf in state.handed_on.take().into_iter().flatten() {
            state.release(leaf);
        }
    }

    /// Backward leaves the layer where it is for another one, if it is another.
    fn comes_to(&self, layer: u16, here: &mut Option<u16>, model: &dyn Model) {
        if *here == Some(layer) {
            return;
        }
        if let Some(left) = here.replace(layer) {
            model.leaves(self, left);
        }
        self.state.borrow_mut().segment(When::Backward, layer);
        model.enters(self, layer);
    }

    /// The frame that was opened last lies in the one before, which runs again first: a checkpoint
    /// within a checkpoint.
    pub fn lies_within(&self) {
        if let Some(frame) = self.state.borrow_mut().frames.last_mut() {
            frame.follows = true;
        }
    }

    fn recompute(&self, frame: u32, model: &dyn Model) {
        let before =
            frame.checked_sub(1).filter(|before| self.state.borrow().waits_for(frame, *before));
        if let Some(before) = before {
            self.recompute(before, model);
        }
        let (inputs, part, wants) = {
            let mut state = self.state.borrow_mut();
            let Some(found) = state.frames.get_mut(at(frame)) else { return };
            found.recomputed = true;
            let (wanted, inputs, part, last) =
                (found.saves, found.inputs.clone(), found.part.clone(), found.last);
            let (wants, keeps) = (found.wanted, !found.kept.is_empty());
            let compiled =
                state.nodes.get(at(last).saturating_sub(1)).is_some_and(|node| node.compiled);
            // A compiler leaves out tensors that nobody reads.
            let to_the_end = if compiled { state.whole_again } else { state.to_the_end };
            let wanted = if to_the_end { NONE } else { wanted };
            state.keeps = keeps.then_some(KeepsProducts { products: 0, again: Some(frame) });
            state.recording = Some(Recording { tensors: Vec::new(), wanted });
            state.kind = Kind::Recomputed;
            (inputs, part, wants)
        };
        let op = self.state.borrow().op;
        if let Some(part) = part {
            let again =
                |(storage, (form, dtype, order, wanted)): (&u32, &(Form, DType, Order, bool))| {
                    let input = self.again(*storage, *form, *dtype).ordered(*order);
                    if *wanted { input.wanted() } else { input }
                };
            let inputs = inputs.iter().zip(&part.inputs).map(again).collect();
            self.means(part.copies);
            part.again.run(self, inputs);
            self.means((0, 0, 0));
        } else if let Some(storage) = inputs.first() {
            let found = self
                .state
                .borrow()
                .storages
                .get(at(*storage))
                .map(|found| (found.form, found.dtype));
            let (form, dtype) = found.unwrap_or((0, DType::Fp32));
            let input = self.again(*storage, form, dtype);
            model.recompute(self, at(frame), if wants { input.wanted() } else { input });
        }
        let mut state = self.state.borrow_mut();
        state.keeps = None;
        let unused = state.frames.get_mut(at(frame)).map(|frame| std::mem::take(&mut frame.kept));
        unused.into_iter().flatten().for_each(|kept| state.release(kept));
        for kept in std::mem::take(&mut state.kept_again) {
            state.release(kept);
        }
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
        let wants =
            |frame: &u32| self.frames.get(at(*frame)).is_some_and(|frame| !frame.recomputed);
        Some((node.layer, Some(node.frame).filter(|frame| node.saves > 0 && wants(frame))))
    }

    /// True if a frame runs again behind another one, which has not yet done so.
    fn waits_for(&self, frame: u32, before: u32) -> bool {
        let follows = self.frames.get(at(frame)).is_some_and(|frame| frame.follows);
        follows && self.frames.get(at(before)).is_some_and(|before| !before.recomputed)
    }

    /// Plays a script; the tensor that is left is its result.
    pub(super) fn play(
        &mut self,
        steps: &[i8],
        name: &'static str,
        form: Form,
        dtype: DType,
    ) -> u32 {
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

    /// Runs one node: its gradients, sums over broadcast dimensions, and what they are handed to.
    fn run(&mut self, number: u32) {
        self.arrived.clear();
        let Some(found) = self.nodes.get_mut(at(number)) else { return };
        // Copied before anything is written there, so that the copy need not wait for it.
        let mut node = *found;
        let Some(mut grad) = node.grad.take() else { return };
        found.grad = None;
        self.op = node.op;
        self.joined.clear();
        if node.rule == Rule::Split {
            self.joined = self.take_parts(number);
        }
        if let Rule::Part(number) = node.rule {
            self.keep_part(node.operands[0].node, usize::from(number), grad);
            return;
        }
        if node.rule == Rule::Leaf {
            self.reach_leaf(grad);
            return;
        }
        grad = self.in_order(&node, grad);
        let mut made = self.compiled_formula(&mut node, grad);
        let checkpointed = node.frame != NONE;
        if checkpointed {
            self.let_go(&node);
        }
        for (operand, made) in node.operands.iter().zip(&mut made) {
            let wanted = made.as_mut().filter(|_| operand.node != NONE);
            if let Some(grad) =
                wanted.filter(|grad| grad.form != operand.form || grad.dtype != operand.dtype)
            {
                *grad = self.fit(*grad, *operand);
            }
        }
        self.fuse_no_more();
        self.release(grad.storage);
        if !checkpointed {
            self.let_go(&node);
        }
        self.hand_all_on(&node, made);
        self.compiled = false;
        for number in 0..self.arrived.len() {
            if let Some(param) = self.arrived.get(number).copied() {
                self.arrive(param);
            }
        }
    }

    /// Keeps the gradient of a leaf: a copy where another tensor shares its memory.
    fn reach_leaf(&mut self, grad: Grad) {
        let shared = self.storages.get(at(grad.storage)).is_some_and(|storage| storage.refs > 1);
        let kept = if shared {
            self.fresh((grad.form, grad.dtype), grad.order).storage
        } else {
            grad.storage
        };
        if shared {
            self.release(grad.storage);
        }
        self.leaves.push(kept);
    }

    /// Hands a node's gradients to the nodes and parameters before it.
    fn hand_all_on(&mut self, node: &Node, made: [Option<Grad>; 3]) {
        for (operand, made) in node.operands.iter().zip(made) {
            let Some(grad) = made else { continue };
            if let Some(param) = as_leaf(operand.node) {
                if self.waits_for_the_end(param, grad) {
                    continue;
                }
                self.settle(grad.storage);
                if self.wait(param, grad) {
                    self.arrived.push(param);
                }
            } else {
                self.hand_on(operand.node, grad);
            }
        }
    }

    /// The gradient in the order that a node's formula reads: a copy where it lies otherwise.
    fn in_order(&mut self, node: &Node, grad: Grad) -> Grad {
        let copied = match node.rule {
            // The product's operands are merged over sequences and heads, which a transposed
            // gradient does not allow.
            Rule::Matmul { batched: true, .. } => grad.order != Order::Plain,
            // The rows of several sequences lie column by column, and a product reads them as one
            // matrix.
            Rule::Linear { .. } => {
                let sequences = self.forms.get(usize::from(grad.form)).map(|form| form.0.dims());
                let several =
                    sequences.and_then(|mut dims| dims.next()).is_some_and(|first| first.1 > 1);
                grad.order == Order::Columns && several
            }
            // Complex numbers are seen in what lies side by side, not in a part of a tensor.
            Rule::Times => self
                .storages
                .get(at(grad.storage))
                .is_some_and(|whole| self.elements(whole.form) > self.elements(grad.form)),
            _ => false,
        };
        if copied {
            self.reads(1, (grad.form, grad.dtype));
            let copy = self.fresh((grad.form, grad.dtype), Order::Plain);
            self.release(grad.storage);
            return copy;
        }
        grad
    }

    /// Frees the tensors that a node saved, and its frame with the last node.
    pub(super) fn let_go(&mut self, node: &Node) {
        for storage in node.saved.iter().take(usize::from(node.saves)) {
            self.release_weakly(*storage);
        }
        if node.saves > 0
            && let Some(frame) = self.frames.get_mut(at(node.frame))
        {
            frame.holders = frame.holders.saturating_sub(1);
            if frame.holders == 0 {
                let mut inputs = std::mem::take(&mut frame.inputs);
                if frame.follows {
                    // The call of a checkpoint within a checkpoint holds what it was given by name
                    // until the graph goes.
                    self.leaves.extend(inputs.pop());
                }
                for input in inputs {
                    self.release(input);
                }
            }
        }
    }

    /// A gradient in its operand's shape and format: summed over broadcast dimensions, then cast.
    ///
    /// A parameter's stays as it was made where its group is reduced so.
    pub(super) fn fit(&mut self, grad: Grad, operand: Operand) -> Grad {
        let mut grad = grad;
        if self.elements(grad.form) > self.elements(operand.form) {
            self.reads(1, (grad.form, grad.dtype));
            let summed = self.fresh((operand.form, grad.dtype), Order::Plain);
            let (rows, columns) = (self.elements(grad.form), self.elements(operand.form));
            if self.last(operand.form, 0) > 1
                && self.last(operand.form, 0) == self.last(grad.form, 0)
            {
                self.sum_over_rows(rows / columns.max(1), columns);
            }
            self.release(grad.storage);
            grad = summed;
        }
        let as_made =
            self.arrival == (Arrival::Pending { as_made: true }) && as_leaf(operand.node).is_some();
        if grad.dtype != operand.dtype && !as_made {
            self.reads(1, (grad.form, grad.dtype));
            let cast = self.fresh((operand.form, operand.dtype), grad.order);
            self.release(grad.storage);
            grad = cast;
        }
        grad.form = operand.form;
        grad
    }
}
