//! The optimizers that a run can choose, one file each.
//!
//! A member says everything about itself in one [`OptimizerSpec`]: its words, the states it keeps of each parameter, the temporaries of
//! its step, and which tools cannot be combined with it. Master weights and the format of unquantised states belong to the precision
//! recipe. No other file of the library names a member: a new one is a new file here.

mod spec;

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

pub use spec::{
    ConflictingTool, OptimizerConflict, OptimizerImplementation, OptimizerSpec, OptimizerWork, Replacement, Served, StateFormat,
    StateSpec, StateValues, StepWork, UpdatedParameter,
};
pub use spec::{Piece, StepAct, StepTemporaries};

members::of_folder!("src/optimizers", OPTIMIZER: OptimizerSpec);

/// One of the optimizers, told apart by its key.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct Optimizer(&'static OptimizerSpec);

impl Optimizer {
    /// Every optimizer, in the order in which lists show them.
    pub const ALL: [Self; MEMBERS.len()] = by_rank();

    /// The optimizer of a run that names none.
    pub const DEFAULT: Self = default();

    /// The optimizer with that key, the word of links and forms; `None` where there is none.
    ///
    /// ```
    /// # use headroom::optimizers::Optimizer;
    /// assert!(Optimizer::of_key("adamw").is_some_and(|optimizer| optimizer == Optimizer::DEFAULT));
    /// assert!(Optimizer::of_key("magic").is_none());
    /// ```
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|optimizer| optimizer.0.key == key)
    }

    /// The optimizer with that name, the word of Hugging Face's `optim` and of measured rows; `None` where there is none.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|optimizer| optimizer.0.name == name)
    }

    /// Everything about it.
    pub const fn spec(self) -> &'static OptimizerSpec {
        self.0
    }

    /// Its word in links and forms.
    pub const fn key(self) -> &'static str {
        self.0.key
    }
}

impl Default for Optimizer {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PartialEq for Optimizer {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Optimizer {}

impl Hash for Optimizer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl fmt::Debug for Optimizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.label)
    }
}

impl From<Optimizer> for &'static str {
    fn from(optimizer: Optimizer) -> Self {
        optimizer.0.key
    }
}

impl TryFrom<String> for Optimizer {
    type Error = String;

    fn try_from(key: String) -> Result<Self, String> {
        Self::of_key(&key).ok_or_else(|| format!("there is no optimizer “{key}”"))
    }
}

/// The members sorted by rank: insertion sort, since it runs while the program is compiled.
const fn by_rank() -> [Optimizer; MEMBERS.len()] {
    let mut sorted = [Optimizer(MEMBERS[0]); MEMBERS.len()];
    let mut place = 0;
    while place < MEMBERS.len() {
        sorted[place] = Optimizer(MEMBERS[place]);
        let mut at = place;
        while at > 0 && sorted[at].0.rank < sorted[at - 1].0.rank {
            (sorted[at - 1], sorted[at]) = (sorted[at], sorted[at - 1]);
            at -= 1;
        }
        place += 1;
    }
    sorted
}

/// The member that says it is the default.
const fn default() -> Optimizer {
    let mut place = 0;
    while !MEMBERS[place].is_default {
        place += 1;
    }
    Optimizer(MEMBERS[place])
}
