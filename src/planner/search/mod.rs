//! Search over every legal layout of a training job: which are the smallest, leanest, fastest, and why others are not among them.
//!
//! Nothing is skipped by a guess: a part of the space is left out only where a rule on its tensor, context, pipeline and data-parallel
//! degrees forbids all of it, and its layouts are counted with that rule. Memory is [`Layouts`], the estimate's bytes.

mod answer;
mod pace;
mod space;
mod walk;

use crate::config::{Choice, Job};
use crate::estimator::{Blocker, Layouts, MemoryKind, blockers};
use crate::units::{Bytes, to_f64};
pub use answer::{Answer, AtCount, Found, Miss, Reason, Watched, WhyNot};
pub use pace::{Pace, Roofline};
pub use space::{Axis, Degree, Edit, SPACE_VERSION, Space};
use walk::{Part, Walk};

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Layouts looked at so far.
    pub considered: u64,
    /// Share of the space that is done, 0 to 1, by numbers of accelerators and their parts.
    pub share: f64,
    /// Whether nothing is left.
    pub finished: bool,
}

/// A search that is carried on step by step, and left off by dropping it.
pub struct Search<P> {
    space: Space,
    layouts: Layouts,
    pace: P,
    walk: Walk,
    finished: bool,
    refused: Option<String>,
    counts: Vec<AtCount>,
    why_not: Vec<WhyNot>,
    watched: Vec<Watched>,
    considered: u64,
}

/// What became of one layout.
enum Outcome {
    Forbidden(Blocker),
    TooLarge(Miss),
    Fits(Found),
}

impl<P: Pace> Search<P> {
    /// Gets ready; a space in which there is nothing to search gives an answer at once.
    pub fn new(job: &Job, space: Space, pace: P) -> Self {
        let refused = refuse(job, &space);
        Self {
            space,
            layouts: Layouts::of(job),
            pace,
            walk: Walk::new(),
            finished: refused.is_some(),
            refused,
            counts: Vec::new(),
            why_not: Vec::new(),
            watched: Vec::new(),
            considered: 0,
        }
    }

    /// Asks about a layout by name: what becomes of it, and where it ranks among those of its number of accelerators. Before the
    /// first [`Self::step`].
    pub fn watch(&mut self, choice: &Choice) {
        let outcome = match self.look(choice) {
            Outcome::Fits(found) => Ok(found),
            Outcome::Forbidden(rule) => Err(WhyNot { reason: Reason::Rule(rule), count: 1, example: *choice, short: None }),
            Outcome::TooLarge(miss) => {
                Err(WhyNot { reason: Reason::Memory(miss.kind), count: 1, example: *choice, short: Some(miss.short) })
            }
        };
        self.watched.push(Watched { choice: *choice, outcome, faster: 0, leaner: 0 });
    }

    /// Looks at so many layouts or a few more: whole parts, at least one.
    pub fn step(&mut self, budget: u64) -> Progress {
        let until = self.considered.saturating_add(budget.max(1));
        while !self.finished && self.considered < until {
            match self.walk.next(&self.space, self.layouts.job()) {
                Some((_, true)) if self.space.ends_with_first && self.counts.last().is_some_and(|count| count.fitting > 0) => {
                    self.finished = true;
                }
                Some((part, another)) => self.part(&part, another),
                None => self.finished = true,
            }
        }
        if self.finished && self.refused.is_none() && self.considered == 0 {
            self.refused = Some(
                "The limits leave no layout: tensor, context, pipeline and data-parallel degrees must multiply to the number of GPUs. \
                 Allow more values of one of them."
                    .to_owned(),
            );
        }
        self.progress()
    }

    /// Carries on to the end.
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

    /// What is known so far.
    pub fn answer(&self) -> Answer {
        let mut why_not = self.why_not.clone();
        why_not.sort_by_key(|why| std::cmp::Reverse(why.count));
        Answer {
            space: self.space.describe(),
            version: SPACE_VERSION,
            finished: self.finished,
            refused: self.refused.clone(),
            counts: self.counts.clone(),
            why_not,
            watched: self.watched.clone(),
        }
    }

    /// Memory of many layouts, as far as it was worked out.
    pub const fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    fn part(&mut self, part: &Part, another: bool) {
        if another || self.counts.is_empty() {
            self.counts.push(AtCount { gpus: part.base.layout.world_size(), ..AtCount::default() });
        }
        let job = self.layouts.job().clone();
        let touchstones = part.touchstones(&self.space, &job);
        if let Some(rule) = self.forbidden(&touchstones) {
            return self.reject(Reason::Rule(rule), (part.len(&self.space, &job), part.base), None);
        }
        let space = std::mem::take(&mut self.space);
        part.each(&space, &job, |choice| {
            let outcome = self.look(choice);
            self.take(choice, outcome);
        });
        self.space = space;
    }

    /// The rule that forbids all of these, if none is legal.
    fn forbidden(&mut self, choices: &[Choice]) -> Option<Blocker> {
        let mut first = None;
        for choice in choices {
            self.layouts.choose(choice);
            let rule = blockers(self.layouts.job()).into_iter().next()?;
            first.get_or_insert(rule);
        }
        first
    }

