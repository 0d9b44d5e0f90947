//! The words in which an optimizer describes itself.

mod temporaries;

use serde::{Deserialize, Serialize};

use crate::sources::Source;
use crate::units::{DType, to_f64};

pub use temporaries::{Piece, StepAct, StepTemporaries};

/// How PyTorch's optimizer walks over the parameters; it decides the temporaries of its step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerImplementation {
    /// One parameter after the other: temporaries of one parameter.
    ForLoop,
    /// All parameters at once: temporaries as large as all gradients. PyTorch's default on GPUs.
    Foreach,
    /// One kernel: no temporaries.
    #[default]
    Fused,
}

impl OptimizerImplementation {
    /// Returns true if a step is one kernel, which takes no memory.
    pub const fn is_one_kernel(self) -> bool {
        matches!(self, Self::Fused)
    }

    /// Returns true if the number of steps of each parameter is a tensor on the GPU. Only the fused
    /// kernel reads it there; a loop and `foreach` keep it in host memory (`torch/optim/adamw.py`,
    /// `_init_group`).
    pub const fn counts_steps_on_device(self) -> bool {
        matches!(self, Self::Fused)
    }
}

/// Everything about one optimizer.
#[derive(Debug)]
pub struct OptimizerSpec {
    /// Its word in links and forms: never changed.
    pub key: &'static str,
    /// Its word in Hugging Face's `optim` and in measured rows; the name of its file.
    pub name: &'static str,
    /// Its name in the form.
    pub label: &'static str,
    /// One sentence for the form: the states that it keeps.
    pub help: &'static str,
    /// Its place in lists, smallest first.
    pub place: usize,
    /// True for the optimizer of a run that names none.
    pub is_default: bool,
    /// The states that it keeps from step to step.
    pub states: &'static [StateSpec],
    /// Of which parameters it counts the steps, in one fp32 number for each tensor.
    pub counts_steps: Served,
    /// Plays the allocations and releases of a step beside the states, in order.
    pub temporaries: fn(OptimizerImplementation, &[UpdatedParameter], &mut StepTemporaries),
    /// True if those temporaries were compared with PyTorch's memory tracker.
    pub is_measured: bool,
    /// The work of a step for a parameter, beyond streaming weights, gradient and states once;
    /// `None` where that is all.
    pub work: Option<OptimizerWork>,
    /// Tools that cannot be combined with it, or are not modelled with it.
    pub conflicts: &'static [OptimizerConflict],
    /// The optimizer in place of which it is proposed where memory is short.
    pub replaces: Option<Replacement>,
}

impl OptimizerSpec {
    /// Returns the state of that label.
    pub fn state(&self, label: &str) -> Option<&'static StateSpec> {
        self.states.iter().find(|state| state.label == label)
    }

    /// Returns true if some states are vectors beside the parameters: scales or factors.
    pub fn has_vectors(&self) -> bool {
        self.states.iter().any(|state| !matches!(state.values, StateValues::EveryElement))
    }

    /// Returns true if some states are kept for some parameters only.
    pub fn tells_parameters_apart(&self) -> bool {
        self.states.iter().any(|state| matches!(state.serves, Served::Those(_)))
    }

    /// Returns the bytes of states per parameter that a step reads and writes, where `recipe` is
    /// the format of unquantised states and `share` the share of all parameters that a state
    /// serves.
    ///
    /// Scales and factors are too small to count.
    pub fn state_bytes_per_parameter(&self, recipe: DType, share: impl Fn(Served) -> f64) -> f64 {
        let whole =
            self.states.iter().filter(|state| matches!(state.values, StateValues::EveryElement));
        whole
            .map(|state| to_f64(state.format.dtype(recipe).bits()) / 8.0 * share(state.serves))
            .sum()
    }
}

/// A parameter as an optimizer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdatedParameter {
    /// Elements that this rank updates.
    pub elements: u64,
    /// How many parameters are like it.
    pub times: u64,
    /// How many dimensions its tensor has.
    pub dimensions: usize,
    /// The sizes of its last two dimensions; `None` for a vector.
    pub matrix: Option<[u64; 2]>,
    /// True if the parameter belongs to a block, not to the embedding, the final norm or the head.
    pub in_block: bool,
    /// True for a table of embedded tokens or positions; a head that is tied to a table belongs to
    /// it.
    pub is_embedding: bool,
    /// Its format where that is not the one of all weights.
    pub own_format: Option<DType>,
}

