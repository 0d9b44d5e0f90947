//! FLOPs of products, by what they are spent on.

use super::Tape;
use super::state::{OpName, Recording, State};

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
    /// Products that no gradient comes back to.
    Alone,
}

/// How many kinds of work there are.
pub(super) const WORKS: usize = 4;

impl Tape {
    /// From here on nothing is taken or saved, and no graph is made: modules run for their FLOPs alone, which is quick.
    pub fn count_only(&self) {
        let mut state = self.state.borrow_mut();
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

    /// FLOPs of forward since the last call, of every operation that has some.
    pub fn take_flops(&self) -> Vec<OpName> {
        let mut state = self.state.borrow_mut();
        let taken = state.ops.iter_mut().map(|op| OpName { forward: std::mem::take(&mut op.forward), ..*op });
        taken.filter(|op| op.forward.iter().any(|flops| *flops > 0.0)).collect()
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
