//! Parts of the engine that few scenarios need: the modules that few models have, and the step of
//! stacks that is not played operator by operator. The page's program begins without them and
//! fetches them when a scenario needs them, so that a family more makes no first visit longer.
//! Every other program has them inside.
//!
//! `wasm_split`, which Leptos' own `#[lazy]` uses, marks the one function that hands them out;
//! `cargo xtask build` cuts off what is reachable through it alone.

use super::megatron;
use super::time::{Clock, Timed};
use crate::config::{Job, ModelConfig, TrainingRun};
use crate::estimator::LineItem;
use crate::ops::megatron::Part;
use crate::ops::modules::rare;
use crate::stacks::Stack;
use crate::units::Bytes;

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

/// Returns true if the program has all parts that the job needs. Nothing may be asked about one
/// that needs others; only the page has such jobs, while a part is on its way.
pub fn has_parts(job: &Job) -> bool {
    has_all_parts() || !needs_parts(job)
}

/// Returns true if the job has modules that few models have, or a step that is not played.
pub fn needs_parts(job: &Job) -> bool {
    let stack = job.training().map_or_else(Stack::default, |run| run.stack);
    rare::are_needed(job.model(), stack.modules())
        || (job.training().is_some() && !stack.is_played())
}

/// Returns true if the program has all parts that counting a model's parameters needs.
pub fn has_parts_of(model: &ModelConfig) -> bool {
    has_all_parts() || !rare::are_needed(model, Stack::default().modules())
}

/// All parts, in a program that has them inside.
#[cfg(not(feature = "apart"))]
mod access {
    use super::{UNPLAYED, Unplayed};

    pub(in crate::estimator) fn unplayed() -> &'static Unplayed {
        #[cfg(test)]
        crate::ops::modules::rare::asked::note();
        &UNPLAYED
    }

    /// True if the program has all parts.
    pub const fn has_all_parts() -> bool {
        true
    }
}

/// All parts, in a program that fetches them.
#[cfg(feature = "apart")]
#[allow(
    clippy::unnecessary_wraps,
    reason = "the macro adds the failure of a fetch to the function that it marks"
)]
mod access {
    use std::sync::OnceLock;

    use super::{UNPLAYED, Unplayed, rare};

    static FETCHED: OnceLock<&'static Unplayed> = OnceLock::new();

    /// The tables of all parts.
    struct Parts {
        modules: &'static rare::Rare,
        unplayed: &'static Unplayed,
    }

    static PARTS: Parts = Parts { modules: &rare::RARE, unplayed: &UNPLAYED };

    #[wasm_split_helpers::wasm_split(rare, fallible)]
    fn parts() -> Result<&'static Parts, wasm_split_helpers::SplitLoaderError> {
        Ok(&PARTS)
    }

    /// Fetches all parts, and tells whether they came.
    pub async fn fetch_parts() -> bool {
        if let Ok(parts) = parts().await {
            rare::arrive(parts.modules);
            let _ = FETCHED.set(parts.unplayed);
        }
        has_all_parts()
    }

    pub(in crate::estimator) fn unplayed() -> &'static Unplayed {
        match FETCHED.get() {
            Some(unplayed) => unplayed,
            None => {
                unreachable!("somebody asks about a step before its part of the engine is there")
            }
        }
    }

    /// True if the program has all parts.
    pub fn has_all_parts() -> bool {
        FETCHED.get().is_some()
    }
}

#[cfg(feature = "apart")]
pub use access::fetch_parts;
pub use access::has_all_parts;
pub(super) use access::unplayed;
