//! Parts of the engine that few scenarios need, or that the first one does not: the modules that few
//! models have with the step of stacks that is not played operator by operator, and how long serving
//! takes. The page's program begins without them and fetches them when a scenario needs them, so
//! that a family or a law more makes no first visit longer. Every other program has them inside.
//!
//! `wasm_split`, which Leptos' own `#[lazy]` uses, marks the functions that hand them out;
//! `cargo xtask build` cuts off what is reachable through these alone.

use super::megatron;
use super::time::{self, Clock, ServingTime, Timed};
use crate::config::{Job, ModelConfig, TrainingRun};
use crate::estimator::LineItem;
use crate::ops::megatron::Part;
use crate::ops::modules::rare;
use crate::stacks::Stack;
use crate::units::{Bytes, Seconds};

/// Questions about a step that is not played.
pub(super) struct Unplayed {
    /// Memory at the peak of a step by Megatron-LM's schedule, on one stage or the one that holds
    /// most, with or without its tensors.
    pub peak: fn(&Job, &TrainingRun, Option<u64>, bool) -> megatron::Peak,
    /// Lines that a stage holds when forward has ended.
    pub after_forward: fn(&Job, &TrainingRun, u64) -> Vec<LineItem>,
    /// Parameters that learn.
    pub trainable: fn(&Job, &TrainingRun) -> u64,
    /// Bytes of activations that a rank of a stage keeps in host memory.
    pub away: fn(&Job, &TrainingRun, u64) -> Bytes,
    /// Times of every step of a part.
    pub part: fn(&Clock, &Job, Part) -> Vec<Timed>,
}

static UNPLAYED: Unplayed = Unplayed {
    peak: megatron::peak,
    after_forward: megatron::after_forward,
    trainable: megatron::trainable,
    away: megatron::away,
    part: Clock::part,
};

/// Questions about how long serving takes.
pub(super) struct ServingTimes {
    /// [`time::serving`].
    pub times: fn(&Job) -> Option<ServingTime>,
    /// [`time::first_token_and_step`].
    pub request: fn(&Job, u64, &Job, u64) -> Option<[Seconds; 2]>,
}

static SERVING_TIMES: ServingTimes =
    ServingTimes { times: time::times_of_serving, request: time::times_of_request };

/// A part of the engine that the page fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnginePart {
    /// Modules that few models have, and steps that are not played.
    Rare,
    /// Times of serving.
    Serving,
}

impl EnginePart {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rare, Self::Serving];

    /// Returns true if nothing may be asked about the job without it.
    pub fn is_needed(self, job: &Job) -> bool {
        match (self, job.training()) {
            (Self::Rare, run) => {
                let stack = run.map_or_else(Stack::default, |run| run.stack);
                rare::are_needed(job.model(), stack.modules())
                    || (run.is_some() && !stack.is_played())
            }
            (Self::Serving, run) => run.is_none(),
        }
    }
}

/// Returns the parts that a job needs and the program lacks; only the page lacks any, until it has
/// fetched them.
pub fn missing_parts(job: &Job) -> impl Iterator<Item = EnginePart> + '_ {
    EnginePart::ALL.into_iter().filter(|part| !part.is_there() && part.is_needed(job))
}

/// Returns true if the program has all parts that the job needs. Nothing may be asked about one
/// that needs others.
pub fn has_parts(job: &Job) -> bool {
    missing_parts(job).next().is_none()
}

/// Returns true if the program has all parts that counting a model's parameters needs.
pub fn has_parts_of(model: &ModelConfig) -> bool {
    EnginePart::Rare.is_there() || !rare::are_needed(model, Stack::default().modules())
}

/// All parts, in a program that has them inside.
#[cfg(not(feature = "apart"))]
mod access {
    use super::{EnginePart, SERVING_TIMES, ServingTimes, UNPLAYED, Unplayed};

    pub(in crate::estimator) fn unplayed() -> &'static Unplayed {
        #[cfg(test)]
        crate::ops::modules::rare::asked::note();
        &UNPLAYED
    }

    pub(in crate::estimator) const fn serving_times() -> &'static ServingTimes {
        &SERVING_TIMES
    }

    impl EnginePart {
        /// Returns true if the program has it.
        pub const fn is_there(self) -> bool {
            true
        }
    }
}

/// All parts, in a program that fetches them.
#[cfg(feature = "apart")]
#[allow(
    clippy::unnecessary_wraps,
    reason = "the macro adds the failure of a fetch to the functions that it marks"
)]
mod access {
    use std::sync::OnceLock;

    use super::{EnginePart, SERVING_TIMES, ServingTimes, UNPLAYED, Unplayed, rare};

    static UNPLAYED_CAME: OnceLock<&'static Unplayed> = OnceLock::new();
    static SERVING_TIMES_CAME: OnceLock<&'static ServingTimes> = OnceLock::new();

    /// The tables of the rare part.
    struct Tables {
        modules: &'static rare::Rare,
        unplayed: &'static Unplayed,
    }

    static TABLES: Tables = Tables { modules: &rare::RARE, unplayed: &UNPLAYED };

    #[wasm_split_helpers::wasm_split(rare, fallible)]
    fn tables() -> Result<&'static Tables, wasm_split_helpers::SplitLoaderError> {
        Ok(&TABLES)
    }

    #[wasm_split_helpers::wasm_split(serving, fallible)]
    fn serving() -> Result<&'static ServingTimes, wasm_split_helpers::SplitLoaderError> {
        Ok(&SERVING_TIMES)
    }

    impl EnginePart {
        /// Returns true if the program has it.
        pub fn is_there(self) -> bool {
            match self {
                Self::Rare => UNPLAYED_CAME.get().is_some(),
                Self::Serving => SERVING_TIMES_CAME.get().is_some(),
            }
        }

        /// Fetches it, and tells whether it came.
        pub async fn fetch(self) -> bool {
            match self {
                Self::Rare => {
                    if let Ok(tables) = tables().await {
                        rare::arrive(tables.modules);
                        let _ = UNPLAYED_CAME.set(tables.unplayed);
                    }
                }
                Self::Serving => {
                    if let Ok(times) = serving().await {
                        let _ = SERVING_TIMES_CAME.set(times);
                    }
                }
            }
            self.is_there()
        }
    }

    pub(in crate::estimator) fn unplayed() -> &'static Unplayed {
        came(&UNPLAYED_CAME)
    }

    pub(in crate::estimator) fn serving_times() -> &'static ServingTimes {
        came(&SERVING_TIMES_CAME)
    }

    fn came<T>(table: &OnceLock<&'static T>) -> &'static T {
        match table.get() {
            Some(table) => table,
            None => {
                unreachable!("somebody asks about a job before its part of the engine is there")
            }
        }
    }
}

pub(super) use access::{serving_times, unplayed};
