//! A job's time, for every kind of job, or the reason why it cannot be told.

use super::{Cost, ServingTime, Step, cost, serving, step_with};
use crate::config::{Job, Run};
use crate::estimator::Estimate;
use crate::units::DType;

/// How long a job takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing {
    /// A training step, and the whole training at its pace.
    Training {
        /// One step, term by term.
        step: Step,
        /// The whole training.
        cost: Cost,
    },
    /// Serving.
    Serving(ServingTime),
    /// A figure of the accelerator is missing.
    Unknown(Unknown),
}

/// The figure without which there is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The peak rate in the format of the activations.
    Peak(DType),
    /// The memory's bandwidth.
    Bandwidth,
    /// The rate of matrix products in the narrow format asked for.
    Narrow,
    /// The time of an encoder beside its decoder.
    Encoder,
    /// The time of a vision tower that sees images.
    Images,
    /// The time of layers whose parameters are counted alone.
    Counted,
}

/// Returns how long a job takes, in seconds and money, or the figure that is missing where this
/// cannot be told.
///
/// `estimate` must be the job's own, because its FLOPs are used.
///
/// ```
/// use headroom::estimator::estimate;
/// use headroom::estimator::time::{Timing, timing};
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8&gpu=h100").scenario.resolve();
/// let job = job.map_err(|problems| problems.len())?;
/// assert!(matches!(timing(&job, &estimate(&job)), Timing::Training { .. }));
/// # Ok::<(), usize>(())
/// ```
pub fn timing(job: &Job, estimate: &Estimate) -> Timing {
    let training = || {
        let step = step_with(job, estimate.compute.as_ref()?)?;
        let cost = cost(job, &step)?;
        Some(Timing::Training { step, cost })
    };
    let timed = match job.run() {
        Run::Training(_) => training(),
        Run::Serving(_) => serving(job).map(Timing::Serving),
    };
    timed.unwrap_or_else(|| Timing::Unknown(missing(job)))
}

/// A part of the model that runs over another length than the text, of which no time is modelled.
pub(super) fn other_lengths(job: &Job) -> Option<Unknown> {
    let sees = job.training().is_some_and(|run| run.images.per_sequence > 0);
    let model = job.model();
    if model.is_counted_and_served() {
        return Some(Unknown::Counted);
    }
    // A step of modules that are played has both sides; convolutions of frames have no rate, and
    // serving goes through the encoder once.
    let plays =
        job.training().is_some_and(|run| run.stack.is_played()) && model.only_source().is_none();
    let untold = model.beside().is_some() && !plays;
    if untold { Some(Unknown::Encoder) } else { sees.then_some(Unknown::Images) }
}

fn missing(job: &Job) -> Unknown {
    if let Some(part) = other_lengths(job) {
        return part;
    }
    let format = match job.run() {
        Run::Training(run) => run.recipe().activation,
        Run::Serving(run) => run.activation_dtype,
    };
    let accelerator = &job.cluster().accelerator;
    if accelerator.peak.of(format).is_none() {
        Unknown::Peak(format)
    } else if accelerator.memory_bandwidth.is_none() {
        Unknown::Bandwidth
    } else {
        Unknown::Narrow
    }
}
