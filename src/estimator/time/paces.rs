//! Step times of many layouts of one job.

use std::num::NonZeroU64;

use super::block::{BlockKey, Brief, Briefs, Clock, key, tied};
use super::kernels::Timed;
use super::{Load, StepTime, spread_with, stage_loads};
use crate::config::{Choice, Job, ParallelLayout, Recompute};
use crate::estimator::law::Memo;
use crate::estimator::megatron::of_pipeline;
use crate::ops::megatron::{Part, PartKey};
use crate::units::to_f64;

/// Times of one job's layouts that were worked out so far.
#[derive(Default)]
pub(in crate::estimator) struct Paces {
    /// By whether gradients are reduced in fp32.
    clocks: Memo<bool, Option<Clock>>,
    parts: Memo<PartKey, Vec<Timed>>,
    /// By the key of the attention part.
    commons: Memo<PartKey, Common>,
    /// Every way to recompute, in the order of [`RECOMPUTATIONS`].
    blocks: Memo<BlockKey, [Briefs; 3]>,
    /// Numbers of sequences with their places in `blocks`, by the key with none.
    known: Memo<BlockKey, Vec<(u64, usize)>>,
    loads: Memo<(ParallelLayout, Recompute), Option<[Load; 3]>>,
}

/// Times that do not depend on how experts are spread, under every way to recompute: those of a
/// layer with experts are left out.
struct Common {
    each: [Briefs; 3],
    /// True if the times of a layer with experts are included: its modules were played with the
    /// others.
    is_whole: bool,
}

const RECOMPUTATIONS: [Recompute; 3] = [Recompute::None, Recompute::Selective, Recompute::Full];

/// Bound on what rounding may take off a sum of some hundred floating-point numbers, as a share;
/// far more than it really takes.
const ROUNDING: f64 = 1e-9;

impl Paces {
    /// [`StepTime::seconds`] of the job as it stands; `None` as in [`super::step`].
    pub fn seconds(&mut self, job: &Job) -> Option<f64> {
        let loads = self.loads(job)?;
        let clock = self.clock(job);
        let place = self.blocks(job, clock)?;
        let (briefs, clock) = (self.blocks.at(place)?, self.clocks.at(clock)?.as_ref()?);
        Some(StepTime::seconds_of(of(briefs, job)?, &clock.fixed, &spread_with(job, loads)))
    }

    /// Lower bound on the job's seconds, for every sharding; 0 where no bound is known.
    ///
    /// Work on k·b sequences takes no longer than k times that on b of them: tiles, waves and sizes
    /// round up, fixed latencies come once instead of k times, and what can hide messages grows as
    /// they do. So the times of a multiple of the micro-batch, for each sequence, are a bound for
    /// its own; that multiple is the smallest that is known, or all that a rank gets in a step.
    pub fn at_least(&mut self, job: &Job) -> f64 {
        self.bound(job).map_or(0.0, |seconds| seconds * (1.0 - ROUNDING))
    }

    /// Lower bound on [`Self::seconds`] for every micro-batch into which a rank's sequences of a
    /// step divide: the time of all these sequences at once, without waiting.
    pub fn at_least_with_any(&mut self, job: &Job) -> f64 {
        let bound = |paces: &mut Self| {
            let loads = paces.loads(job)?;
            let (_, place) = paces.whole(job)?;
            Some(StepTime::seconds_of_most(of(paces.blocks.at(place)?, job)?, &loads))
        };
        bound(self).map_or(0.0, |seconds| seconds * (1.0 - ROUNDING))
    }

    fn bound(&mut self, job: &Job) -> Option<f64> {
        let loads = self.loads(job)?;
        let (sequences, place) = self.multiple(job)?;
        let factor = to_f64(sequences) / to_f64(job.micro_batch_size());
        Some(StepTime::seconds_on_stages(
            of(self.blocks.at(place)?, job)?,
            factor,
            &spread_with(job, loads),
        ))
    }

    /// A multiple of the micro-batch of which times are known, and their place.
    fn multiple(&mut self, job: &Job) -> Option<(u64, usize)> {
        let own = job.micro_batch_size();
        let known = self.known.place(without_sequences(key(job)?), Vec::new);
        let smallest = self
            .known
            .at(known)?
            .iter()
            .filter(|(sequences, _)| sequences.is_multiple_of(own))
            .min();
        if let Some(found) = smallest {
            return Some(*found);
        }
        self.whole(job).filter(|(sequences, _)| sequences.is_multiple_of(own))
    }

