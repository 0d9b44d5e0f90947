//! Gradients between steps: they exist, are set free, gathered up and added up.

use super::order::Order;
use super::state::{Arrival, Kind, NONE};
use super::{Param, Tape, Var, state};
use crate::units::DType;

impl Tape {
    /// Gives every parameter a gradient, and a copy where there is one; those that wait for their
    /// group have none yet.
    pub fn gradients_exist(&self) {
        let mut state = self.state.borrow_mut();
        state.kind = Kind::Gradient;
        for param in 0..state.parameters.len() {
            let Some((form, dtype)) = state
                .parameters
                .get(param)
                .filter(|found| !found.idle)
                .map(|found| (found.form, found.dtype))
            else {
                continue;
            };
            let (format, copy) = match state.arrival {
                Arrival::Kept => (dtype, None),
                Arrival::Converted(format, copy) => (format, copy),
                Arrival::Pending { .. } | Arrival::Stepped => continue,
            };
            state.layer = state.parameters.get(param).map_or(0, |found| found.layer);
            let gradient = state.allocate("gradient", form, format);
            let copy = copy.map_or(NONE, |copy| state.allocate("gradient copy", form, copy));
            if let Some(parameter) = state.parameters.get_mut(param) {
                (parameter.gradient, parameter.copy) = (gradient, copy);
            }
        }
    }

    /// Lets go of the gradients of all parameters, as `zero_grad` does.
    pub fn zero_gradients(&self) {
        let mut state = self.state.borrow_mut();
        for param in 0..state.parameters.len() {
            let Some(parameter) = state.parameters.get_mut(param) else { continue };
            let gradients = [&mut parameter.gradient, &mut parameter.copy]
                .map(|gradient| std::mem::replace(gradient, NONE));
            for gradient in gradients {
                state.release(gradient);
            }
        }
    }

    /// Lets go of the gradient of one parameter.
    pub fn release_gradient(&self, param: Param) {
        drop(self.take_gradient(param));
    }

    /// The gradient of one parameter, which no longer has it.
    pub fn take_gradient(&self, param: Param) -> Option<Var<'_>> {
        let mut state = self.state.borrow_mut();
        let parameter = state.parameters.get_mut(state::at(param))?;
        let storage = std::mem::replace(&mut parameter.gradient, NONE);
        let (form, dtype) =
            state.storages.get(state::at(storage)).map(|found| (found.form, found.dtype))?;
        Some(Var { tape: self, storage, form, dtype, node: NONE, order: Order::Plain })
    }

    /// Takes the memory of all parameters that learn away, as if they had none, and says what it
    /// was: they lie in another tensor from now on. The log then has nothing of them.
    pub fn lift_parameters(&self) -> Vec<(u64, DType)> {
        let mut state = self.state.borrow_mut();
        let learned: Vec<_> = state
            .parameters
            .iter()
            .filter(|found| !found.idle)
            .map(|found| found.storage)
            .collect();
        let lift = |storage: u32| {
            let storage = state.storages.get_mut(state::at(storage))?;
            let elements =
                std::mem::take(&mut storage.bytes).saturating_mul(8) / storage.dtype.bits().max(1);
            Some((elements, storage.dtype))
        };
        learned.into_iter().filter_map(lift).collect()
    }

    /// Lets go of the gradients of a group that waited for their reduction.
    pub fn release_gradients(&self, group: impl Fn(u16) -> bool) {
        let mut state = self.state.borrow_mut();
        for param in 0..state.parameters.len() {
            let Some(parameter) =
                state.parameters.get_mut(param).filter(|found| group(found.layer))
            else {
                continue;
            };
            let gradients = [&mut parameter.gradient, &mut parameter.copy]
                .map(|gradient| std::mem::replace(gradient, NONE));
            for gradient in gradients {
                state.release(gradient);
            }
        }
    }

    /// Adds the gradients of a group up unreduced, in that format: each becomes a whole tensor of
    /// it, or is added to the one that is there and let go.
    pub fn add_up_gradients(&self, group: impl Fn(u16) -> bool, dtype: DType) {
        let params = 0..state::count(self.state.borrow().parameters.len());
        for param in params {
            let layer = self.state.borrow().parameters.get(state::at(param)).map(|of| of.layer);
            if layer.is_some_and(&group) {
                self.add_up_gradient(param, dtype);
            }
        }
    }

    /// Adds the gradient of one parameter up unreduced, in that format.
    pub fn add_up_gradient(&self, param: Param, dtype: DType) {
        let mut state = self.state.borrow_mut();
        let Some(parameter) = state.parameters.get(state::at(param)) else { return };
        let (gradient, copy, form) = (parameter.gradient, parameter.copy, parameter.form);
        let made_in = state.storages.get(state::at(gradient)).map(|gradient| gradient.dtype);
        let kept = if made_in.is_none() || (copy == NONE && made_in == Some(dtype)) {
            // Nothing has come, or what has come is what is added to; it stays.
            state.turn_into_gradient(gradient);
            made_in.map(|_| gradient)
        } else {
            let before = std::mem::replace(&mut state.kind, Kind::Gradient);
            let sum =
                if copy == NONE { state.allocate("gradients added up", form, dtype) } else { copy };
            state.kind = before;
            state.release(gradient);
            Some(sum)
        };
        if let Some(parameter) = state.parameters.get_mut(state::at(param))
            && let Some(kept) = kept
        {
            (parameter.gradient, parameter.copy) = (NONE, kept);
        }
    }

    /// Gives every parameter that learns a gradient that was added up unreduced.
    pub fn added_up_gradients_exist(&self, dtype: DType) {
        let mut state = self.state.borrow_mut();
        let before = std::mem::replace(&mut state.kind, Kind::Gradient);
        for param in 0..state.parameters.len() {
            let learned = state.parameters.get(param).filter(|found| !found.idle);
            let Some((form, layer)) = learned.map(|found| (found.form, found.layer)) else {
                continue;
            };
            state.layer = layer;
            let sum = state.allocate("gradients added up", form, dtype);
            if let Some(parameter) = state.parameters.get_mut(param) {
                parameter.copy = sum;
            }
        }
        state.kind = before;
    }
}
