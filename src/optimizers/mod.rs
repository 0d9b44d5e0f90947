//! The optimizers that a run can choose, one file each.
//!
//! A member says everything about itself in one [`OptimizerSpec`]: its words, the states it keeps
//! of each parameter, the temporaries of its step, and which tools cannot be combined with it.
//! Master weights and the format of unquantised states belong to the precision recipe. No other
//! file of the library names a member: a new one is a new file here.

mod spec;

pub use spec::{
    ConflictingTool, OptimizerConflict, OptimizerImplementation, OptimizerSpec, OptimizerWork,
    Replacement, Served, StateFormat, StateSpec, StateValues, StepWork, UpdatedParameter,
};
pub use spec::{Piece, StepAct, StepTemporaries};

members::of_folder!("src/optimizers", OPTIMIZER: OptimizerSpec);

reference_to_member! {
    /// One of the optimizers.
    ///
    /// ```
    /// # use headroom::optimizers::Optimizer;
    /// assert!(Optimizer::named("adamw").is_some_and(|optimizer| optimizer == Optimizer::DEFAULT));
    /// assert!(Optimizer::named("magic").is_none());
    /// ```
    Optimizer: OptimizerSpec, "optimizer"
}

impl Optimizer {
    /// The optimizer of a run that names none.
    pub const DEFAULT: Self = Self::ALL[first_where!(Self::SPECS, spec => spec.is_default)];

    /// Returns the optimizer with that name, the word of Hugging Face's `optim` and of measured
    /// rows; `None` where there is none.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|optimizer| optimizer.0.name == name)
    }

    /// Everything about it.
    pub const fn spec(self) -> &'static OptimizerSpec {
        self.0
    }
}

impl Default for Optimizer {
    fn default() -> Self {
        Self::DEFAULT
    }
}