    /// All sequences that a rank gets in a step, and the place of their times at once.
    fn whole(&mut self, job: &Job) -> Option<(u64, usize)> {
        let run = job.training()?;
        let share = NonZeroU64::new(run.global_batch_size / job.layout().d())?;
        let known = self.known.place(without_sequences(key(job)?), Vec::new);
        if let Some(found) =
            self.known.at(known)?.iter().find(|(sequences, _)| *sequences == share.get())
        {
            return Some(*found);
        }
        let whole = job.with_choice(&Choice {
            layout: *job.layout(),
            micro_batch_size: share,
            recompute: run.recompute,
        });
        let clock = self.clock(&whole);
        Some((share.get(), self.blocks(&whole, clock)?))
    }

    fn loads(&mut self, job: &Job) -> Option<[Load; 3]> {
        self.loads
            .value((of_pipeline(job.layout()), job.training()?.recompute), || stage_loads(job))
    }

    fn clock(&mut self, job: &Job) -> usize {
        self.clocks.place(job.layout().reduce_in_fp32, || Clock::of(job))
    }

    /// The place of the times of single layers.
    fn blocks(&mut self, job: &Job, clock: usize) -> Option<usize> {
        let Self { clocks, parts, commons, blocks, known, .. } = self;
        let (key, clock) = (key(job)?, clocks.at(clock)?.as_ref()?);
        let before = blocks.len();
        let place = blocks.place(key, || {
            let common = commons.place(Part::Attention.key(job), || Common::of(job, clock, parts));
            commons
                .at(common)
                .map_or_else(Default::default, |common| common.with_experts(job, clock, parts))
        });
        if blocks.len() > before {
            let known_place = known.place(without_sequences(key), Vec::new);
            if let Some(known) = known.at_mut(known_place) {
                known.push((job.micro_batch_size(), place));
            }
        }
        Some(place)
    }
}

impl Common {
    fn of(job: &Job, clock: &Clock, parts: &mut Memo<PartKey, Vec<Timed>>) -> Self {
        if let Some(played) = clock.played(job) {
            let mut common =
                Self::with_blocks(job, clock, [&played.embedding, &played.head, &played.dense]);
            common.add_experts(&played.experts);
            return Self { is_whole: true, ..common };
        }
        let mut place = |part: Part| parts.place(part.key(job), || clock.part(job, part));
        let [embedding, head, attention, mlp] =
            [Part::Embedding, Part::Head, Part::Attention, Part::Mlp].map(&mut place);
        let steps = |places: &[usize]| -> Vec<Timed> {
            places.iter().filter_map(|place| parts.at(*place)).flatten().copied().collect()
        };
        let (embedding, head, dense) =
            (steps(&[embedding]), steps(&[head]), steps(&[attention, mlp]));
        Self::with_blocks(job, clock, [&embedding, &head, &dense])
    }

    fn with_blocks(job: &Job, clock: &Clock, [embedding, head, dense]: [&[Timed]; 3]) -> Self {
        let [[embedded, ..], [headed, ..]] = [embedding, head].map(Brief::each);
        let rest = Briefs {
            embedding: embedded,
            head: headed,
            message: clock.message(job),
            tied: tied(job, embedding),
            ..Briefs::default()
        };
        Self { each: Brief::each(dense).map(|dense| Briefs { dense, ..rest }), is_whole: false }
    }

    fn add_experts<'a>(&mut self, experts: impl IntoIterator<Item = &'a Timed>) {
        self.each
            .iter_mut()
            .zip(Brief::each(experts))
            .for_each(|(briefs, experts)| briefs.experts = experts);
    }

    /// With a layer with experts, from the parts that are known and those that are not yet.
    fn with_experts(
        &self,
        job: &Job,
        clock: &Clock,
        parts: &mut Memo<PartKey, Vec<Timed>>,
    ) -> [Briefs; 3] {
        let mut all = Self { ..*self };
        if job.model().moe.is_some() && !self.is_whole {
            let places =
                Part::EXPERTS.map(|part| parts.place(part.key(job), || clock.part(job, part)));
            all.add_experts(places.iter().filter_map(|place| parts.at(*place)).flatten());
        }
        all.each
    }
}

/// The times under the job's own recomputation.
fn of<'a>(briefs: &'a [Briefs; 3], job: &Job) -> Option<&'a Briefs> {
    let recompute = job.training()?.recompute;
    briefs
        .iter()
        .zip(RECOMPUTATIONS)
        .find(|(_, known)| *known == recompute)
        .map(|(briefs, _)| briefs)
}

const fn without_sequences((t, cp, ep, etp, _, splits): BlockKey) -> BlockKey {
    (t, cp, ep, etp, 0, splits)
}
