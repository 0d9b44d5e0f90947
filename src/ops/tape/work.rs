//! FLOPs of products, by what they are spent on.

use super::state::{OpName, Recording, State};
use super::{Form, Tape};
use crate::sources::Source;

/// Kinds of products, by the factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Work {
    /// Activations with the model's weights.
    #[default]
    Weights,
    /// Activations with each other: attention's two products.
    Attention,
    /// Activations with an adapter's matrices.
    Adapter,
}

/// How many kinds of work there are.
pub(super) const WORKS: usize = 3;

/// A product of a layer's input with its weights: the operation that it belongs to, and what it goes from and to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub op: &'static str,
    pub source: Source,
    pub from: Form,
    pub to: Form,
}

impl Tape {
    /// From here on nothing is taken or saved, and no graph is made: modules run for their FLOPs alone, which is quick.
    pub fn count_only(&self) {
        let mut state = self.state.borrow_mut();
        state.products = Some(Vec::with_capacity(12));
        state.recording = Some(Recording::default());
        state.stopped = true;
    }

    /// Sets of which kind products with weights are from now on, and returns the kind before.
    pub fn work(&self, work: Work) -> Work {
        std::mem::replace(&mut self.state.borrow_mut().work, work)
    }

    /// Counts FLOPs of the operation at hand.
    pub fn count(&self, work: Work, flops: f64) {
        self.state.borrow_mut().count_forward(work, flops);
    }

    /// A layer has multiplied its input with its weights.
    pub fn multiplied(&self, from: Form, to: Form) {
        let mut state = self.state.borrow_mut();
        let (op, source) = state.op_name(state.op);
        if let Some(products) = &mut state.products {
            products.push(Product { op, source, from, to });
        }
    }

    /// Products since the last call, where modules run for these alone.
    pub fn take_products(&self) -> Vec<Product> {
        self.state.borrow_mut().products.replace(Vec::with_capacity(12)).unwrap_or_default()
    }

    /// FLOPs of forward since the last call, of every operation that has some: those with weights, and those of attention.
    pub fn take_flops(&self) -> Vec<(OpName, [f64; 2])> {
        let mut state = self.state.borrow_mut();
        let taken = state.ops.iter_mut().map(|op| {
            let [weights, attention, _] = std::mem::take(&mut op.forward);
            (*op, [weights, attention])
        });
        taken.filter(|(_, flops)| flops.iter().any(|flops| *flops > 0.0)).collect()
    }
}

impl State {
    /// Adds FLOPs of forward to the operation at hand.
    pub(super) fn count_forward(&mut self, work: Work, flops: f64) {
        let op = self.ops.get_mut(usize::from(self.op));
        if let Some(place) = op.and_then(|op| op.forward.get_mut(work as usize)) {
            *place += flops;
        }
    }

    /// Adds FLOPs of a product with a weight.
    pub(super) fn count_weights(&mut self, flops: f64) {
        self.count_forward(self.work, flops);
    }

    /// Adds FLOPs of backward to the operation at hand.
    pub(super) fn count_backward(&mut self, flops: f64) {
        if let Some(op) = self.ops.get_mut(usize::from(self.op)) {
            op.backward += flops;
        }
    }
}
