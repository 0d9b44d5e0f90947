//! From a checked [`Job`] to an [`Estimate`]: the ledger of memory on the most loaded rank, the peak's moment, blockers, compute.
//!
//! Nothing here can fail. Every byte is a sum over the operation list of [`crate::ops`] or a line with a source.

mod activations;
mod blockers;
mod compute;
mod ledger;
mod overhead;
mod stage;
mod states;

pub use blockers::Blocker;
pub use compute::Compute;
pub use ledger::{Certainty, Ledger, LineItem, MemoryKind, TensorLine};
pub use overhead::FRAMEWORK_CONTEXT;
pub use states::GATHERED_WEIGHTS;

use crate::config::{Job, Run};
use crate::ops::{self, OpList, Role};
use crate::units::Bytes;
use stage::Stage;

/// A moment of the step at which memory may be highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When it is, e.g. `when backward recomputes the last block`.
    pub name: &'static str,
    /// Memory then.
    pub total: Bytes,
}

/// Parameters of the whole model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParameterCount {
    /// All.
    pub total: u64,
    /// Token and position embedding.
    pub embedding: u64,
    /// All blocks together.
    pub blocks: u64,
    /// Final norm and untied head.
    pub head: u64,
}

/// Memory left, or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// So much is free.
    Free(Bytes),
    /// So much is missing.
    Short(Bytes),
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Fits with at least 5 % free.
    Fits,
    /// Fits with less than 5 % free.
    Tight,
    /// Needs more memory than the accelerator has.
    DoesNotFit,
    /// A rule forbids this layout, whatever the memory.
    CannotRun,
}

/// Everything known about a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// All lines alive at the peak on the most loaded rank.
    pub ledger: Ledger,
    /// The moments compared.
    pub moments: Vec<Moment>,
    /// The moment of the peak.
    pub peak_moment: &'static str,
    /// The pipeline stage that holds most, counted from 0.
    pub peak_stage: u64,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// Rules that forbid the layout; empty when it can run.
    pub blockers: Vec<Blocker>,
    /// Parameters.
    pub parameters: ParameterCount,
    /// FLOPs, time and cost of training; `None` when serving.
    pub compute: Option<Compute>,
    /// Keys and values of one token in all blocks, over all ranks of an instance; `None` when training.
    pub kv_cache_per_token: Option<Bytes>,
}

impl Estimate {
    /// Memory at the peak on the most loaded rank.
    pub fn total(&self) -> Bytes {
        self.ledger.total()
    }

    /// Memory left or missing on the most loaded rank.
    pub fn headroom(&self) -> Headroom {
        let total = self.total();
        if total <= self.capacity {
            Headroom::Free(self.capacity.saturating_sub(total))
        } else {
            Headroom::Short(total.saturating_sub(self.capacity))
        }
    }

    /// The answer in one word. Memory is judged first: a layout that neither fits nor may run "does not fit".
    pub fn verdict(&self) -> Verdict {
        match self.headroom() {
            Headroom::Short(_) => Verdict::DoesNotFit,
            Headroom::Free(_) if !self.blockers.is_empty() => Verdict::CannotRun,
            Headroom::Free(free) if free.0.saturating_mul(20) < self.capacity.0 => Verdict::Tight,
            Headroom::Free(_) => Verdict::Fits,
        }
    }

    /// Whether it fits and may run.
    pub fn runs(&self) -> bool {
        matches!(self.verdict(), Verdict::Fits | Verdict::Tight)
    }
}

/// Estimates a job on its most loaded rank.
pub fn estimate(job: &Job) -> Estimate {
    let list = ops::lower(&ops::lowering(job));
    let mut peak = Peak::default();
    for stage in stage::stages(job) {
        peak.consider(job, &list, &stage);
    }
    let [embedding, block, head] = [&list.embedding, &list.block, &list.head].map(|ops| ops::parameters(ops));
    let blocks = block.saturating_mul(list.num_hidden_layers);
    Estimate {
        ledger: peak.ledger,
        peak_moment: peak.name,
        peak_stage: peak.stage,
        moments: peak.moments,
        capacity: job.cluster().accelerator.memory,
        blockers: blockers::blockers(job),
        parameters: ParameterCount { total: list.parameters(), embedding, blocks, head },
        compute: compute::compute(job, &list),
        kv_cache_per_token: kv_cache_per_token(job, &list),
    }
}

/// Keys and values of one token: the cache's tensors with a context of one token and one sequence.
fn kv_cache_per_token(job: &Job, list: &OpList) -> Option<Bytes> {
    let Run::Serving(run) = job.run() else { return None };
    let tokens = run.context_length.saturating_mul(run.concurrent_sequences).max(1);
    let block: Bytes = ops::tensors(&list.block, Role::KvCache).map(|(_, tensor)| tensor.bytes()).sum();
    Some(Bytes((block * list.num_hidden_layers).0 / tokens))
}

/// The highest moment seen so far over all stages.
#[derive(Default)]
struct Peak {
    ledger: Ledger,
    total: Bytes,
    name: &'static str,
    stage: u64,
    moments: Vec<Moment>,
}

impl Peak {
    fn consider(&mut self, job: &Job, list: &OpList, stage: &Stage) {
        let states = states::lines(job, list, stage);
        for (name, lines) in activations::moments(job, list, stage) {
            let mut ledger = Ledger { lines: states.clone() };
            ledger.lines.extend(lines);
            overhead::append(job, &mut ledger);
            let total = ledger.total();
            self.moments.push(Moment { name, total });
            if total > self.total || self.ledger.lines.is_empty() {
                *self = Self { ledger, total, name, stage: stage.index, moments: std::mem::take(&mut self.moments) };
            }
        }
    }
}
