//! Primitives of images: patches, a tower's tokens in the places of a text, and graphs that nothing
//! reads.
#![expect(
    clippy::needless_pass_by_value,
    reason = "an operand lives until its operator has run, as a temporary does in Python"
)]

use super::order::Order;
use super::primitives::Save;
use super::state::{Grad, NONE, Node, Operand, Rule, State, at, count};
use super::{Factors, Form, Param, Tape, Var};
use crate::config::Dispatch;
use crate::ops::tensor::{Dim, Shape};
use crate::units::DType;

impl Var<'_> {
    /// A convolution whose kernel moves by its own size (`conv2d`, `conv3d`): saves input and
    /// weight. No gradient comes back to pixels, so that its product runs once in backward.
    pub fn patched(self, (weight, bias): (Param, Option<Param>), form: Form) -> Self {
        let tape = self.tape;
        let bias = bias.map(|bias| tape.weight(bias));
        let weight = tape.weight(weight);
        let x = self.for_product();
        let mut state = tape.state.borrow_mut();
        let third = bias.as_ref().map_or(Operand::NOTHING, Var::operand);
        let node = state.node(Rule::Patched, [x.operand(), weight.operand(), third]);
        let columns = state.last(weight.form, 0);
        let factors =
            if state.factors == Factors::Weights { Factors::Once } else { Factors::Alone };
        state.count_values(factors, form, columns);
        state.save(node, x.storage);
        state.save(node, weight.storage);
        let storage = state.allocate("patches", form, x.dtype);
        drop(state);
        Self::made(tape, storage, form, x.dtype, node)
    }

    /// `avg_pool2d(x)`: saves its operand.
    pub fn pooled(self, form: Form) -> Self {
        let dtype = self.dtype;
        self.unary(
            Rule::Unary { temporaries: 0, elementwise: false },
            Save::Input,
            "pooled patches",
            (form, dtype),
        )
    }

    /// `interpolate(x, mode="bilinear")`: saves nothing.
    pub fn pooled_to(self, form: Form) -> Self {
        let dtype = self.dtype;
        self.unary(
            Rule::Unary { temporaries: 0, elementwise: false },
            Save::Nothing,
            "patches between patches",
            (form, dtype),
        )
    }

    /// A copy of a tensor that lies in memory in another order; its gradient is copied back.
    pub fn moved(self, form: Form) -> Self {
        let dtype = self.dtype;
        self.unary(
            Rule::Unary { temporaries: 0, elementwise: false },
            Save::Nothing,
            "patches in another order",
            (form, dtype),
        )
    }

    /// Views of parts, whose gradients are joined again.
    pub fn taken_apart(self, form: Form) -> Self {
        self.view_as(Rule::Unary { temporaries: 0, elementwise: false }, form)
    }

    /// `torch.cat(list(x))`: a copy, whose gradient is stacked again.
    pub fn listed(self, form: Form) -> Self {
        let dtype = self.dtype;
        self.unary(
            Rule::Unary { temporaries: 0, elementwise: false },
            Save::Nothing,
            "tokens of images",
            (form, dtype),
        )
    }

    /// `masked_scatter(x, mask, tokens)`: the mask is saved.
    pub fn scattered(self, tokens: Self, mask: &Self) -> Self {
        let (tape, form, dtype) = (self.tape, self.form, self.dtype);
        let mut state = tape.state.borrow_mut();
        let node = state.node(Rule::Scatter, [self.operand(), tokens.operand(), Operand::NOTHING]);
        state.save(node, mask.storage);
        let storage = state.allocate("embedded tokens with images", form, dtype);
        state.find_places(form);
        drop(state);
        Self::made(tape, storage, form, dtype, node)
    }

    /// `x[mask]` by rows, which are as many as `form` has: saves the mask; backward adds into
    /// zeros.
    pub fn picked(self, mask: &Self, (form, places): (Form, Form)) -> Self {
        let (tape, dtype) = (self.tape, self.dtype);
        let mut state = tape.state.borrow_mut();
        let node =
            state.node(Rule::AtRows(places), [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, mask.storage);
        let listed = state.list_places(places);
        let storage = state.allocate("tokens in the places of images", form, dtype);
        state.release(listed);
        drop(state);
        Self::made(tape, storage, form, dtype, node)
    }

    /// `x[mask] = rows`, in place: saves the mask.
    pub fn put(mut self, rows: &Self, mask: &Self, places: Form) -> Self {
        let operands = [self.operand(), rows.operand(), Operand::NOTHING];
        let mut state = self.tape.state.borrow_mut();
        self.node = state.node(Rule::Put(places), operands);
        state.in_place(&operands);
        state.save(self.node, mask.storage);
        let listed = state.list_places(places);
        state.release(listed);
        drop(state);
        self
    }
}

