//! Evaluations between steps, as transformers' Trainer runs them (`Trainer.evaluation_loop`):
//! forward without gradients beside weights and optimizer states.
//!
//! The modules are the stack's own, made for the evaluation's batch on a tape of their own. Nothing
//! of an evaluation stays.

use std::ops::Range;

use super::coordinator::Coordinator;
use super::plan::Plan;
use super::sequence::{TensorEvent, events, woven};
use super::{Played, play};
use crate::config::{Dropout, Job, Recompute, TrainingRun};
use crate::estimator::blockers;
use crate::ops::Lowering;
use crate::ops::tape::{State, Tape};
use crate::units::Bytes;

impl Plan<'_> {
    /// The plan of the evaluations of a training with this plan; `None` where there are none, or
    /// none that are modelled.
    fn of_evaluation(&self, job: &Job, run: &TrainingRun) -> Option<Self> {
        let evaluation =
            run.evaluation.filter(|_| blockers::refused_evaluation(job, run).is_none())?;
        let mut with = Lowering {
            micro_batch_size: evaluation.batch_size,
            recompute: Recompute::None,
            ..self.with
        };
        (with.tuning.dropout, with.dropout) = (false, Dropout::NONE);
        let (accumulated, keeps_gradients) = (false, false);
        Some(Self {
            with,
            recompute: Recompute::None,
            accumulated,
            keeps_gradients,
            evaluation: Some(evaluation),
            ..self.clone()
        })
    }
}

impl<'a> Played<'a> {
    /// The evaluations of a training whose step has that plan.
    pub(super) fn evaluation(
        job: &'a Job,
        run: &TrainingRun,
        plan: &Plan<'a>,
    ) -> Option<Box<Self>> {
        let plan = plan.of_evaluation(job, run)?;
        Some(Box::new(Self::by(job, plan, play::evaluate)))
    }

    /// The step or the evaluation, whichever takes more; of equal ones the step.
    pub(super) fn higher(&self) -> &Self {
        let total = |played: &Self| played.own_peak().into_iter().sum::<Bytes>();
        self.evaluation
            .as_deref()
            .filter(|evaluation| total(evaluation) > total(self))
            .unwrap_or(self)
    }
}

/// Every tensor of an evaluation of a training with that plan, numbered behind those of the
/// training, whose first micro-batch is that part of its log.
pub(super) fn every_tensor(
    job: &Job,
    run: &TrainingRun,
    plan: &Plan<'_>,
    (training, micro_batch): (&State, &Range<usize>),
) -> Vec<TensorEvent> {
    let Some(plan) = plan.of_evaluation(job, run) else { return Vec::new() };
    let first = u32::try_from(training.storages.len()).unwrap_or(u32::MAX);
    let tape = Tape::new();
    let before = play::evaluate_alone(&tape, &plan);
    let state = tape.state();
    let part = before..state.log.len();
    let mut found = if plan.is_coordinated() {
        let gathered =
            Coordinator::of(&state, &plan).evaluate((&state, &part), (training, micro_batch));
        woven(&state, &part, gathered)
    } else {
        events(&state, state.log.get(part).unwrap_or_default())
    };
    for event in &mut found {
        match event {
            TensorEvent::Taken { tensor, .. } | TensorEvent::Freed { tensor } => {
                *tensor = tensor.saturating_add(first);
            }
            TensorEvent::CacheEmptied => {}
        }
    }
    found
}
