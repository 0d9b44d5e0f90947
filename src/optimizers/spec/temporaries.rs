//! The memory that a step takes and frees, written down in the order in which the optimizer's code
//! does it.

use super::{OptimizerImplementation, StateFormat, UpdatedParameter};
use crate::units::DType;

/// A tensor of the step that has been taken and not yet freed.
#[derive(Debug)]
#[must_use = "what is taken is freed by name, as the code of the optimizer does it"]
pub struct Piece {
    /// The number of its first tensor.
    first: usize,
    /// How many tensors it is.
    count: usize,
}

/// One entry: memory is taken, or the memory of that number is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepAct {
    /// A tensor is made.
    Taken {
        /// Its name.
        name: &'static str,
        /// How many elements it has.
        elements: u64,
        /// Their format.
        format: StateFormat,
    },
    /// The tensor that was taken as that number is freed.
    Freed(usize),
}

/// The temporaries of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTemporaries {
    acts: Vec<StepAct>,
    taken: usize,
    /// The format in which the recipe keeps unquantised states: that of weights and gradients as
    /// the optimizer reads them.
    recipe: DType,
    /// True if every tensor is an entry of its own; false if tensors that are taken and freed
    /// together are one entry.
    singly: bool,
}

impl StepTemporaries {
    /// A step that updates in place, or inside one kernel: it takes nothing.
    pub fn none(_: OptimizerImplementation, _: &[UpdatedParameter], _: &mut Self) {}

    /// Returns a step that has taken nothing yet; `singly`: every tensor becomes an entry of its
    /// own.
    pub const fn new(recipe: DType, singly: bool) -> Self {
        Self { acts: Vec::new(), taken: 0, recipe, singly }
    }

    /// Returns true if the optimizer reads a parameter in fewer bits than that format has.
    pub fn is_narrower(&self, parameter: &UpdatedParameter, than: DType) -> bool {
        parameter.state_format().dtype(self.recipe).bits() < than.bits()
    }

    /// Takes a tensor like each of these parameters' states, one after the other.
    pub fn take_each<'p>(
        &mut self,
        name: &'static str,
        parameters: impl Iterator<Item = &'p UpdatedParameter>,
        format: StateFormat,
    ) -> Piece {
        let first = self.taken;
        if !self.singly {
            let elements = parameters
                .map(|one| one.elements.saturating_mul(one.times))
                .fold(0, u64::saturating_add);
            return self.take(name, elements, format);
        }
        for parameter in parameters {
            let Piece { .. } = self.take(name, parameter.elements, format);
        }
        Piece { first, count: self.taken - first }
    }

    /// Takes memory for a tensor.
    pub fn take(&mut self, name: &'static str, elements: u64, format: StateFormat) -> Piece {
        self.acts.push(StepAct::Taken { name, elements, format });
        self.taken += 1;
        Piece { first: self.taken - 1, count: 1 }
    }

    /// Lets a tensor go.
    #[allow(clippy::needless_pass_by_value, reason = "what is freed cannot be freed again")]
    pub fn free(&mut self, piece: Piece) {
        let Piece { first, count } = piece;
        self.acts.extend((first..first + count).map(StepAct::Freed));
    }

    /// A variable is given another tensor, as Python does it: its old tensor is freed after the new
    /// one was made.
    pub fn rebind(&mut self, variable: &mut Option<Piece>, piece: Option<Piece>) {
        if let Some(before) = std::mem::replace(variable, piece) {
            self.free(before);
        }
    }

    /// Returns all entries, in order.
    pub fn acts(&self) -> &[StepAct] {
        &self.acts
    }

    /// Returns the elements of every tensor, in the order in which they are taken.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.acts.iter().filter_map(|act| match act {
            StepAct::Taken { elements, .. } => Some(*elements),
            StepAct::Freed(_) => None,
        })
    }
}
