//! Gradients inside blocks that are compiled.

use crate::ops::tape::Form;
use crate::ops::tape::state::{Grad, NONE, Node, Operand, Rule, State, as_leaf, at};
use crate::units::DType;

impl State {
    /// The gradients of a node's operands. In a compiled graph those of elementwise operators are
    /// fused into the kernels that read them.
    pub(in crate::ops::tape) fn compiled_formula(
        &mut self,
        node: &mut Node,
        grad: Grad,
    ) -> [Option<Grad>; 3] {
        self.compiled = node.compiled;
        if self.fusions.is_empty() && !node.compiled {
            return self.formula(node, grad);
        }
        if node.compiled && node.rule == Rule::Mul && self.is_of_two_activations(node) {
            return self.both_factors(node, grad);
        }
        if let Rule::Float8(float8) = node.rule
            && node.compiled
        {
            return self.compiled_float8_back(node, grad, float8);
        }
        if node.compiled && matches!(node.rule, Rule::Linear { gathered: None, .. }) {
            return self.product_of_fused(node, grad);
        }
        if !node.compiled || Self::is_called(node.rule) {
            self.need(grad.storage);
            for storage in node.saved.iter().take(usize::from(node.saves)) {
                self.need(*storage);
            }
            if !node.compiled {
                self.settle(grad.storage);
                self.settle_sums();
            }
        } else {
            let parts = self.joined.iter().flatten().map(|part| part.storage);
            let saved = node.saved.iter().take(usize::from(node.saves)).copied();
            let sources: Vec<u32> = parts
                .chain(saved)
                .chain([grad.storage])
                .filter(|storage| *storage != NONE)
                .collect();
            self.fuse(&sources);
        }
        self.formula(node, grad)
    }

    /// The gradients of a product. An input that was fused away is made again behind the input's
    /// own gradient: one kernel makes it and, of what it is made from, the gradients.
    pub(super) fn product_of_fused(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        let [input, weight, bias] = node.operands;
        self.need(grad.storage);
        let saved = usize::from(node.saves);
        let again = node
            .saved
            .iter()
            .take(saved)
            .copied()
            .find(|id| self.fusion(*id).is_some_and(|fusion| fusion.made.is_none()));
        let Some(again) = again else { return self.formula(node, grad) };
        let [mut of_input, mut of_weight] = [None, None];
        if input.node != NONE {
            of_input = self.formula(
                &Node { operands: [input, Operand::NOTHING, Operand::NOTHING], ..*node },
                grad,
            )[0];
        }
        let gradients = self.shapes_of_origins(again);
        self.need(again);
        self.made_beside(&gradients);
        if weight.node != NONE {
            of_weight = self
                .formula(&Node { operands: [Operand::NOTHING, weight, bias], ..*node }, grad)[1];
        }
        let of_bias = (bias.node != NONE).then(|| self.alias(grad, grad.form));
        [of_input, of_weight, of_bias]
    }

    /// The shapes of the activations in memory that a tensor is made from.
    pub(in crate::ops::tape) fn shapes_of_origins(&self, id: u32) -> Vec<(Form, DType)> {
        let mut origins = Vec::new();
        let fusion =
            self.storages.get(at(id)).and_then(|storage| self.fusions.get(at(storage.fusion)));
        for source in fusion.map_or(&[][..], |fusion| &fusion.sources) {
            self.origins(*source, &mut origins);
        }
        let shapes = origins
            .into_iter()
            .filter_map(|id| self.storages.get(at(id)).map(|found| (found.form, found.dtype)));
        shapes.collect()
    }

    /// Gradients of those shapes that the current kernel makes as well.
    pub(in crate::ops::tape) fn made_beside(&mut self, shapes: &[(Form, DType)]) {
        let gradients: Vec<u32> =
            shapes.iter().map(|(form, dtype)| self.allocate("gradient", *form, *dtype)).collect();
        for gradient in gradients {
            self.release(gradient);
        }
    }

    /// True if gradients of both operands are wanted, which are of equal size and no parameters.
    pub(super) fn is_of_two_activations(&self, node: &Node) -> bool {
        let [a, b, _] = node.operands;
        let flows = |operand: Operand| operand.node != NONE && as_leaf(operand.node).is_none();
        flows(a) && flows(b) && self.elements(a.form) == self.elements(b.form)
    }

    /// The gradients of two activations that were multiplied: one kernel reads all there is to read
    /// and makes both. Where no factor is made again beside, one is written over the factor that it
    /// alone reads.
    pub(super) fn both_factors(&mut self, node: &mut Node, grad: Grad) -> [Option<Grad>; 3] {
        self.need(grad.storage);
        let [a, b, _] = node.operands;
        if self.casts_gradients(node) {
            return self.both_factors_cast(node, grad);
        }
        let of_b = self.fresh((b.form, grad.dtype), grad.order);
        if (node.frame == NONE || self.whole_again)
            && let Some(read) = node.saved.get_mut(1)
        {
            self.release_weakly(std::mem::replace(read, NONE));
        }
        let of_a = self.fresh((a.form, grad.dtype), grad.order);
        [Some(of_a), Some(of_b), None]
    }
}
