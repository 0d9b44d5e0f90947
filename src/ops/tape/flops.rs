//! FLOPs of forward's products, read off the shapes of their results.

use super::state::{OpName, Recording, State};
use super::{Form, Tape};
use crate::sources::Source;
use crate::units::to_f64;

/// The sizes that a product multiplies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Factors {
    /// Activations with the model's weights.
    #[default]
    Weights,
    /// Activations with each other: attention's two products, for each token that a query meets.
    Attention,
    /// Activations with an adapter's matrices.
    Adapter,
    /// Anything that no gradient comes back to.
    Alone,
    /// Anything that one gradient comes back to, of two operands.
    Once,
}

/// How many of them there are.
pub(super) const FACTORS: usize = 5;

/// A product of a layer's input with its weights: the operation that it belongs to, and what it
/// goes from and to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerProduct {
    pub op: &'static str,
    pub source: Source,
    pub from: Form,
    pub to: Form,
}

impl Tape {
    /// From here on nothing is taken or saved, and no graph is made: modules run for their FLOPs
    /// alone, which is quick.
    pub fn count_only(&self) {
        let mut state = self.state.borrow_mut();
        state.products = Some(Vec::with_capacity(12));
        state.recording = Some(Recording::default());
        state.stopped = true;
    }

    /// Sets the kind that products with weights are counted as from now on, and returns the kind
    /// before.
    pub fn multiplies(&self, factors: Factors) -> Factors {
        std::mem::replace(&mut self.state.borrow_mut().factors, factors)
    }

    /// Counts FLOPs of the current operation.
    pub fn count(&self, factors: Factors, flops: f64) {
        self.state.borrow_mut().count(factors, flops);
    }

    /// A layer has multiplied its input with its weights.
    pub fn multiplied(&self, from: Form, to: Form) {
        let mut state = self.state.borrow_mut();
        if state.products.is_none() {
            return;
        }
        let (op, source) = state.op_name(state.op);
        if let Some(products) = &mut state.products {
            products.push(LayerProduct { op, source, from, to });
        }
    }

    /// Products since the last call, where modules run for these alone.
    pub fn take_products(&self) -> Vec<LayerProduct> {
        self.state.borrow_mut().products.replace(Vec::with_capacity(12)).unwrap_or_default()
    }

    /// FLOPs of forward since the last call, of every operation that has some.
    pub fn take_flops(&self) -> Vec<OpName> {
        let mut state = self.state.borrow_mut();
        let taken = state
            .ops
            .iter_mut()
            .map(|op| OpName { forward: std::mem::take(&mut op.forward), ..*op });
        taken.filter(|op| op.forward.iter().any(|flops| *flops > 0.0)).collect()
    }
}

impl State {
    fn count(&mut self, factors: Factors, flops: f64) {
        let op = self.ops.get_mut(usize::from(self.op));
        if let Some(place) = op.and_then(|op| op.forward.get_mut(factors as usize)) {
            *place += flops;
        }
    }

    /// A product of that shape with a weight: each value is summed over the weight's last
    /// dimension.
    pub(super) fn count_weights(&mut self, result: Form, weight: Form) {
        self.count_values(self.factors, result, self.last(weight, 0));
    }

    /// One of attention's products: each value of queries, or of what comes out, is multiplied once
    /// for each token that is met.
    pub(super) fn count_attention(&mut self, queries: Form) {
        match self.met {
            Some((tokens, factors)) => self.count_values(factors, queries, tokens),
            None => self.count_values(Factors::Attention, queries, 1),
        }
    }

    /// So many products for each value of that shape. Counted in floating point, which no size is
    /// too large for.
    pub(super) fn count_values(&mut self, factors: Factors, form: Form, each: u64) {
        if self.products.is_some() {
            let values: f64 = self.shape(form).dims().map(|dim| to_f64(dim.1)).product();
            self.count(factors, 2.0 * values * to_f64(each));
        }
    }
}
