//! Primitives of fine-tuning: dropout, weights of four and eight bits, and inputs that want a
//! gradient.

use super::state::{NONE, Operand, Rule, State, at};
use super::{Form, Order, Param, Tape, Var};
use crate::ops::tensor::{Dim, Shape};
use crate::units::DType;

/// How a weight of few bits becomes whole for a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unpacks {
    /// By one kernel.
    ByKernel,
    /// Each half is looked up by an index of 64 bits (torchao's `NF4Tensor`).
    ByIndex,
    /// Not in forward, which multiplies bytes.
    Never,
}

/// How a product reads a weight of four or eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The weight when it is whole, and its format then.
    pub whole: Form,
    pub dtype: DType,
    /// Its scales, where they are quantised themselves, which are made whole first; those of bytes.
    pub scales: Option<Form>,
    pub unpacks: Unpacks,
}

impl Var<'_> {
    /// [`Self::dropped`] where dropout is above 0. PyTorch returns the input itself where it is 0.
    pub fn dropped_if(self, drops: bool) -> Self {
        if drops { self.dropped() } else { self }
    }

    /// True if both are aliases of one tensor.
    pub const fn is_alias_of(&self, other: &Self) -> bool {
        self.storage == other.storage
    }

    /// `dropout(x)`: saves one flag per value.
    pub fn dropped(self) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let rule = Rule::Unary { temporaries: 0, elementwise: true };
        let node = state.node(rule, [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        let storage = state.allocate("input after dropout", self.form, self.dtype);
        let mask = state.allocate("dropout mask", self.form, DType::Mask);
        state.save(node, mask);
        state.release(mask);
        drop(state);
        Self::made(self.tape, storage, self.form, self.dtype, node).ordered(self.order)
    }

    /// `x · Wᵀ (+ bias)` with a weight of four bits, which is made whole for the product in forward
    /// and again in backward. The product is made in the weight's format, and given in that of `x`
    /// (bitsandbytes' `Linear4bit.forward`).
    pub fn linear_packed(self, packed: Packed, bias: Option<Param>, form: Form) -> Self {
        let tape = self.tape;
        if packed.unpacks == Unpacks::Never {
            return self.linear_of_bytes(packed, bias, form);
        }
        let bias = bias.map(|bias| tape.weight(bias));
        let given = self.dtype;
        let x = self.cast(packed.dtype);
        let (scales, whole) = tape.unpacked_in_forward(packed);
        let mut state = tape.state.borrow_mut();
        let third = bias.as_ref().map_or(Operand::NOTHING, Var::operand);
        let node = state.node(Rule::Packed(packed), [x.operand(), Operand::NOTHING, third]);
        state.count_weights(form, packed.whole);
        let storage = state.allocate("projected", form, x.dtype);
        state.multiply_with_workspace(bias.is_some());
        drop(state);
        drop((scales, whole, bias));
        Var::made(tape, storage, form, x.dtype, node).cast_as(given, "projected")
    }

    /// `x · Wᵀ (+ bias)` in bytes (bitsandbytes 0.50, `MatMul8bitLt` of `autograd/_functions.py`
    /// and `backends/cuda/ops.py`): the input is cast to fp16, searched for outliers, and made
    /// bytes with a scale for each row; products are made in 32 bits, scaled into fp16 and cast.
    /// Outliers themselves, which are few, are left out.
    ///
    /// The input is an attribute of the node, which no hook of saved tensors sees: it stays until
    /// the graph goes, checkpointing or not.
    fn linear_of_bytes(self, packed: Packed, bias: Option<Param>, form: Form) -> Self {
        let tape = self.tape;
        let bias = bias.map(|bias| tape.weight(bias));
        let packed = Packed { dtype: self.dtype, ..packed };
        let halves = (self.dtype != DType::Fp16)
            .then(|| tape.constant("input in fp16", self.form, DType::Fp16));
        let rows = {
            let mut state = tape.state.borrow_mut();
            let rows = state.elements(self.form) / state.last(packed.whole, 0).max(1);
            state.form(Shape::of([Dim("rows", rows)]))
        };
        let scales = tape.constant("scales of rows", rows, DType::Fp32);
        let bytes = tape.constant("input in bytes", self.form, DType::Int8);
        let absolute = tape.constant("absolute input", self.form, DType::Fp16);
        let outliers = tape.constant("outliers", self.form, DType::Mask);
        drop(absolute);
        drop((outliers, halves));
        let products = tape.constant("products in 32 bits", form, DType::Fp32);
        let short = tape.constant("products in fp16", form, DType::Fp16);
        let mut state = tape.state.borrow_mut();
        let third = bias.as_ref().map_or(Operand::NOTHING, Var::operand);
        let node = state.node(Rule::Packed(packed), [self.operand(), Operand::NOTHING, third]);
        state.keep_for_graph(node, self.storage);
        state.count_weights(form, packed.whole);
        let storage = state.allocate("projected", form, self.dtype);
        drop(state);
        drop((short, products, bytes, scales, bias));
        Var::made(tape, storage, form, self.dtype, node)
    }

    /// Parts of these shapes: views, whose gradients backward joins again once the first has run.
    pub fn parts_of(self, forms: &[Form]) -> Vec<Self> {
        let own = self.form;
        let whole = self.view_as(Rule::Split, own);
        (0..)
            .zip(forms)
            .map(|(number, form)| whole.clone().view_as(Rule::Part(number), *form))
            .collect()
    }

    /// Parts that lie beside each other: views, whose gradients backward joins again.
    pub fn split<const N: usize>(self, parts: [Form; N]) -> [Self; N] {
        let form = self.form;
        let whole = self.view_as(Rule::Split, form);
        let mut number = 0;
        parts.map(|form| {
            let part = whole.clone().view_as(Rule::Part(number), form);
            number += 1;
            part
        })
    }

    /// So many parts of one shape: views, whose gradients backward joins again once the first has
    /// run.
    pub fn parts_alike(self, form: Form, count: u16) -> Vec<Self> {
        let own = self.form;
        let whole = self.view_as(Rule::Split, own);
        (0..count).map(|number| whole.clone().view_as(Rule::Part(number), form)).collect()
    }

    /// `x / other`: saves the other, and itself where that wants a gradient.
    pub fn over(self, other: &Self) -> Self {
        let mut state = self.tape.state.borrow_mut();
        let rule = if other.node == NONE {
            Rule::Unary { temporaries: 0, elementwise: true }
        } else {
            Rule::Div
        };
        let node = state.node(rule, [self.operand(), other.operand(), Operand::NOTHING]);
        if other.node != NONE {
            state.save(node, self.storage);
        }
        state.save(node, other.storage);
        let storage = state.allocate("quotient", self.form, self.dtype);
        drop(state);
        Self::made(self.tape, storage, self.form, self.dtype, node).ordered(self.order)
    }

    /// `x.requires_grad_()`: it and its gradient are kept until the step's graph goes.
    pub fn wanting(mut self) -> Self {
        let wants_none = self.tape.state.borrow().no_grad;
        if self.node == NONE && !wants_none {
            let mut state = self.tape.state.borrow_mut();
            self.node = state.source();
            state.hold(self.storage);
            state.leaves.push(self.storage);
            let node = at(self.node);
            if let Some(found) = state.nodes.get_mut(node) {
                found.rule = Rule::Leaf;
            }
        }
        self
    }
}

