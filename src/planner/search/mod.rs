//! Search over every legal layout of a training job: the smallest, the leanest and the fastest, and
//! the reasons why others are rejected.
//!
//! No layout is skipped on a guess: layouts are left out together only where a rule forbids all of
//! them, or where a lower bound of their memory is too much and misses by no less than a layout
//! that is known already; they are counted with that rule or kind of memory. Memory and time are
//! those of [`Layouts`]: the estimate's bytes, the modelled step. No time is worked out where a
//! lower bound says that it is longer than the shortest known and than that of every layout asked
//! about.

mod answer;
mod refuse;
mod shared;
mod space;
mod visit;
mod walk;

use crate::config::{Choice, Job};
use crate::estimator::time::at_pace;
use crate::estimator::{Blocker, Layouts, MemoryKind, blockers};
use crate::units::{Bytes, Seconds};
pub use answer::{Answer, AtCount, Found, Miss, Reason, Watched, WhyNot};
pub use shared::Gathered;
use shared::Turn;
pub use space::{Degree, Edit, SPACE_VERSION, SearchAxis, Space};
use walk::{Part, Walk};

/// The reason why a search that looked at no layout found nothing.
const NOTHING_LEFT: &str = "The limits leave no layout: tensor, context, pipeline and data-parallel degrees must multiply to the number \
                            of GPUs. Allow more values of one of them.";

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Layouts looked at so far.
    pub considered: u64,
    /// Share of the space that is done, 0 to 1, by numbers of accelerators and their parts.
    pub share: f64,
    /// True if no layout is left to look at.
    pub finished: bool,
}

/// A search that is carried on step by step, and can be dropped at any time.
pub struct Search {
    space: Space,
    layouts: Layouts,
    walk: Walk,
    finished: bool,
    refused: Option<String>,
    /// The parts that this search looks at.
    turn: Turn,
    counts: Vec<AtCount>,
    /// Rules with the layouts that break them, and the first of these.
    broken: Vec<(Blocker, u64, Choice)>,
    /// Layouts that need too much memory, by the kind of memory that overflows.
    overflows: [Option<WhyNot>; 7],
    watched: Vec<Watched>,
    considered: u64,
}

/// Lower bounds of the seconds that layouts of a group take, worked out when they are first asked
/// for.
#[derive(Clone, Copy, Default)]
struct Bounds {
    /// The bound over all micro-batches.
    with_any: Option<f64>,
    /// The bound with the present micro-batch.
    own: Option<f64>,
}

/// The outcome for one layout.
enum Outcome {
    Forbidden(Blocker),
    TooLarge(Miss),
    Fits(Found),
}

impl Search {
    /// Starts a search of a training job's layouts; in a space with nothing to search it has its
    /// answer at once.
    ///
    /// Nothing is looked at before the first [`Self::step`], so that a page can go on in between.
    pub fn new(job: &Job, space: Space) -> Self {
        let refused = refuse::refuse(job, &space);
        Self {
            space,
            layouts: Layouts::of(job),
            walk: Walk::new(),
            finished: refused.is_some(),
            refused,
            turn: Turn::default(),
            counts: Vec::new(),
            broken: Vec::new(),
            overflows: Default::default(),
            watched: Vec::new(),
            considered: 0,
        }
    }

    /// Asks about a layout by name: its outcome, and its rank among those of its number of
    /// accelerators.
    ///
    /// To be called before the first [`Self::step`].
    pub fn watch(&mut self, choice: &Choice) {
        let outcome = match self.look(choice) {
            Outcome::Fits(found) => Ok(found),
            Outcome::Forbidden(rule) => {
                Err(WhyNot { reason: Reason::Rule(rule), count: 1, example: *choice, short: None })
            }
            Outcome::TooLarge(miss) => Err(WhyNot {
                reason: Reason::Memory(miss.kind),
                count: 1,
                example: *choice,
                short: Some(miss.short),
            }),
        };
        self.watched.push(Watched { choice: *choice, outcome, faster: 0, leaner: 0 });
    }

    /// Looks at `budget` layouts or a few more, and returns how far the search is: it goes through
    /// whole parts, at least one.
    pub fn step(&mut self, budget: u64) -> Progress {
        let until = self.considered.saturating_add(budget.max(1));
        while !self.finished && self.considered < until {
            match self.walk.next(&self.space) {
                Some((_, true))
                    if self.space.ends_with_first
                        && self.counts.last().is_some_and(|count| count.fitting > 0) =>
                {
                    self.finished = true;
                }
                Some((base, another)) => self.part(base, another),
                None => self.finished = true,
            }
        }
        self.progress()
    }

    /// Carries on to the end and returns the answer: memory in bytes and time in seconds of the
    /// best layouts at each number of accelerators.
    ///
    /// Every legal layout of the space is looked at or ruled out by a lower bound, none is sampled.
    ///
    /// ```
    /// use headroom::planner::search::{Search, Space};
    /// use headroom::scenario::codec::decode;
    ///
    /// let job = decode("v2&m=llama3.2-1b&n=2&gpu=h100-80").scenario.resolve();
    /// let job = job.map_err(|problems| problems.len())?;
    /// let answer = Search::new(&job, Space::layouts(&job, &[1, 2])).finish();
    /// assert!(answer.finished && answer.fitting() <= answer.legal());
    /// assert!(answer.legal() <= answer.considered());
    /// # Ok::<(), usize>(())
    /// ```
    pub fn finish(&mut self) -> Answer {
        while !self.step(u64::MAX).finished {}
        self.answer()
    }