impl State {
    /// CUDA's kernels read a list of the mask's places, by two numbers each (`nonzero`,
    /// `aten/src/ATen/native/IndexingUtils.h`); a tracker does not look into them.
    fn list_places(&mut self, places: Form) -> u32 {
        if self.dispatch != Dispatch::Cuda {
            return NONE;
        }
        let listed = self.elements(places).saturating_mul(2);
        let listed = self.form(Shape::of([Dim("places", listed)]));
        self.allocate("places of images", listed, DType::Int64)
    }

    /// Backward of [`Var::put`]: zeros in the places of the mask, then what stood there
    /// (`index_put`, `index`).
    pub(super) fn put_back(&mut self, node: &Node, grad: Grad, places: Form) -> [Option<Grad>; 3] {
        let [whole, rows, _] = node.operands;
        let first = (whole.node != NONE).then(|| {
            let zeros = self.fresh((rows.form, grad.dtype), Order::Plain);
            let listed = self.list_places(places);
            let made = self.fresh((whole.form, grad.dtype), grad.order);
            self.release(listed);
            self.release(zeros.storage);
            made
        });
        let second = (rows.node != NONE).then(|| {
            let listed = self.list_places(places);
            let made = self.fresh((rows.form, rows.dtype), Order::Plain);
            self.release(listed);
            made
        });
        [first, second, None]
    }

    /// CUDA's kernel counts the places up to each value of the mask, which it expands
    /// (`masked_scatter__cuda` and `launch_masked_scatter_kernel` in
    /// `aten/src/ATen/native/cuda/IndexKernel.cpp`).
    fn find_places(&mut self, form: Form) {
        if self.dispatch == Dispatch::Cuda {
            let counted = self.allocate("places counted", form, DType::Int64);
            let mask = self.allocate("mask of every value", form, DType::Mask);
            self.release(mask);
            self.release(counted);
        }
    }

    /// Backward of [`Var::scattered`]: zeros in the places of the mask, then what stood there
    /// (`masked_scatter_backward`). CUDA's `masked_select` lists the places first, by three numbers
    /// each, from a mask of every value.
    pub(super) fn scatter_back(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [text, tokens, _] = node.operands;
        let shape = |operand: Operand| (operand.form, operand.dtype);
        let first = (text.node != NONE).then(|| self.fresh(shape(text), grad.order));
        let second = (tokens.node != NONE).then(|| {
            if self.dispatch != Dispatch::Cuda {
                return self.fresh(shape(tokens), Order::Plain);
            }
            let mask = self.allocate("mask of every value", grad.form, DType::Mask);
            let places = self.elements(tokens.form).saturating_mul(3);
            let places = self.form(Shape::of([Dim("places", places)]));
            let places = self.allocate("places of images", places, DType::Int64);
            self.release(mask);
            let made = self.fresh(shape(tokens), Order::Plain);
            self.release(places);
            made
        });
        [first, second, None]
    }
}

impl Tape {
    /// How many nodes the graph has by now.
    pub fn nodes(&self) -> u32 {
        count(self.state.borrow().nodes.len())
    }

    /// Nothing refers to the outputs of these nodes any more: their saved tensors are freed, and
    /// backward never enters them.
    pub fn abandon(&self, (from, to): (u32, u32)) {
        let mut state = self.state.borrow_mut();
        for node in from..to {
            let Some(found) = state.nodes.get_mut(at(node)) else { continue };
            let node = *found;
            found.saves = 0;
            state.let_go(&node);
        }
    }

    /// So many tokens meet every query of attention from now on, where these are not those of the
    /// text; its products count so.
    pub fn meets(&self, met: Option<(u64, Factors)>) {
        self.state.borrow_mut().met = met;
    }

    /// So many tokens meet every query of attention from now on, whose products count as before.
    pub fn meets_so_many(&self, tokens: u64) {
        let mut state = self.state.borrow_mut();
        state.met = state.met.map(|(_, factors)| (tokens, factors));
    }
}
