//! Products in float8, as `matmul_with_hp_or_float8_args` of torchao makes them (0.18,
//! `torchao/float8/float8_linear.py`).
//!
//! Operands are cast in forward and again in backward: what is saved are input and weight in the
//! format of activations. Operator by operator a cast takes three tensors in fp32 beside its
//! result; a compiler fuses these, see [`super::compiled`].

use super::formulas::wants;
use super::state::{Grad, NONE, Node, Operand, Rule, State, at};
use super::{Form, Order, Param, Tape, Var};
use crate::config::{Float8, Float8Recipe};
use crate::units::DType;

/// How the values of an operand lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    /// In the order of its shape.
    Plain,
    /// Rows and columns have changed places.
    Transposed,
}

impl Tape {
    /// Products in float8 have a rule of their own from here on: others run in the format of
    /// activations.
    pub fn casts_apart(&self, apart: bool) {
        self.state.borrow_mut().casts_apart = apart;
    }
}

impl Var<'_> {
    /// `x · Wᵀ` with both cast to float8; `float8.gathers`: the weight is gathered so.
    pub fn linear_in_float8(self, weight: Param, float8: Float8, form: Form) -> Self {
        let (tape, x) = (self.tape, self);
        let weight = tape.read(weight);
        let mut state = tape.state.borrow_mut();
        let casts = if state.compiled && state.finds_kept(true) {
            [NONE; 2]
        } else if state.compiled {
            state.fused_casts([x.form, weight.form], float8)
        } else {
            [
                state.cast_input((x.form, x.dtype)),
                state.cast_weight((weight.form, weight.dtype), float8),
            ]
        };
        let node =
            state.node(Rule::Float8(float8), [x.operand(), weight.operand(), Operand::NOTHING]);
        state.count_weights(form, weight.form);
        // A compiler is shown which tensors are saved; PyTorch saves the tensors that a function
        // wants after it has run.
        let compiled = state.compiled;
        if compiled {
            state.save_operands(node, [x.storage, weight.storage], float8);
        }
        let storage = state.allocate_kept("projected", (form, x.dtype), true);
        state.multiply_with_workspace(true);
        for cast in casts.into_iter().rev() {
            state.release(cast);
        }
        if !compiled {
            state.save_operands(node, [x.storage, weight.storage], float8);
        }
        drop(state);
        Var::made(tape, storage, form, x.dtype, node)
    }
}

impl State {
    /// Saves input and weight. An input that the product of the weight's gradient reads in the
    /// format of activations is kept as it is.
    fn save_operands(&mut self, node: u32, [x, weight]: [u32; 2], float8: Float8) {
        let high = float8.recipe == Float8Recipe::RowwiseWithGwHp;
        if high && self.keeps_of_compiled() {
            self.settle(x);
        }
        self.save_by(node, x, if high { Self::keep_if_smaller } else { Self::keep_sources });
        self.save(node, weight);
    }

    fn cast_input(&mut self, shape: (Form, DType)) -> u32 {
        self.cast_to_float8(shape, Lies::Plain, false)
    }

    /// A weight is cast as it is multiplied, transposed; one that was gathered in float8 is there.
    fn cast_weight(&mut self, shape: (Form, DType), float8: Float8) -> u32 {
        if float8.gathers {
            NONE
        } else {
            self.cast_to_float8(shape, Lies::Transposed, float8.is_tensorwise())
        }
    }

