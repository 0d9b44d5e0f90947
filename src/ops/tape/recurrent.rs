//! Primitives of recurrences that run in chunks of tokens: padding, sums along tokens, triangular
//! systems, products of many small matrices.
#![expect(
    clippy::needless_pass_by_value,
    reason = "an operand lives until its operator has run, as a temporary does in Python"
)]

use super::flops::Factors;
use super::primitives::{Function, Save, wider};
use super::state::{Grad, NONE, Node, Operand, Rule, State};
use super::{Form, Order, Param, Tape, Var};
use crate::units::DType;

/// `exp(x)`.
pub(crate) const EXP: Function = Function {
    name: "exponential",
    save: Save::Output,
    rule: Rule::Unary { temporaries: 0, elementwise: true },
    in_fp32: true,
};

/// `log(x)`.
pub(crate) const LOG: Function = Function {
    name: "logarithm",
    save: Save::Input,
    rule: Rule::Unary { temporaries: 0, elementwise: true },
    in_fp32: true,
};

/// `x.cumsum(-1)`: backward turns the gradient round, sums along it, and turns it back.
pub(crate) const RUNNING_SUM: Function = Function {
    name: "running sum",
    save: Save::Nothing,
    rule: Rule::Unary { temporaries: 2, elementwise: false },
    in_fp32: true,
};

impl Var<'_> {
    /// `pad(x)`: a copy, with zeros behind it or without; backward copies the part that is no
    /// padding.
    pub fn padded(self, form: Form) -> Self {
        let (dtype, order, own) = (self.dtype, self.order, self.form);
        let state = self.tape.state.borrow();
        let grows = state.elements(form) > state.elements(own);
        drop(state);
        let padded = self.unary(
            Rule::Unary { temporaries: 0, elementwise: true },
            Save::Nothing,
            "padded",
            (form, dtype),
        );
        padded.ordered(if grows { Order::Plain } else { order })
    }

    /// `x · buffer`, which a module registered in that format.
    pub fn times_buffer(self, format: DType) -> Self {
        let (tape, form, order, dtype) =
            (self.tape, self.form, self.order, wider(self.dtype, format));
        let mut state = tape.state.borrow_mut();
        let node = state.node(Rule::Mul, [self.operand(), Operand::NOTHING, Operand::NOTHING]);
        let storage = state.allocate("product", form, dtype);
        drop(state);
        Self::made(tape, storage, form, dtype, node).ordered(order)
    }

    /// `a - b` in a shape that both are repeated to.
    pub fn less(self, other: Self, form: Form) -> Self {
        self.binary(other, Rule::Sub, "difference", form, [false; 2])
    }

    /// `a · b` in a shape that both are repeated to: each is saved if the other wants a gradient.
    pub fn outer(self, other: Self, form: Form) -> Self {
        let saves = [other.node != NONE, self.node != NONE];
        self.binary(other, Rule::Mul, "product", form, saves)
    }

    /// `solve_triangular(a, b)`: saves matrix and result, which lies in columns where it has
    /// several matrices in a row (`columns`).
    pub fn solved(self, other: Self, columns: bool) -> Self {
        let (tape, form, dtype) = (self.tape, other.form, other.dtype);
        let order = if columns { Order::Columns } else { Order::Plain };
        let mut state = tape.state.borrow_mut();
        let node =
            state.node(Rule::Solve(order), [self.operand(), other.operand(), Operand::NOTHING]);
        let storage = state.allocate("solution", form, dtype);
        state.save(node, self.storage);
        state.save(node, storage);
        drop(state);
        Self::made(tape, storage, form, dtype, node)
    }

    /// `a @ b` of as many matrices as there are: both are saved. What the caller has put in order
    /// is not copied. FLOPs are counted as those of weights are, since no product meets another
    /// token than those of its chunk.
    pub fn matrices(self, other: Self, form: Form, transposed: bool) -> Self {
        let depth = self.tape.last_dim(self.form).1;
        self.multiplied_by(
            other,
            (form, depth),
            Rule::Matmul { batched: false, transposed, scaled: false },
        )
    }

    /// `baddbmm` outside autocast on a tensor that wants no gradient, with a constant factor: each
    /// gradient is scaled in a tensor of its own.
    pub fn scaled_matrices(self, other: Self, form: Form) -> Self {
        let depth = self.tape.last_dim(self.form).1;
        self.multiplied_as_given(
            other,
            (form, depth),
            Rule::Matmul { batched: false, transposed: false, scaled: true },
        )
    }

    /// `baddbmm(bias, a, W)`: products with as many weights as there are matrices, each with a bias
    /// on its rows. Autocast casts biases anew, as they are seen in another shape.
    pub fn biased_matrices(self, (weight, bias): (Param, Param), form: Form) -> Self {
        let tape = self.tape;
        let bias = tape.read(bias).for_product();
        let weight = tape.weight(weight);
        self.for_product().affine(&weight, Some(&bias), form)
    }

    /// [`Self::matrices`] of all sequences' heads, which are merged for the product where there are
    /// several sequences: what is not in order is copied.
    pub fn products(self, other: Self, form: Form, (batched, transposed): (bool, bool)) -> Self {
        let depth = self.tape.last_dim(self.form).1;
        let _given = [self.clone(), other.clone()];
        let (b, a) = (other.for_product(), self.for_product());
        let (a, b) = if batched { (a.contiguous(), b.contiguous()) } else { (a, b) };
        a.multiplied_by(b, (form, depth), Rule::Matmul { batched, transposed, scaled: false })
    }

    /// [`Self::matrices`] of the first's columns: `aᵀ @ b`, where memory holds the first so.
    pub fn matrices_of_columns(self, other: Self, form: Form) -> Self {
        let depth = self.tape.rows(self.form);
        self.multiplied_by(
            other,
            (form, depth),
            Rule::Matmul { batched: false, transposed: false, scaled: false },
        )
    }

    fn multiplied_by(self, other: Self, (form, depth): (Form, u64), rule: Rule) -> Self {
        // The caller holds its argument until the product is there.
        let _given = [self.clone(), other.clone()];
        let b = other.for_product();
        self.for_product().multiplied_as_given(b, (form, depth), rule)
    }

    /// The product of matrices in their formats, whatever autocast says.
    fn multiplied_as_given(self, b: Self, (form, depth): (Form, u64), rule: Rule) -> Self {
        let (tape, a) = (self.tape, self);
        let mut state = tape.state.borrow_mut();
        let node = state.node(rule, [a.operand(), b.operand(), Operand::NOTHING]);
        state.count_values(Factors::Weights, form, depth);
        if b.node != NONE {
            state.save(node, a.storage);
        }
        if a.node != NONE {
            state.save(node, b.storage);
        }
        let storage = state.allocate("product of matrices", form, a.dtype);
        drop(state);
        Self::made(tape, storage, form, a.dtype, node)
    }
}

