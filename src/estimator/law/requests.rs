//! Memory of one serving job with other lengths and numbers of sequences.

use std::rc::Rc;

use crate::config::{Job, Run};
use crate::estimator::activations::Moment;
use crate::estimator::ledger::{Ledger, LineItem, fullest};
use crate::estimator::stage::{self, Scope, Stage};
use crate::estimator::{listed, states};
use crate::ops::{self, Lowering, OpList};
use crate::units::Bytes;

/// [`memory_by_kind`](crate::estimator::memory_by_kind) of one serving job with other lengths,
/// sequences, chunks or caches: its weights are counted once.
///
/// A step's tensors are products of lengths and numbers of sequences, each of which a shape calls
/// by its name. So one record tells all others, which a further one must confirm; where it does
/// not, the record is made anew for each question.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// The stages that can hold most, with the lines of their weights.
    stages: Vec<(Stage, Vec<LineItem>)>,
    /// The operations of a step, without their parameters, if their tensors are such products.
    step: Option<OpList>,
}

impl Requests {
    /// Counts the weights of a serving job, which stay as they are with any number of requests;
    /// `None` when training.
    pub fn of(job: &Job) -> Option<Self> {
        let Run::Serving(_) = job.run() else { return None };
        let with = ops::lowering(job);
        let list = ops::without_products(&with);
        let parameters = Rc::new(stage::Parameters::of(job, &list));
        let weights = |stage: Stage| {
            let scope = Scope {
                job,
                list: &list,
                stage,
                parameters: Rc::clone(&parameters),
                detail: false,
            };
            let lines = states::lines(&scope);
            (scope.stage, lines)
        };
        let (step, further) = (list.at(&with.lengths()), further(&with));
        let is_confirmed = step.at(&further.lengths()) == without_parameters(&further);
        Some(Self {
            stages: stage::stages(job).into_iter().map(weights).collect(),
            step: is_confirmed.then_some(step),
        })
    }

    /// Returns memory at the peak by kind, bytes, in the order of
    /// [`MemoryKind::ALL`](crate::estimator::MemoryKind::ALL).
    ///
    /// `job` must have the model, the layout and the format of weights of the job that was counted.
    pub fn memory(&self, job: &Job) -> [Bytes; 7] {
        let with = ops::lowering(job);
        let known = self.step.as_ref().map(|step| step.at(&with.lengths()));
        let list = known.unwrap_or_else(|| without_parameters(&with));
        let uncounted = Rc::new(stage::Parameters::default());
        let of_stage = |(stage, weights): &(Stage, Vec<LineItem>)| {
            let (stage, parameters) = (stage.clone(), Rc::clone(&uncounted));
            let scope = Scope { job, list: &list, stage, parameters, detail: false };
            Ledger { lines: listed::with_weights(&scope, Moment::Prefill, weights.clone()) }
                .by_kind()
        };
        fullest(self.stages.iter().map(of_stage))
    }
}

/// The operations of a step without their parameters: its working set.
fn without_parameters(with: &Lowering) -> OpList {
    ops::without_products(with).at(&with.lengths())
}

/// Other lengths, no two of them in the ratio that they have in the job.
const fn further<'a>(with: &Lowering<'a>) -> Lowering<'a> {
    Lowering {
        seq_length: with.seq_length.saturating_mul(3),
        context_length: with.context_length.saturating_mul(5),
        concurrent_sequences: with.concurrent_sequences.saturating_mul(7),
        ..*with
    }
}