impl UpdatedParameter {
    /// Many parameters side by side in one vector.
    pub const fn vector(elements: u64) -> Self {
        Self {
            elements,
            times: 1,
            dimensions: 1,
            matrix: None,
            in_block: true,
            is_embedding: false,
            own_format: None,
        }
    }

    /// Returns the format of an unquantised state, and of what a step makes of it: PyTorch's
    /// optimizers take the parameter's.
    pub fn state_format(&self) -> StateFormat {
        self.own_format.map_or(StateFormat::Recipe, StateFormat::Always)
    }
}

/// Of which parameters something is kept.
#[derive(Clone, Copy, Debug)]
pub enum Served {
    /// Of none.
    Nothing,
    /// Of all that learn.
    All,
    /// Of those for which this holds.
    Those(fn(&UpdatedParameter) -> bool),
}

impl Served {
    /// Returns true if the parameter is among those served.
    pub fn includes(self, parameter: &UpdatedParameter) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::Those(holds) => holds(parameter),
        }
    }
}

/// One kind of state.
#[derive(Clone, Copy, Debug)]
pub struct StateSpec {
    /// Its line in the ledger.
    pub label: &'static str,
    /// One sentence about it.
    pub note: &'static str,
    /// Of which parameters it is kept.
    pub serves: Served,
    /// How many values it has.
    pub values: StateValues,
    /// The format in which they are kept.
    pub format: StateFormat,
    /// Where that comes from.
    pub source: Source,
}

/// How many values a state has.
#[derive(Clone, Copy, Debug)]
pub enum StateValues {
    /// One for each element.
    EveryElement,
    /// So many for that many elements, whatever their tensors' shapes.
    OfElements(fn(u64) -> u64),
    /// So many for a parameter of that shape.
    OfShape(fn(&UpdatedParameter) -> u64),
}

impl StateValues {
    /// Returns true if a paged optimizer keeps such states in pages. bitsandbytes pages states that
    /// are as large as the parameter (`get_state_buffer` in `optim/optimizer.py`), and does not
    /// page scales.
    pub const fn are_paged(self) -> bool {
        matches!(self, Self::EveryElement)
    }
}

/// The format in which values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFormat {
    /// As the precision recipe keeps unquantised states: in the format of the gradient that the
    /// optimizer reads.
    Recipe,
    /// Always in this one.
    Always(DType),
}

impl StateFormat {
    /// Returns the format, where the recipe keeps unquantised states in `recipe`.
    pub const fn dtype(self, recipe: DType) -> DType {
        match self {
            Self::Recipe => recipe,
            Self::Always(dtype) => dtype,
        }
    }
}

/// The work of an optimizer for parameters, beyond streaming weights, gradients and states once.
#[derive(Clone, Copy, Debug)]
pub struct OptimizerWork {
    /// How much of it.
    pub of: fn(&UpdatedParameter) -> StepWork,
    /// How the time of the whole step is found, in words.
    pub formula: &'static str,
}

/// The work of a step for one parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepWork {
    /// FLOPs of its matrix products.
    pub flops: f64,
    /// Bytes that are read and written beside weight, gradient and states.
    pub bytes: f64,
}

/// A tool that an optimizer cannot be combined with.
#[derive(Debug, PartialEq, Eq)]
pub struct OptimizerConflict {
    /// The tool.
    pub with: ConflictingTool,
    /// One sentence: who forbids it or why it is not modelled, and a way out.
    pub says: &'static str,
    /// The source of the rule.
    pub source: Source,
}

/// A tool that an optimizer may not work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictingTool {
    /// A stack with a training loop of its own, as Megatron-LM has.
    OwnTrainingLoop,
    /// Weights split over tensor-parallel ranks.
    TensorParallelism,
    /// States shared out over data-parallel ranks: ZeRO of any stage, FSDP.
    ShardedStates,
    /// States in host memory, where the step runs.
    OffloadedStates,
    /// States in pages that move to the host (bitsandbytes).
    PagedStates,
}

/// A proposal to use this optimizer in place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Key of the optimizer that it replaces.
    pub of: &'static str,
    /// The words on the button.
    pub title: &'static str,
}