impl Var<'_> {
    /// Seen with a dimension taken apart or two put together, so that backward sees it in parts
    /// again whatever the order in memory.
    pub fn in_parts(self, form: Form) -> Self {
        self.view_as(Rule::Pass, form)
    }

    /// Three tensors behind each other: backward sees each as a part of the gradient.
    pub fn joined([a, b, c]: [&Self; 3], form: Form) -> Self {
        let tape = a.tape;
        let mut state = tape.state.borrow_mut();
        let node = state.node(Rule::Cat, [a.operand(), b.operand(), c.operand()]);
        let storage = state.allocate("joined", form, a.dtype);
        drop(state);
        Self::made(tape, storage, form, a.dtype, node)
    }
}

impl Tape {
    /// Rows of each matrix of that form.
    fn rows(&self, form: Form) -> u64 {
        self.state.borrow().last(form, 1)
    }

    /// Counts FLOPs of a product whose result has that form, each value summed over so many.
    pub fn count_product(&self, form: Form, depth: u64) {
        self.state.borrow_mut().count_values(Factors::Weights, form, depth);
    }
}

impl State {
    /// `linalg_solve_triangular_backward`: the right side's gradient by the transposed system; the
    /// matrix's is its product with the solution, negated, without what lies on and above the
    /// diagonal.
    pub(super) fn solve_back(&mut self, node: &Node, order: Order) -> [Option<Grad>; 3] {
        let [a, b, _] = node.operands;
        let right = self.fresh((b.form, b.dtype), order);
        let matrix = (a.form, a.dtype);
        let product = self.fresh(matrix, Order::Plain);
        let negated = self.fresh(matrix, Order::Plain);
        self.release(product.storage);
        let below = self.fresh(matrix, Order::Plain);
        self.release(negated.storage);
        if b.node == NONE {
            self.release(right.storage);
        }
        [(a.node != NONE).then_some(below), (b.node != NONE).then_some(right), None]
    }
}