    /// `hp_tensor_to_float8_dynamic`: the largest magnitude, a product with the scale in fp32, its
    /// limits, and the cast itself.
    ///
    /// The largest value of a whole tensor is looked for in a copy in the order of its shape
    /// (`max_all_kernel_impl`).
    fn cast_to_float8(&mut self, (form, dtype): (Form, DType), lies: Lies, whole: bool) -> u32 {
        self.reads(1, (form, dtype));
        let magnitudes = self.allocate("magnitudes", form, dtype);
        if whole && lies == Lies::Transposed {
            self.reads(1, (form, dtype));
            let ordered = self.allocate("magnitudes in order", form, dtype);
            self.release(ordered);
        }
        self.release(magnitudes);
        let mut fp32 = |from: DType| {
            self.reads(1, (form, from));
            self.allocate("to be cast to float8", form, DType::Fp32)
        };
        let wide = if dtype == DType::Fp32 { NONE } else { fp32(dtype) };
        let scaled = fp32(DType::Fp32);
        self.release(wide);
        self.reads(1, (form, DType::Fp32));
        let limited = self.allocate("to be cast to float8", form, DType::Fp32);
        self.reads(1, (form, DType::Fp32));
        let cast = self.allocate("cast to float8", form, DType::Fp8);
        self.release(limited);
        self.release(scaled);
        cast
    }

    /// The copy of an operand in float8 that lies otherwise than cuBLAS reads it
    /// (`preprocess_addmm`).
    fn other_order(&mut self, form: Form) -> u32 {
        self.reads(1, (form, DType::Fp8));
        self.allocate("in the order of products", form, DType::Fp8)
    }

