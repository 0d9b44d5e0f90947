//! Pipeline schedules as data: the order of passes on each stage, the memory that each keeps
//! meanwhile, and how long it waits.
//!
//! One table ([`SCHEDULES`]) names the schedules with their sources; [`Pipeline`] gives the order
//! of passes of every rank ([`Pipeline::order`]), from which memory, charts and tests read; the
//! closed forms of the papers ([`Pipeline::in_flight`], [`Pipeline::bubble`]) are for searches, and
//! property tests hold them equal to the figures of the played order.

mod order;
mod play;

use serde::{Deserialize, Serialize};

pub use play::{Played, Timed};

/// How micro-batches take turns on the stages of a pipeline.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PipelineSchedule {
    /// All forward passes, then all backward passes.
    GPipe,
    /// One forward, one backward; with several chunks per stage [`Self::Interleaved`].
    #[default]
    OneForwardOneBackward,
    /// One forward, one backward over several chunks of blocks per stage.
    Interleaved,
    /// Backward for weights waits, within the memory of one forward, one backward.
    ZeroBubbleH1,
    /// As [`Self::ZeroBubbleH1`], with about twice as many micro-batches in flight.
    ZeroBubbleH2,
    /// Micro-batches enter at both ends; every rank holds two stages.
    DualPipe,
}

/// Facts about one schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleFacts {
    /// The schedule.
    pub schedule: PipelineSchedule,
    /// Its name.
    pub name: &'static str,
    /// The number of copies of every block's parameters over all ranks of a pipeline.
    pub parameter_copies: u64,
    /// True if backward for weights is a pass of its own.
    pub splits_backward: bool,
    /// The most micro-batches in flight on rank i, in words (p stages, m micro-batches, v chunks).
    pub in_flight: &'static str,
    /// The idle time of the rank that waits longest, in words (F, B, W: forward, backward for
    /// inputs, backward for weights).
    pub bubble: &'static str,
    /// The key of its source in the bibliography.
    pub source: &'static str,
}

/// All schedules.
pub const SCHEDULES: [ScheduleFacts; 6] = [
    ScheduleFacts {
        schedule: PipelineSchedule::GPipe,
        name: "GPipe",
        parameter_copies: 1,
        splits_backward: false,
        in_flight: "m",
        bubble: "(p − 1)(F + B + W)",
        source: "gpipe-2019",
    },
    ScheduleFacts {
        schedule: PipelineSchedule::OneForwardOneBackward,
        name: "1F1B",
        parameter_copies: 1,
        splits_backward: false,
        in_flight: "min(p − i, m)",
        bubble: "(p − 1)(F + B + W)",
        source: "megatron-2021",
    },
    ScheduleFacts {
        schedule: PipelineSchedule::Interleaved,
        name: "Interleaved 1F1B",
        parameter_copies: 1,
        splits_backward: false,
        in_flight: "min(2(p − i − 1) + (v − 1)p + 1, vm) / v",
        bubble: "(p − 1)(F + B + W) / v",
        source: "megatron-2021",
    },
    ScheduleFacts {
        schedule: PipelineSchedule::ZeroBubbleH1,
        name: "ZB-H1",
        parameter_copies: 1,
        splits_backward: true,
        in_flight: "min(p, m)",
        bubble: "(p − 1) max(B, F + B − W)",
        source: "zero-bubble-2023",
    },
    ScheduleFacts {
        schedule: PipelineSchedule::ZeroBubbleH2,
        name: "ZB-H2",
        parameter_copies: 1,
        splits_backward: true,
        in_flight: "min(2p − 1, m)",
        bubble: "(p − 1) max(0, B − F, F + B − 2W)",
        source: "zero-bubble-2023",
    },
    ScheduleFacts {
        schedule: PipelineSchedule::DualPipe,
        name: "DualPipe",
        parameter_copies: 2,
        splits_backward: true,
        in_flight: "p + 1",
        bubble: "(p/2 − 1)(F&B + B − 2W)",
        source: "deepseek-v3-2024",
    },
];

