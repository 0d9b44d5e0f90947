//! The pace of what proposes tokens ahead of a served model.

use super::pace::{Batch, Pace, Size};
use super::work::StepWork;
use crate::config::ServingRun;
use crate::engines::Steps;
use crate::estimator::drafting::Drafted;
use crate::units::to_f64;

/// The pace of what proposes tokens, pass by pass.
#[derive(Clone, Debug)]
pub(super) struct DraftPace {
    pace: Pace,
    /// Passes in a step: each proposes one token of every sequence.
    passes: f64,
    /// Tokens that the model checks, and those that a sequence gets on average.
    checked: f64,
    given: f64,
    /// Tokens of a sequence that the first pass reads.
    first: f64,
}

impl DraftPace {
    /// The pace of a draft; `None` where peak or memory bandwidth are unknown.
    pub fn of(drafted: &Drafted, run: &ServingRun, steps: &'static Steps) -> Option<Self> {
        let work = StepWork::of_draft(drafted, steps)?;
        let draft = drafted.draft;
        let checked = to_f64(draft.checked());
        Some(Self {
            pace: Pace::of_layers(&drafted.job, steps, work, drafted.layers.clone()),
            passes: to_f64(draft.tokens),
            checked,
            given: draft.tokens_per_step(),
            first: if run.engine.speculation.reads_checked { checked } else { 1.0 },
        })
    }

    /// Tokens that a sequence gets from a step on average, and those that the model runs for it.
    pub const fn tokens_of_a_step(&self) -> (f64, f64) {
        (self.given, self.checked)
    }

    /// Pairs of query and key over its layers.
    pub fn pairs(&self, from: f64, to: f64) -> f64 {
        self.pace.pairs(from, to)
    }

    /// Seconds of all passes of a step: the first one reads prompts too, and the further ones one
    /// token of every sequence that then has an answer. The processor prepares none of them.
    pub fn step(&self, batch: &Batch) -> f64 {
        let of_draft = Batch { pairs: batch.draft_pairs, ..*batch };
        let first = self.pass(&of_draft, self.first);
        let further = Batch {
            decodes: batch.decodes + batch.first,
            held: batch.held + batch.first * batch.end,
            ..Batch::default()
        };
        first + self.further() * self.pass(&further, 1.0)
    }

    /// Seconds of a chunk of prompts, whose kernels take as long as `of` says.
    pub fn prefill(&self, of: impl Fn(&Pace) -> f64, size: Size) -> f64 {
        self.pace.launched(of(&self.pace), size)
    }

    fn further(&self) -> f64 {
        (self.passes - 1.0).max(0.0)
    }

    fn pass(&self, batch: &Batch, run: f64) -> f64 {
        let size = batch.size(run);
        if size.tokens > 0.0 { self.pace.launched(self.pace.device(batch, run), size) } else { 0.0 }
    }
}