    /// The gradients of such a product: of the input, then of the weight.
    pub(super) fn float8_back(
        &mut self,
        node: &Node,
        grad: Grad,
        float8: Float8,
    ) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let gradient = (grad.form, grad.dtype);
        let first = self.cast_input(gradient);
        let of_input = Float8Recipe::RowwiseWithGwHp == float8.recipe;
        let weight = if of_input && !float8.gathers {
            self.cast_to_float8((b.form, b.dtype), Lies::Transposed, true)
        } else {
            self.cast_weight((b.form, b.dtype), float8)
        };
        let ordered = self.other_order(b.form);
        let input = self.float8_product(node, a, float8);
        self.release(ordered);
        if of_input {
            let made = self.product_of_weight(node, b);
            self.release(first);
            self.release(weight);
            return [wants(a).then_some(input), made, None];
        }
        let second = self.cast_input(gradient);
        let x = self.cast_input((a.form, a.dtype));
        let ordered = [grad.form, a.form].map(|form| self.other_order(form));
        let made = self.float8_product(node, b, float8);
        for held in ordered.into_iter().chain([first, weight, second, x]) {
            self.release(held);
        }
        [wants(a).then_some(input), wants(b).then_some(made), None]
    }

    /// The weight's gradient in the format of activations.
    fn product_of_weight(&mut self, node: &Node, weight: Operand) -> Option<Grad> {
        wants(weight).then(|| {
            self.multiplies_back(node, weight);
            let made = self.fresh((weight.form, weight.dtype), Order::Plain);
            self.multiply_with_workspace(false);
            Grad { is_view: true, ..made }
        })
    }

    /// A product of backward. Of rows that are scaled one by one it is scaled behind, by a tensor
    /// of its shape in fp32 (`addmm_float8_unwrapped`: the kernel that scales rows is slow without
    /// fast accumulation).
    fn float8_product(&mut self, node: &Node, of: Operand, float8: Float8) -> Grad {
        let scales = if float8.is_tensorwise() {
            NONE
        } else {
            self.allocate("scales of a product", of.form, DType::Fp32)
        };
        self.multiplies_back(node, of);
        let made = self.fresh((of.form, of.dtype), Order::Plain);
        self.multiply_with_workspace(true);
        self.release(scales);
        Grad { is_view: true, ..made }
    }

    /// The casts of a compiled product: kernels that make the operands make them as well, so that
    /// nothing stands beside.
    fn fused_casts(&mut self, [x, weight]: [Form; 2], float8: Float8) -> [u32; 2] {
        let cast =
            |state: &mut Self, form: Form| state.allocate("cast to float8", form, DType::Fp8);
        [cast(self, x), if float8.gathers { NONE } else { cast(self, weight) }]
    }

    /// The gradients of a compiled product. Backward casts the gradient twice, once for each order
    /// in which it is multiplied; one that is fused away and that nothing else reads is never
    /// written in another format, so that its memory stands for both.
    pub(super) fn compiled_float8_back(
        &mut self,
        node: &Node,
        grad: Grad,
        float8: Float8,
    ) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let high = float8.recipe == Float8Recipe::RowwiseWithGwHp;
        let fused = self.is_fused(grad.storage).0;
        let alone = fused
            && !high
            && self.storages.get(at(grad.storage)).is_some_and(|found| found.refs == 1);
        self.need(grad.storage);
        let cast =
            |state: &mut Self, form: Form| state.allocate("cast to float8", form, DType::Fp8);
        let first = if alone { NONE } else { cast(self, grad.form) };
        let second = if alone || high { NONE } else { cast(self, grad.form) };
        let weight = cast(self, b.form);
        let mut input =
            self.float8_product(node, a, Float8 { recipe: Float8Recipe::Tensorwise, ..float8 });
        self.release(weight);
        self.release(first);
        let mut product = NONE;
        if !float8.is_tensorwise() && !self.goes_to_attention(a.node) {
            // Scaled in fp32 for the several kernels that read it, by the one that makes what else
            // is made of the product.
            let scaled = self.allocate("gradient, scaled", a.form, DType::Fp32);
            product = std::mem::replace(&mut input.storage, scaled);
        }
        let saved = node.saved[0];
        let mut beside =
            if self.is_fused(saved).1 { self.shapes_of_origins(saved) } else { Vec::new() };
        let made = if high {
            let casts: Vec<_> = beside.iter().map(|(form, _)| (*form, DType::Fp8)).collect();
            beside.extend(casts);
            self.need(saved);
            self.made_beside(&beside);
            self.release(product);
            self.product_of_weight(node, b)
        } else {
            let x = cast(self, a.form);
            self.made_beside(&beside);
            self.release(product);
            let made =
                self.float8_product(node, b, Float8 { recipe: Float8Recipe::Tensorwise, ..float8 });
            self.release(x);
            wants(b).then_some(made)
        };
        self.release(second);
        [wants(a).then_some(input), made, None]
    }

    /// True for a gradient that goes into attention's kernel as it is.
    fn goes_to_attention(&self, mut number: u32) -> bool {
        while let Some(node) = self.nodes.get(at(number)) {
            match node.rule {
                Rule::View | Rule::Pass | Rule::Heads | Rule::Swap | Rule::Merge => {
                    number = node.operands[0].node;
                }
                rule => return matches!(rule, Rule::Kernel { .. }) && Self::is_called(rule),
            }
        }
        false
    }

    /// A tensor is saved that backward casts: no product reads it as it is, and what it is made
    /// from is read by gradients of its own or there all the same, so that it is made again
    /// whatever its size.
    pub(super) fn keep_sources(&mut self, id: u32) {
        if !self.keeps_of_compiled() {
            return;
        }
        let fusion = self.storages.get(at(id)).map_or(NONE, |storage| storage.fusion);
        let sources = self.unmade(fusion).unwrap_or_default().to_vec();
        for kept in sources.into_iter().flat_map(|source| self.cut(source)).collect::<Vec<_>>() {
            self.settle(kept);
        }
    }

    /// True if the gradient of a product's second factor goes into a product in float8.
    pub(super) fn casts_gradients(&self, node: &Node) -> bool {
        let before = self.nodes.get(at(node.operands[1].node));
        before.is_some_and(|before| matches!(before.rule, Rule::Float8(_)))
    }

    /// As [`Self::both_factors`], where both are cast as they are made: nothing is written over
    /// what is wider.
    pub(super) fn both_factors_cast(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        self.fuse(&[]);
        let of_b = self.fresh((b.form, grad.dtype), grad.order);
        self.fuse_no_more();
        self.need(of_b.storage);
        let of_a = self.fresh((a.form, grad.dtype), grad.order);
        [Some(of_a), Some(of_b), None]
    }
}