    fn progress(&self) -> Progress {
        let (done, all) = self.walk.progress(&self.space);
        Progress {
            considered: self.considered,
            share: if self.finished { 1.0 } else { done / all.max(1.0) },
            finished: self.finished,
        }
    }

    /// Returns the answer as far as the search has gone.
    pub fn answer(&self) -> Answer {
        let broken = self.broken.iter().map(|(rule, count, example)| {
            let reason = Reason::Rule(rule.clone());
            WhyNot { reason, count: *count, example: *example, short: None }
        });
        let mut why_not: Vec<_> = broken.chain(self.overflows.iter().flatten().cloned()).collect();
        why_not.sort_by_key(|why| (std::cmp::Reverse(why.count), shared::order(&why.example)));
        Answer {
            space: self.space.describe(),
            version: SPACE_VERSION,
            finished: self.finished,
            refused: self
                .refused
                .clone()
                .or_else(|| self.is_empty().then(|| NOTHING_LEFT.to_owned())),
            counts: self.counts.clone(),
            why_not,
            watched: self.watched.clone(),
        }
    }

    /// Returns true if no layout is left to look at.
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    /// True if there was nothing to look at.
    const fn is_empty(&self) -> bool {
        self.finished && self.considered == 0
    }

    /// Returns the memory of many layouts, as far as it is worked out.
    pub const fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    fn part(&mut self, base: Choice, another: bool) {
        if another || self.counts.is_empty() {
            self.counts.push(AtCount { gpus: base.layout.world_size(), ..AtCount::default() });
        }
        if !self.turn.comes(&base) {
            return;
        }
        let job = self.layouts.job().clone();
        let space = std::mem::take(&mut self.space);
        Part::of(&space, &job, base).walk(self);
        self.space = space;
    }

    /// The outcome for one layout.
    fn look(&mut self, choice: &Choice) -> Outcome {
        self.layouts.choose(choice);
        if let Some(rule) = blockers(self.layouts.job()).into_iter().next() {
            return Outcome::Forbidden(rule);
        }
        match self.measure() {
            Ok(memory) => {
                let seconds = self.layouts.seconds();
                Outcome::Fits(found(self.layouts.job(), choice, memory, seconds))
            }
            Err((kind, short)) => Outcome::TooLarge(Miss { choice: *choice, short, kind }),
        }
    }

    /// Memory of the choice that was taken over last, or the kind of memory with which it
    /// overflows, and by how many bytes.
    fn measure(&mut self) -> Result<Bytes, (MemoryKind, Bytes)> {
        let (by_kind, over) = self.layouts.memory();
        let memory: Bytes = by_kind.into_iter().sum();
        over.map_or(Ok(memory), |kind| Err((kind, memory.saturating_sub(self.capacity()))))
    }

    const fn capacity(&self) -> Bytes {
        self.layouts.job().cluster().accelerator.memory
    }

    /// True if no larger micro-batch than that of the miss just found fits or misses by less; then
    /// `further` of them are counted with it. Where none fits, all are counted with the kind of the
    /// first miss, so that counts do not depend on what else is known.
    fn is_too_much_from_here(
        &mut self,
        counted_as: &mut Option<MemoryKind>,
        miss: Miss,
        further: u64,
    ) -> bool {
        let short = self.layouts.floor().saturating_sub(self.capacity());
        if short == Bytes::ZERO {
            return false;
        }
        let kind = *counted_as.get_or_insert(miss.kind);
        let is_so = self.is_no_nearer(kind, short);
        if is_so && further > 0 {
            self.overflow(miss, kind, further);
        }
        is_so
    }

    /// Weighs a layout that breaks no rule and was taken over before, and keeps it if it is the
    /// best of its number of accelerators so far. Returns the miss if the layout overflows; it is
    /// then counted with the kind of memory given in `counted_as`, or with its own.
    fn weigh(
        &mut self,
        choice: &Choice,
        micro_batch: u64,
        counted_as: Option<MemoryKind>,
        bounds: &mut Bounds,
    ) -> Option<Miss> {
        let memory = match self.measure() {
            Ok(memory) => memory,
            Err((kind, short)) => {
                let miss = Miss { choice: with_micro_batch(choice, micro_batch), short, kind };
                self.overflow(miss, counted_as.unwrap_or(kind), 1);
                return Some(miss);
            }
        };
        let leanest =
            self.counts.last()?.leanest.as_ref().is_none_or(|leanest| memory < leanest.memory);
        // The time of a layout that is surely slower than those that matter is not needed.
        let seconds = if leanest || !self.is_slow(bounds) { self.layouts.seconds() } else { None };
        let gpus = self.counts.last()?.gpus;
        for watched in &mut self.watched {
            watched.rank(gpus, memory, seconds);
        }
        self.considered += 1;
        let count = self.counts.last_mut()?;
        count.considered += 1;
        count.legal += 1;
        count.fitting += 1;
        let faster = |fastest: &Found| is_faster((seconds, memory), fastest);
        let fastest = seconds.is_some() && count.fastest.as_ref().is_none_or(faster);
        if leanest || fastest {
            let choice = with_micro_batch(choice, micro_batch);
            let found = found(self.layouts.job(), &choice, memory, seconds);
            count.leanest = if leanest { Some(found) } else { count.leanest };
            count.fastest = if fastest { Some(found) } else { count.fastest };
        }
        None
    }

