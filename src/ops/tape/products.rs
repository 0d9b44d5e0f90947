//! Products of matrices: linear layers and products of two activations.

use crate::ops::tape::state::{NONE, Operand, Rule};
use crate::ops::tape::{Form, Param, Tape, Var};
use crate::units::DType;

impl Var<'_> {
    /// `x · Wᵀ (+ bias)`; under autocast operands are cast first, weights once for the step.
    pub fn linear(self, weight: Param, bias: Option<Param>, form: Form) -> Self {
        let tape = self.tape;
        let bias = bias.map(|bias| tape.weight(bias));
        let weight = tape.weight(weight);
        let x = self.for_product();
        x.affine(&weight, bias.as_ref(), form)
    }

    /// [`Self::linear`] with a weight as it was read.
    pub fn linear_by(self, weight: &Self, form: Form) -> Self {
        self.for_product().affine(weight, None, form)
    }

    /// [`Self::linear_by`] where autocast is switched off.
    pub fn linear_outside_autocast(self, weight: &Self, form: Form) -> Self {
        self.affine(weight, None, form)
    }

    pub(super) fn affine(self, weight: &Self, bias: Option<&Self>, form: Form) -> Self {
        let (tape, x) = (self.tape, self);
        let mut state = tape.state.borrow_mut();
        let third = bias.map_or(Operand::NOTHING, Var::operand);
        let gathered = state.gather.take();
        let whole = gathered.map(|form| state.gathered((form, x.dtype)));
        let rule = Rule::Linear { bias: bias.is_some(), gathered };
        let node = state.node(rule, [x.operand(), weight.operand(), third]);
        state.count_weights(form, weight.form);
        if weight.node != NONE || state.linears_save_inputs {
            state.save(node, x.storage);
        }
        if x.node != NONE {
            state.save(node, weight.storage);
        }
        state.product_reads([x.storage, weight.storage]);
        let storage = state.allocate_kept("projected", (form, x.dtype), true);
        state.fuse_no_more();
        state.called(storage);
        state.multiply_with_workspace(bias.is_some());
        state.release(whole.unwrap_or(NONE));
        drop(state);
        Var::made(tape, storage, form, x.dtype, node)
    }

    /// A batched product of two activations; `batched`: of several sequences.
    pub fn matmul(self, other: Self, form: Form, batched: bool) -> Self {
        self.product(other, form, Rule::Matmul { batched, transposed: false, scaled: false })
    }

    /// A batched product with the second operand transposed: queries with keys.
    pub fn matmul_transposed(self, other: Self, form: Form, batched: bool) -> Self {
        self.product(other, form, Rule::Matmul { batched, transposed: true, scaled: false })
    }

    /// `baddbmm` with a constant factor: each gradient is scaled in a tensor of its own.
    pub fn scaled_product(self, other: Self, form: Form) -> Self {
        self.product(other, form, Rule::Matmul { batched: false, transposed: true, scaled: true })
    }

    pub(super) fn product(self, other: Self, form: Form, rule: Rule) -> Self {
        let (a, b) = (self, other);
        let b = b.for_product();
        let a = a.for_product();
        // Sequences and heads are merged for the product, which copies tensors that are not in
        // order.
        let several = matches!(rule, Rule::Matmul { batched: true, .. });
        // The caller holds its argument until the product is there.
        let _given = [a.clone(), b.clone()];
        let (a, b) = if several { (a.contiguous(), b.contiguous()) } else { (a, b) };
        let tape = a.tape;
        let mut state = tape.state.borrow_mut();
        let node = state.node(rule, [a.operand(), b.operand(), Operand::NOTHING]);
        state.count_attention(if matches!(rule, Rule::Matmul { transposed: true, .. }) {
            a.form
        } else {
            form
        });
        if b.node != NONE {
            state.save(node, a.storage);
        }
        if a.node != NONE {
            state.save(node, b.storage);
        }
        for operand in [a.storage, b.storage] {
            state.kernel_reads(operand);
        }
        let storage = state.allocate("batched product", form, a.dtype);
        state.multiply_with_workspace(false);
        drop(state);
        Var::made(tape, storage, form, a.dtype, node)
    }

    /// In the format in which autocast multiplies.
    pub fn for_product(self) -> Self {
        let autocast = self.tape.state.borrow().autocast;
        match autocast {
            Some(dtype) => self.cast(dtype),
            None => self,
        }
    }
}

impl Tape {
    /// From here on linear layers save what they are given, whether or not their weight learns
    /// (`LinearFunctionForZeroStage3` in `deepspeed/runtime/zero/linear.py`).
    pub fn save_inputs_of_linears(&self) {
        self.state.borrow_mut().linears_save_inputs = true;
    }

    /// The format in which products of operands of that one are made.
    pub fn multiplies_in(&self, own: DType) -> DType {
        self.state.borrow().autocast.unwrap_or(own)
    }
}