impl PipelineSchedule {
    /// Returns its row of [`SCHEDULES`].
    pub const fn facts(self) -> &'static ScheduleFacts {
        let [gpipe, one, interleaved, h1, h2, dual] = &SCHEDULES;
        match self {
            Self::GPipe => gpipe,
            Self::OneForwardOneBackward => one,
            Self::Interleaved => interleaved,
            Self::ZeroBubbleH1 => h1,
            Self::ZeroBubbleH2 => h2,
            Self::DualPipe => dual,
        }
    }
}

/// The kind of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassType {
    /// Forward: its activations are kept from now on.
    Forward,
    /// Backward for inputs and weights together; its activations are freed.
    Backward,
    /// Backward for inputs alone; the activations that the weights' gradients need are kept.
    BackwardInput,
    /// Backward for weights alone; the remaining activations are freed.
    BackwardWeight,
}

impl PassType {
    /// Returns true if the activations that forward has kept are freed afterwards.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Backward | Self::BackwardWeight)
    }
}

/// One pass of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The rank in its pipeline, counted from 0.
    pub rank: u64,
    /// Which of the rank's chunks of blocks; under `DualPipe` the direction: 0 from the first rank,
    /// 1 from the last.
    pub chunk: u64,
    /// The micro-batch; under `DualPipe` counted in each direction by itself.
    pub micro_batch: u64,
    /// The kind of the pass.
    pub work: PassType,
    /// True if the pass runs together with the slot behind it.
    pub with_next: bool,
}

/// Durations of one pass over one chunk of blocks, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassTimes {
    /// Forward, F.
    pub forward: f64,
    /// Backward for inputs, B.
    pub backward_input: f64,
    /// Backward for weights, W.
    pub backward_weight: f64,
    /// A forward and a whole backward of two micro-batches that run together, F&B; `forward +
    /// backward_input + backward_weight` where nothing is gained.
    pub overlapped: f64,
}

impl PassTimes {
    /// Returns passes that gain nothing by running together, in any unit of time.
    pub const fn new(forward: f64, backward_input: f64, backward_weight: f64) -> Self {
        Self {
            forward,
            backward_input,
            backward_weight,
            overlapped: forward + backward_input + backward_weight,
        }
    }

    /// Returns the time of all passes of one micro-batch through one chunk.
    pub const fn all(&self) -> f64 {
        self.forward + self.backward_input + self.backward_weight
    }
}

/// A pipeline at work: a schedule with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// The schedule.
    pub schedule: PipelineSchedule,
    /// Ranks of the pipeline (p), at least 1.
    pub ranks: u64,
    /// Chunks of blocks on each rank (v), at least 1; more than 1 for
    /// [`PipelineSchedule::Interleaved`] only.
    pub chunks: u64,
    /// Micro-batches of a step (m), at least 1.
    pub micro_batches: u64,
    /// Consecutive micro-batches of one chunk under interleaving; the ranks unless it is set.
    pub group: u64,
}

impl Pipeline {
    /// Returns the chunks that a rank works on: its own, or one for each direction.
    pub const fn chunks_on_rank(&self) -> u64 {
        if matches!(self.schedule, PipelineSchedule::DualPipe) { 2 } else { self.chunks }
    }

    /// Returns the place of a rank's chunk in the model, counted from 0 at the embedding.
    pub const fn position(&self, rank: u64, chunk: u64) -> u64 {
        match self.schedule {
            PipelineSchedule::DualPipe if chunk > 0 => {
                self.ranks.saturating_sub(rank).saturating_sub(1)
            }
            PipelineSchedule::DualPipe => rank,
            _ => chunk.saturating_mul(self.ranks).saturating_add(rank),
        }
    }

    /// Returns the places for chunks in the model: `p · v`; under `DualPipe`, whose ranks hold two
    /// of them each, p.
    pub const fn positions(&self) -> u64 {
        self.ranks.saturating_mul(self.chunks)
    }