impl Tape {
    /// Backward comes to the module of a frozen parameter, whose output wants a gradient by itself:
    /// what gathers the module's parameters before its backward (`PreBackwardFunctionForModule` in
    /// `deepspeed/runtime/zero/parameter_offload.py`) gathers this one.
    pub fn reaches(&self, output: &Var<'_>, param: Param) {
        let mut state = self.state.borrow_mut();
        let param = state.meant(param);
        if state.uses.is_some() && output.node != NONE && state.is_frozen(param) {
            state.frozen_of.entry(output.node).or_default().push(param);
        }
    }
}

impl<'t> Tape {
    /// A weight of four bits made whole for forward's product, after scales that stay as long: on a
    /// GPU as they are read, and moved by their offset (bitsandbytes 0.50,
    /// `_dequant_linear_fallback`, which multiplies more than 1,536 tokens). The tracker's rows
    /// have one tensor of scales, which goes before.
    fn unpacked_in_forward(&'t self, packed: Packed) -> ([Option<Var<'t>>; 2], Var<'t>) {
        if packed.unpacks == Unpacks::ByIndex {
            let storage = self.state.borrow_mut().unpacked_by_index(packed);
            return ([None, None], Var::made(self, storage, packed.whole, packed.dtype, NONE));
        }
        if !self.is_cuda() {
            return ([None, None], self.unpacked(packed));
        }
        let made = |name| packed.scales.map(|scales| self.constant(name, scales, DType::Fp32));
        let scales = [made("scales made whole"), made("scales with their offset")];
        (scales, self.constant("weight made whole", packed.whole, packed.dtype))
    }
}

