//! Memory with many numbers of data-parallel ranks from one play.
//!
//! Ranks change how much of parameters, gradients and states one of them keeps, seldom what
//! happens: a step is played once for each sort, and its shares are dealt out anew.

use super::plan::{Plan, Share};
use super::{Played, groups, optimizer};
use crate::config::{Job, TrainingRun};
use crate::estimator::law::Last;
use crate::estimator::ledger::fullest;
use crate::estimator::stage;
use crate::units::Bytes;

/// The step of each stage that can hold most, as it was played last, by all that its plan says but
/// the ranks.
#[derive(Default)]
pub(in crate::estimator) struct Ranks<'a>(Vec<Last<Plan<'a>, Played<'a>>>);

impl<'a> Ranks<'a> {
    /// Bytes by kind at the peak of the stage that holds most.
    pub fn memory(&mut self, job: &'a Job, run: &TrainingRun) -> [Bytes; 7] {
        let stages = stage::stages(job);
        if run.evaluation.is_some() {
            // Evaluations are not dealt out anew.
            return fullest(
                stages.into_iter().map(|stage| Played::new(job, run, stage, false).peak()),
            );
        }
        self.0.resize_with(self.0.len().max(stages.len()), Last::default);
        fullest(stages.into_iter().zip(&mut self.0).map(|(stage, last)| {
            let plan = Plan::of(job, run, stage.clone(), false);
            let played = last.value(plan.of_any_ranks(), |_| Played::new(job, run, stage, false));
            if played.plan != plan {
                played.deal_out(plan);
            }
            played.peak()
        }))
    }
}

impl<'a> Played<'a> {
    /// Deals out the storages that ranks share as in a plan with another number of ranks.
    fn deal_out(&mut self, plan: Plan<'a>) {
        if let Some(shards) = plan.shards() {
            self.tape.share_out_again(shards);
        }
        self.plan = plan;
        let plan = &self.plan;
        let learned = optimizer::learned(&self.tape, plan);
        let (groups, states) =
            (groups::sizes(&self.tape, plan), optimizer::amounts(&learned, plan));
        let temporaries: Vec<u64> = optimizer::temporaries(&learned, plan).sizes().collect();
        let (upcast, cut) = (optimizer::upcast(&learned, plan), groups::cut(&self.tape, plan));
        let group = |tag: u16| groups.get(usize::from(tag)).copied().unwrap_or_default();
        let elements = |share: Share| match share {
            Share::Kept(tag) => group(tag).kept,
            Share::Padded(tag) => group(tag).padded,
            Share::LearnedKept(tag) => group(tag).learned[0],
            Share::LearnedPadded(tag) => group(tag).learned[1],
            Share::States(number) => states.get(number).map_or(0, |states| states.1),
            Share::Upcast => upcast,
            Share::Cut => cut,
            Share::Temporaries(number) => temporaries.get(number).copied().unwrap_or(0),
        };
        let shares = self.shares.iter().map(|(storage, share)| (*storage, elements(*share)));
        self.tape.resize_some(shares);
        self.correct();
    }
}