    /// Returns the most chunks of micro-batches that a rank keeps at once, counted from their
    /// forward to their last backward.
    ///
    /// A micro-batch that waits for its backward for weights counts whole, as in Qi et al. 2023,
    /// table 1 with `M_B = M_W`.
    pub fn in_flight(&self, rank: u64) -> u64 {
        let (p, m, behind) =
            (self.ranks, self.micro_batches, self.ranks.saturating_sub(rank).saturating_sub(1));
        match self.schedule {
            PipelineSchedule::GPipe => m,
            PipelineSchedule::OneForwardOneBackward => m.min(behind.saturating_add(1)),
            PipelineSchedule::Interleaved => {
                let all = m.saturating_mul(self.chunks);
                if p == 1 {
                    return self.chunks.min(all);
                }
                let ahead = behind
                    .saturating_mul(2)
                    .saturating_add((self.chunks - 1).saturating_mul(self.group));
                all.min(ahead.saturating_add(1))
            }
            PipelineSchedule::ZeroBubbleH1 => m.min(p),
            PipelineSchedule::ZeroBubbleH2 => m.min(p.saturating_mul(2) - 1),
            PipelineSchedule::DualPipe => p.saturating_add(1),
        }
    }

    /// Returns the idle time of the rank that waits longest between its first pass and its last, in
    /// the unit of `times`.
    ///
    /// Symbols: `p` ranks, `m` micro-batches, `F`, `B`, `W` the times of forward, backward for
    /// inputs and backward for weights of one chunk. Formulas: `(p − 1)(F + B + W)` under GPipe,
    /// one forward one backward, and interleaving; `max((p − 1)(F + B) − (min(m, p) − 1) W, (p − 1)
    /// B)` under ZB-H1; H2 and `DualPipe` have their own.
    ///
    /// For the zero-bubble schedules the formula holds for any times once m fills the pipeline (p,
    /// or 2p − 1 micro-batches), and for F = B = W for any m; it counts no wait for the optimizer
    /// across ranks (H2's post-validation). For `DualPipe` it is the report's formula (table 2),
    /// met exactly where F = B ≥ W and nothing is gained by overlap.
    pub fn bubble(&self, times: &PassTimes) -> f64 {
        let behind = crate::units::to_f64(self.ranks.saturating_sub(1));
        let PassTimes { forward, backward_input, backward_weight, .. } = *times;
        // Weight passes that fill the wait, beyond those that come right after their backward.
        let filled = |most: u64| {
            crate::units::to_f64(self.micro_batches.min(most).saturating_sub(1)) * backward_weight
        };
        let wait = behind * (forward + backward_input);
        match self.schedule {
            PipelineSchedule::GPipe
            | PipelineSchedule::OneForwardOneBackward
            | PipelineSchedule::Interleaved => behind * times.all(),
            PipelineSchedule::ZeroBubbleH1 => {
                (wait - filled(self.ranks)).max(behind * backward_input)
            }
            PipelineSchedule::ZeroBubbleH2 => {
                let full = wait - filled(self.ranks.saturating_mul(2).saturating_sub(1));
                full.max(behind * (backward_input - forward)).max(0.0)
            }
            PipelineSchedule::DualPipe => {
                let half = crate::units::to_f64((self.ranks / 2).saturating_sub(1));
                (half * (times.overlapped + backward_input - 2.0 * backward_weight)).max(0.0)
            }
        }
    }

    /// Returns the bubble as a share of the step, in [0, 1): idle time over idle time and work.
    ///
    /// Work is `m · v` passes of one chunk, with `m` micro-batches and `v` chunks.
    pub fn bubble_fraction(&self, times: &PassTimes) -> f64 {
        let passes = crate::units::to_f64(self.micro_batches.saturating_mul(self.chunks));
        let (bubble, work) = (self.bubble(times), passes * times.all());
        if bubble + work > 0.0 { bubble / (bubble + work) } else { 0.0 }
    }

    /// Returns this pipeline with the fewest micro-batches that hold as much memory at every
    /// moment: further micro-batches repeat these moments.
    ///
    /// GPipe's memory grows with every micro-batch, so its number of micro-batches is kept.
    #[must_use]
    pub fn settled(self) -> Self {
        let twice = |ranks: u64| ranks.saturating_mul(2).saturating_add(1);
        let most = match self.schedule {
            PipelineSchedule::GPipe => u64::MAX,
            PipelineSchedule::OneForwardOneBackward => twice(self.ranks),
            PipelineSchedule::Interleaved => twice(self.ranks.max(self.group)),
            PipelineSchedule::ZeroBubbleH1 | PipelineSchedule::ZeroBubbleH2 => {
                twice(twice(self.ranks))
            }
            PipelineSchedule::DualPipe => twice(self.ranks).saturating_add(3),
        };
        Self { micro_batches: self.micro_batches.min(most), ..self }
    }
}
