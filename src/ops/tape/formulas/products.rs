//! Gradients of products.

use super::{like, wants};
use crate::ops::tape::over::Writes;
use crate::ops::tape::scratch::Attends;
use crate::ops::tape::state::{Grad, NONE, Node, Operand, Rule, State};
use crate::ops::tape::{Form, Order};

impl State {
    /// Of products and of kernels written by hand.
    pub(super) fn multiplied(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [a, b, c] = node.operands;
        match node.rule {
            Rule::Linear { gathered: Some(whole), .. } => self.gathered_linear(node, grad, whole),
            Rule::Linear { bias: true, .. } => {
                let input = wants(a).then(|| self.product(node, a));
                let weight = wants(b).then(|| self.product(node, b));
                [input, weight, wants(c).then(|| self.alias(grad, grad.form))]
            }
            Rule::Linear { .. } => {
                let weight = wants(b).then(|| self.product(node, b));
                [wants(a).then(|| self.product(node, a)), weight, None]
            }
            Rule::Grouped(groups) => {
                let weight = wants(b).then(|| self.grouped(node, b, groups));
                [wants(a).then(|| self.grouped(node, a, groups)), weight, None]
            }
            Rule::Convolution | Rule::Patched => self.convolution_back(node, grad),
            Rule::Scatter => self.scatter_back(node, grad),
            Rule::Put(places) => self.put_back(node, grad, places),
            Rule::Solve(order) => self.solve_back(node, order),
            Rule::Tiled(tile) => self.tiles_back(node, tile),
            Rule::HeadAndLoss(cut) => self.cut_back(node, cut),
            Rule::Float8(float8) => self.float8_back(node, grad, float8),
            Rule::Packed(packed) => {
                let whole = self.unpacked_in_backward(packed);
                let input = wants(a).then(|| self.product(node, a));
                self.release(whole);
                [input, None, wants(c).then(|| self.alias(grad, grad.form))]
            }
            Rule::Matmul { scaled: true, transposed, .. } => {
                let first = wants(a).then(|| self.scaled(node, a, Order::Plain));
                [
                    first,
                    wants(b).then(|| {
                        self.scaled(node, b, if transposed { Order::Columns } else { Order::Plain })
                    }),
                    None,
                ]
            }
            Rule::Matmul { transposed, .. } => {
                let order = if transposed { Order::Columns } else { Order::Plain };
                let second = wants(b).then(|| Grad { order, ..self.product(node, b) });
                [wants(a).then(|| self.product(node, a)), second, None]
            }
            Rule::Kernel { orders, attends, writes: Writes::Anew } => {
                self.of_kernel(node, grad, (orders, attends))
            }
            Rule::Kernel { writes: Writes::FromCopies, .. } => self.by_copies(node, grad),
            Rule::Kernel { writes: Writes::FromPart, .. } => self.by_part(node, grad),
            Rule::Kernel { writes: Writes::OverGradient, .. } => self.over_gradient(node, grad),
            Rule::Kernel { writes: Writes::OverOperands, .. } | Rule::Saved => {
                let first = wants(a).then(|| self.saved_alias(node, 0, a));
                [first, wants(b).then(|| self.saved_alias(node, 1, b)), None]
            }
            _ => [None; 3],
        }
    }

    /// Of a linear layer whose input is gathered anew for the weight's gradient.
    fn gathered_linear(&mut self, node: &Node, grad: Grad, whole: Form) -> [Option<Grad>; 3] {
        let [a, b, c] = node.operands;
        let again = self.fresh((whole, a.dtype), Order::Plain);
        let weight = wants(b).then(|| self.product(node, b));
        let all = self.product(node, Operand { form: whole, ..a });
        let input = wants(a).then(|| self.fresh((a.form, a.dtype), Order::Plain));
        self.release(all.storage);
        self.release(again.storage);
        [input, weight, wants(c).then(|| self.alias(grad, grad.form))]
    }

    /// A tensor that a kernel saved, as the gradient of an operand.
    fn saved_alias(&mut self, node: &Node, slot: usize, operand: Operand) -> Grad {
        let storage = node.saved.get(slot).copied().unwrap_or(NONE);
        self.alias(like(operand, storage, Order::Plain), operand.form)
    }

    pub(super) fn product(&mut self, node: &Node, operand: Operand) -> Grad {
        self.multiplies_back(node, operand);
        let made = self.fresh((operand.form, operand.dtype), Order::Plain);
        self.multiply_with_workspace(false);
        // Products run on matrices: rows of several sequences and heads are seen as one, and
        // weights transposed.
        Grad { is_view: true, ..made }
    }

    /// Products of groups of rows.
    pub(super) fn grouped(&mut self, node: &Node, operand: Operand, groups: Form) -> Grad {
        self.multiplies_back(node, operand);
        let made = self.fresh((operand.form, operand.dtype), Order::Plain);
        self.group_products(groups, operand.dtype);
        Grad { is_view: true, ..made }
    }

    /// Gradients of a kernel written by hand: one tensor for each operand, and the memory that it
    /// takes for itself.
    pub(super) fn of_kernel(
        &mut self,
        node: &Node,
        grad: Grad,
        (orders, attends): ([Order; 3], Attends),
    ) -> [Option<Grad>; 3] {
        let copies =
            self.in_order_for_attention(attends, [orders[0], grad.order], (grad.form, grad.dtype));
        let mut made = [None; 3];
        for ((made, operand), order) in made.iter_mut().zip(node.operands).zip(orders) {
            if wants(operand) {
                *made = Some(self.fresh((operand.form, operand.dtype), order));
            }
        }
        for held in self.attention_back(attends, node.operands).into_iter().chain(copies) {
            self.release(held);
        }
        made
    }

    pub(super) fn scaled(&mut self, node: &Node, operand: Operand, order: Order) -> Grad {
        let product = self.product(node, operand);
        let scaled = self.fresh((operand.form, operand.dtype), order);
        self.release(product.storage);
        scaled
    }
}