impl Tape {
    /// A weight of four bits made whole.
    pub fn unpacked(&self, packed: Packed) -> Var<'_> {
        let scales =
            packed.scales.map(|scales| self.constant("scales made whole", scales, DType::Fp32));
        let whole = self.constant("weight made whole", packed.whole, packed.dtype);
        drop(scales);
        whole
    }

    /// Declares a tensor that only describes a parameter: every rank has all of it.
    pub fn beside_weights(&self, name: &'static str, form: Form, dtype: DType) {
        let mut state = self.state.borrow_mut();
        let shards = state.shards.take();
        let param = state.parameter(name, form, dtype);
        state.shards = shards;
        if let Some(parameter) = state.parameters.get_mut(at(param)) {
            (parameter.beside, parameter.idle) = (true, true);
        }
    }
}

impl State {
    /// A weight of four bits made whole for backward's product.
    pub(super) fn unpacked_in_backward(&mut self, packed: Packed) -> u32 {
        match packed.unpacks {
            Unpacks::ByKernel => {}
            Unpacks::ByIndex => return self.unpacked_by_index(packed),
            Unpacks::Never => return self.bytes_scaled(packed),
        }
        let scales = packed.scales.map(|form| self.fresh((form, DType::Fp32), Order::Plain));
        let whole = self.fresh((packed.whole, packed.dtype), Order::Plain);
        self.release(scales.map_or(NONE, |scales| scales.storage));
        whole.storage
    }

    /// A weight of bytes in the input's format, multiplied with its scales in place.
    fn bytes_scaled(&mut self, packed: Packed) -> u32 {
        let whole = self.fresh((packed.whole, packed.dtype), Order::Plain);
        if let Some(scales) = packed.scales {
            let scales = self.fresh((scales, DType::Fp32), Order::Plain);
            self.release(scales.storage);
        }
        whole.storage
    }

    /// A tensor that a node keeps as an attribute of its own: until the step's graph goes, or that
    /// of a part that runs again.
    fn keep_for_graph(&mut self, node: u32, storage: u32) {
        if node == NONE {
            return;
        }
        self.hold(storage);
        if self.recording.is_some() {
            self.kept_again.push(storage);
        } else {
            self.leaves.push(storage);
        }
    }

    /// A weight of four bits made whole by torchao 0.9 (`NF4Tensor.get_original_weight`): both
    /// halves of every byte become indices of 64 bits, which look values of 16 bits up; these are
    /// scaled, copied, and joined, before anything is let go.
    pub(super) fn unpacked_by_index(&mut self, packed: Packed) -> u32 {
        const INDEX: u64 = 8;
        const VALUE: u64 = 2;
        let half = self.elements(packed.whole) / 2;
        let scales = packed.scales.map_or(0, |scales| self.elements(scales)).saturating_mul(VALUE);
        let mut held = Vec::with_capacity(8);
        for _ in 0..2 {
            let numbers = self.take_scratch("halves of bytes", half);
            held.push(self.take_scratch("indices", half.saturating_mul(INDEX)));
            self.release(numbers);
        }
        held.extend(
            [(); 2].map(|()| self.take_scratch("values by index", half.saturating_mul(VALUE))),
        );
        let first = self.take_scratch("scales made whole", scales);
        held.push(self.take_scratch("scales with their mean", scales));
        self.release(first);
        for _ in 0..2 {
            let scaled = self.take_scratch("scaled values", half.saturating_mul(VALUE));
            held.push(self.take_scratch("scaled values", half.saturating_mul(VALUE)));
            self.release(scaled);
        }
        let whole = self.allocate("weight made whole", packed.whole, packed.dtype);
        for storage in held {
            self.release(storage);
        }
        whole
    }
}
