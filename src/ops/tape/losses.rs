//! Losses of the next token.
#![expect(clippy::needless_pass_by_value, reason = "an operand lives until its operator has run, as a temporary does in Python")]

use super::state::{Operand, Rule};
use super::{Form, Tape, Var};
use crate::units::DType;

impl Tape {
    /// Negative log-likelihood of log-probabilities: a scalar and its weight; backward is as large as the operand.
    pub fn nll_loss<'t>(&'t self, log_probabilities: Var<'t>, labels: Var<'t>, scalar: Form) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        let rule = Rule::Unary { temporaries: 0, elementwise: false };
        let node = state.node(rule, [log_probabilities.operand(), Operand::NOTHING, Operand::NOTHING]);
        state.save(node, log_probabilities.storage);
        state.save(node, labels.storage);
        let loss = state.allocate("loss", scalar, DType::Fp32);
        let weight = state.allocate("loss weight", scalar, DType::Fp32);
        state.save(node, weight);
        state.release(weight);
        drop(state);
        Var::made(self, loss, scalar, DType::Fp32, node)
    }

    /// A product with a weight and its loss, in chunks of that shape, whose gradients were made in forward: they are what is saved, and
    /// what backward hands on.
    pub fn prepared<'t>(
        &'t self,
        operands: [&Var<'t>; 2],
        gradients: [Option<Var<'t>>; 2],
        (scalar, chunk, logits): (Form, Form, Form),
    ) -> Var<'t> {
        let mut state = self.state.borrow_mut();
        state.count_weights(logits, operands[1].form);
        state.loss_in_chunks(operands.map(Var::operand), chunk, gradients.each_ref().map(Option::is_some));
        let node = state.node(Rule::Saved, [operands[0].operand(), operands[1].operand(), Operand::NOTHING]);
        for gradient in gradients.iter().flatten() {
            state.save(node, gradient.storage);
        }
        let loss = state.allocate("loss", scalar, DType::Fp32);
        drop(state);
        Var::made(self, loss, scalar, DType::Fp32, node)
    }
}