    /// True if the choice that was taken over last is surely slower than all layouts that matter.
    fn is_slow(&mut self, bounds: &mut Bounds) -> bool {
        let slow = self.slow();
        let layouts = &mut self.layouts;
        slow.is_finite()
            && (*bounds.with_any.get_or_insert_with(|| layouts.at_least_with_any()) > slow
                || *bounds.own.get_or_insert_with(|| layouts.at_least()) > slow)
    }

    /// Seconds beyond which a layout at the present number of accelerators is neither the fastest
    /// nor faster than one asked about.
    fn slow(&self) -> f64 {
        let Some(count) = self.counts.last() else { return f64::INFINITY };
        let known = |found: &Found| found.seconds.unwrap_or(f64::INFINITY);
        let asked = self.watched.iter().filter_map(|watched| watched.outcome.as_ref().ok());
        let asked = asked.filter(|own| own.gpus == count.gpus).map(known);
        asked.fold(count.fastest.as_ref().map_or(f64::INFINITY, known), f64::max)
    }

    /// Counts layouts that overflow with that kind of memory, and keeps the given one if it misses
    /// by least.
    fn overflow(&mut self, miss: Miss, counted_as: MemoryKind, layouts: u64) {
        self.considered += layouts;
        if let Some(count) = self.counts.last_mut() {
            count.considered += layouts;
            count.legal += layouts;
            if count.nearest.as_ref().is_none_or(|nearest| miss.short < nearest.short) {
                count.nearest = Some(miss);
            }
        }
        let Some(known) = self.overflows.get_mut(counted_as.index()) else { return };
        let why = known.get_or_insert_with(|| {
            let (reason, example) = (Reason::Memory(counted_as), miss.choice);
            WhyNot { reason, count: 0, example, short: Some(miss.short) }
        });
        why.count += layouts;
        if miss.kind == counted_as && Some(miss.short) < why.short {
            (why.example, why.short) = (miss.choice, Some(miss.short));
        }
    }

    /// True if a layout that misses by at least `short` is no nearer than those known.
    fn is_no_nearer(&self, kind: MemoryKind, short: Bytes) -> bool {
        let known = self.overflows.get(kind.index()).and_then(|why| why.as_ref()?.short);
        let nearest = self.counts.last().and_then(|count| count.nearest);
        known.is_some_and(|known| known <= short)
            && nearest.is_some_and(|nearest| nearest.short <= short)
    }

    /// Counts layouts that break a rule.
    fn reject(&mut self, rule: Blocker, layouts: u64, example: &Choice) {
        self.considered = self.considered.saturating_add(layouts);
        if let Some(count) = self.counts.last_mut() {
            count.considered = count.considered.saturating_add(layouts);
            if count.rule.is_none() {
                count.rule = Some((*example, rule.clone()));
            }
        }
        match self.broken.iter_mut().find(|known| known.0.is_like(&rule)) {
            Some((_, count, _)) => *count = count.saturating_add(layouts),
            None => self.broken.push((rule, layouts, *example)),
        }
    }
}

fn with_micro_batch(choice: &Choice, size: u64) -> Choice {
    let mut choice = *choice;
    Degree::MicroBatch.set(&mut choice, size);
    choice
}

impl Watched {
    /// Counts a layout that fits, if it is better than the watched one.
    fn rank(&mut self, gpus: u64, memory: Bytes, seconds: Option<f64>) {
        if let Ok(own) = &self.outcome
            && own.gpus == gpus
        {
            self.faster += u64::from(is_faster((seconds, memory), own));
            self.leaner += u64::from(memory < own.memory);
        }
    }
}

/// True if a step is shorter, or as long with less memory.
fn is_faster((seconds, memory): (Option<f64>, Bytes), other: &Found) -> bool {
    let known = |seconds: Option<f64>| seconds.unwrap_or(f64::INFINITY);
    known(seconds).total_cmp(&known(other.seconds)).then(memory.cmp(&other.memory)).is_lt()
}

/// A layout that fits, with the whole training's time and price.
fn found(job: &Job, choice: &Choice, memory: Bytes, seconds: Option<f64>) -> Found {
    let whole = seconds.and_then(|seconds| at_pace(job, Seconds(seconds)));
    Found {
        choice: *choice,
        gpus: choice.layout.world_size(),
        memory,
        seconds,
        days: whole.map(|cost| cost.seconds.days()),
        cost: whole.map(|cost| cost.price),
    }
}
