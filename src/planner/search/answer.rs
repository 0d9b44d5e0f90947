//! The layouts that a search found, and the reasons why it did not find more.

use crate::config::Choice;
use crate::estimator::{Blocker, MemoryKind};
use crate::units::{Bytes, MemoryUnit, Scale};

/// A layout that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The layout.
    pub choice: Choice,
    /// Accelerators.
    pub gpus: u64,
    /// Memory of the most loaded accelerator.
    pub memory: Bytes,
    /// Seconds of one optimizer step, if known.
    pub seconds: Option<f64>,
    /// Days of the whole training, if known.
    pub days: Option<f64>,
    /// Price of the whole training in US dollars, if known.
    pub cost: Option<f64>,
}

/// A layout that breaks no rule but needs too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The layout.
    pub choice: Choice,
    /// Memory that is missing on the most loaded accelerator.
    pub short: Bytes,
    /// The first kind of memory, in the order of [`MemoryKind`], with which a rank overflows.
    pub kind: MemoryKind,
}

/// The reason why a layout was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It breaks a rule: the first example's sentence.
    Rule(Blocker),
    /// That kind of memory overflows. Larger micro-batches that surely overflow too are counted
    /// with the smallest one that does.
    Memory(MemoryKind),
}

/// All layouts rejected for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    /// The reason.
    pub reason: Reason,
    /// Layouts rejected for this reason.
    pub count: u64,
    /// One of them: the first for a rule, the one that misses by least for memory.
    pub example: Choice,
    /// Memory that is missing in the example, if memory is the reason.
    pub short: Option<Bytes>,
}

/// Everything found at one number of accelerators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtCount {
    /// Accelerators.
    pub gpus: u64,
    /// Layouts looked at.
    pub considered: u64,
    /// Of these, layouts that break no rule.
    pub legal: u64,
    /// Of these, layouts that fit.
    pub fitting: u64,
    /// The layout with the least memory on the most loaded accelerator.
    pub leanest: Option<Found>,
    /// The layout with the shortest step; the cheapest too, since every accelerator costs the same.
    pub fastest: Option<Found>,
    /// Where none fits, the layout that misses by least.
    pub nearest: Option<Miss>,
    /// Where none is legal, the first layout that was looked at, and the rule that it breaks.
    pub rule: Option<(Choice, Blocker)>,
}

/// A layout asked about by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// The layout.
    pub choice: Choice,
    /// The result for this layout: what was found, or the reason why it was rejected.
    pub outcome: Result<Found, WhyNot>,
    /// Layouts at its number of accelerators with a shorter step.
    pub faster: u64,
    /// Layouts at its number of accelerators with less memory.
    pub leaner: u64,
}

/// The answer of a search as far as it has gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The space that was searched, in words.
    pub space: String,
    /// Version of space and rules.
    pub version: u32,
    /// True if the search went through all of it.
    pub finished: bool,
    /// The reason why there is nothing to search, if there is one: one sentence with a way out.
    pub refused: Option<String>,
    /// Each number of accelerators, rising.
    pub counts: Vec<AtCount>,
    /// Rejected layouts by reason, the most frequent first.
    pub why_not: Vec<WhyNot>,
    /// Layouts asked about.
    pub watched: Vec<Watched>,
}

impl Answer {
    /// Returns the number of layouts looked at.
    pub fn considered(&self) -> u64 {
        self.counts.iter().map(|count| count.considered).sum()
    }

    /// Returns the number of layouts that break no rule.
    pub fn legal(&self) -> u64 {
        self.counts.iter().map(|count| count.legal).sum()
    }

    /// Returns the number of layouts that break no rule and fit.
    pub fn fitting(&self) -> u64 {
        self.counts.iter().map(|count| count.fitting).sum()
    }

    /// Returns the leanest layout at the smallest number of accelerators on which any fits; `None`
    /// where none does.
    pub fn smallest(&self) -> Option<&Found> {
        self.counts.iter().find_map(|count| count.leanest.as_ref())
    }

    /// Returns the cheapest layout of all, by the price of the whole training; `None` where none
    /// fits.
    pub fn cheapest(&self) -> Option<&Found> {
        let priced = self
            .counts
            .iter()
            .filter_map(|count| count.fastest.as_ref())
            .filter(|found| found.cost.is_some());
        priced.min_by(|a, b| a.cost.unwrap_or(0.0).total_cmp(&b.cost.unwrap_or(0.0)))
    }

    /// Returns the Pareto front over accelerators, days and price, by number of accelerators: for
    /// each of these layouts, no other is at least as good in all three and better in one.
    ///
    /// At one number of accelerators price and days fall together, so only its fastest layout can
    /// be on the front.
    pub fn front(&self) -> Vec<&Found> {
        let mut front: Vec<&Found> = Vec::new();
        for found in self.counts.iter().filter_map(|count| count.fastest.as_ref()) {
            let measure = |found: &Found| found.days.zip(found.cost);
            let Some((days, cost)) = measure(found) else { continue };
            // The layouts on the front so far have fewer accelerators.
            let beaten = |known: &&Found| {
                measure(known).is_some_and(|known| known.0 <= days && known.1 <= cost)
            };
            if !front.iter().any(beaten) {
                front.push(found);
            }
        }
        front
    }

    /// Returns one to three sentences: the smallest number of accelerators that can run the job and
    /// why fewer cannot, or why nothing was found.
    ///
    /// `capacity` is the memory of one accelerator; amounts are written in `unit`.
    pub fn words(&self, capacity: Bytes, unit: MemoryUnit) -> String {
        if let Some(refused) = &self.refused {
            return refused.clone();
        }
        let before = |gpus: u64| self.counts.iter().rev().find(|count| count.gpus < gpus);
        let Some(found) = self.smallest() else {
            let nearest =
                self.counts.iter().filter_map(|count| Some((count.gpus, count.nearest.as_ref()?)));
            return match nearest.min_by_key(|(_, miss)| miss.short) {
                Some((gpus, miss)) => {
                    format!("No layout fits. {}.", miss.words(gpus, capacity, unit))
                }
                None => match self.counts.iter().find_map(|count| count.rule.as_ref()) {
                    Some((_, rule)) => format!("No layout is legal: {rule}."),
                    None => "No layout has been looked at yet.".to_owned(),
                },
            };
        };
        let scale = Scale::of(unit, found.memory, capacity);
        let (used, memory) = (scale.show(found.memory), scale.show(capacity));
        let mut text =
            format!("{} can run it with {used} of {memory} {unit} each.", gpus(found.gpus));
        if let Some(count) = before(found.gpus) {
            let clause = match (&count.nearest, &count.rule) {
                (Some(miss), _) => miss.words(count.gpus, capacity, unit),
                (None, Some((_, rule))) => {
                    format!("With {} no layout is legal: {rule}", gpus(count.gpus))
                }
                (None, None) => return text,
            };
            text = format!("{text} {clause}.");
        }
        text
    }
}

impl Miss {
    fn words(&self, count: u64, capacity: Bytes, unit: MemoryUnit) -> String {
        let total = capacity + self.short;
        let missing = Scale::of(unit, total, capacity).gap(total, capacity);
        let kind = self.kind.name().to_ascii_lowercase();
        format!(
            "With {} the nearest miss is {missing} {unit} short on each, with {kind}",
            gpus(count)
        )
    }
}

/// `1 GPU`, `8 GPUs`.
fn gpus(count: u64) -> String {
    if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}