    fn look(&mut self, choice: &Choice) -> Outcome {
        self.layouts.choose(choice);
        if let Some(rule) = blockers(self.layouts.job()).into_iter().next() {
            return Outcome::Forbidden(rule);
        }
        let by_kind = self.layouts.memory();
        let job = self.layouts.job();
        let (memory, capacity): (Bytes, _) = (by_kind.into_iter().sum(), job.cluster().accelerator.memory);
        if memory > capacity {
            let kind = overflows(&by_kind, capacity);
            return Outcome::TooLarge(Miss { choice: *choice, short: memory.saturating_sub(capacity), kind });
        }
        let seconds = self.pace.seconds(job);
        Outcome::Fits(found(job, choice, memory, seconds))
    }

    fn take(&mut self, choice: &Choice, outcome: Outcome) {
        match outcome {
            Outcome::Forbidden(rule) => self.reject(Reason::Rule(rule), (1, *choice), None),
            Outcome::TooLarge(miss) => {
                if let Some(count) = self.counts.last_mut() {
                    count.legal += 1;
                    if count.nearest.as_ref().is_none_or(|nearest| miss.short < nearest.short) {
                        count.nearest = Some(miss);
                    }
                }
                self.reject(Reason::Memory(miss.kind), (1, *choice), Some(miss.short));
            }
            Outcome::Fits(found) => {
                self.considered += 1;
                let rank = |watched: &mut Watched| {
                    if let Ok(other) = &watched.outcome
                        && other.gpus == found.gpus
                    {
                        watched.faster += u64::from(is_faster(&found, other));
                        watched.leaner += u64::from(found.memory < other.memory);
                    }
                };
                self.watched.iter_mut().for_each(rank);
                if let Some(count) = self.counts.last_mut() {
                    count.fits(found);
                }
            }
        }
    }

    fn reject(&mut self, reason: Reason, (layouts, example): (u64, Choice), short: Option<Bytes>) {
        self.considered = self.considered.saturating_add(layouts);
        if let Some(count) = self.counts.last_mut() {
            count.considered = count.considered.saturating_add(layouts);
            if let (Reason::Rule(rule), None) = (&reason, &count.rule) {
                count.rule = Some(rule.clone());
            }
        }
        let same = |known: &&mut WhyNot| match (&known.reason, &reason) {
            (Reason::Rule(known), Reason::Rule(rule)) => known.is_like(rule),
            (known, reason) => known == reason,
        };
        match self.why_not.iter_mut().find(same) {
            Some(known) => {
                known.count = known.count.saturating_add(layouts);
                if short < known.short {
                    (known.example, known.short) = (example, short);
                }
            }
            None => self.why_not.push(WhyNot { reason, count: layouts, example, short }),
        }
    }
}

impl AtCount {
    fn fits(&mut self, found: Found) {
        self.considered += 1;
        self.legal += 1;
        self.fitting += 1;
        if self.leanest.as_ref().is_none_or(|leanest| found.memory < leanest.memory) {
            self.leanest = Some(found);
        }
        if found.seconds.is_some() && self.fastest.as_ref().is_none_or(|fastest| is_faster(&found, fastest)) {
            self.fastest = Some(found);
        }
    }
}

/// Whether a step is shorter, or as long with less memory.
fn is_faster(found: &Found, other: &Found) -> bool {
    let seconds = |found: &Found| found.seconds.unwrap_or(f64::INFINITY);
    seconds(found).total_cmp(&seconds(other)).then(found.memory.cmp(&other.memory)).is_lt()
}

/// A layout that fits, with the whole training's time and price.
fn found(job: &Job, choice: &Choice, memory: Bytes, seconds: Option<f64>) -> Found {
    let gpus = choice.layout.world_size();
    let steps = job.training().map(|run| run.training_tokens / to_f64(run.seq_length.saturating_mul(run.global_batch_size)));
    let hours = seconds.zip(steps).map(|(seconds, steps)| seconds * steps / 3600.0);
    Found {
        choice: *choice,
        gpus,
        memory,
        seconds,
        days: hours.map(|hours| hours / 24.0),
        cost: hours.map(|hours| hours * to_f64(gpus) * job.cluster().accelerator.price_per_hour),
    }
}

/// The kind of memory with which the sum, taken in their order, first exceeds what there is.
fn overflows(by_kind: &[Bytes; 7], capacity: Bytes) -> MemoryKind {
    let mut sum = Bytes::ZERO;
    let first = MemoryKind::ALL.into_iter().zip(by_kind).find(|(_, bytes)| {
        sum += **bytes;
        sum > capacity
    });
    first.map_or(MemoryKind::Framework, |(kind, _)| kind)
}

/// Why there is nothing to search.
fn refuse(job: &Job, space: &Space) -> Option<String> {
    if job.training().is_none() {
        return Some("This search lays out training; a serving instance's count is found beside its curve.".to_owned());
    }
    let most = space.counts.last().copied().unwrap_or(0);
    if space.counts.is_empty() || space.counts.first() == Some(&0) {
        return Some("0 GPUs hold nothing; allow at least 1.".to_owned());
    }
    if most > space::MOST_GPUS {
        return Some(format!("{most} GPUs are more than the search goes through; allow at most {}.", space::MOST_GPUS));
    }
    let empty = space.only.iter().zip(Degree::ALL).find(|(only, _)| only.as_ref().is_some_and(Vec::is_empty));
    if let Some((_, degree)) = empty {
        return Some(format!("No value is allowed for the {} degree; allow at least one.", degree.name()));
    }
    let axis = space.axes.iter().find(|axis| axis.edits.is_empty())?;
    Some(format!("No value is allowed for {}; allow at least one.", axis.name))
}
