//! A search that several workers share: each goes through some of the parts, and one takes in the
//! results of the others.
//!
//! Workers hand over layouts and counts only. Memory, time and reasons are worked out anew by the
//! search that takes them in, so that they are its own; of equal layouts it keeps the earlier one
//! in the space's order, so that the answer is that of one search alone.

use serde::{Deserialize, Serialize};

use super::{AtCount, Found, Miss, Outcome, Reason, Search, WhyNot, is_faster};
use crate::config::Choice;
use crate::estimator::MemoryKind;

/// The results of a search over some of the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gathered {
    counts: Vec<Count>,
    /// Layouts that break a rule, each with how many break the same rule.
    broken: Vec<(Choice, u64)>,
    /// For each kind of memory that overflows: the nearest miss, and the number of layouts that
    /// overflow with it.
    overflows: [Option<(Choice, u64)>; 7],
    /// For each layout asked about: how many are faster, and how many leaner.
    watched: Vec<(u64, u64)>,
}

/// The results at one number of accelerators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    gpus: u64,
    considered: u64,
    legal: u64,
    fitting: u64,
    leanest: Option<Choice>,
    fastest: Option<Choice>,
    nearest: Option<Choice>,
    rule: Option<Choice>,
}

/// The parts that are looked at: those with equal tensor and context degrees go together, because
/// they have operation lists in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    every: usize,
    from: usize,
    /// Degrees of the last group, and its number.
    last: Option<(u64, u64)>,
    number: usize,
}

impl Default for Turn {
    fn default() -> Self {
        Self { every: 1, from: 0, last: None, number: 0 }
    }
}

impl Turn {
    /// True if the next part is looked at. Groups take turns in the pattern 0 1 1 0 1 0 0 1 …,
    /// because earlier groups are often the larger ones.
    pub fn comes(&mut self, base: &Choice) -> bool {
        let group = (base.layout.t(), base.layout.cp());
        if self.last.is_some_and(|last| last != group) {
            self.number += 1;
        }
        self.last = Some(group);
        let ones = usize::try_from(self.number.count_ones()).unwrap_or(0);
        ones % self.every == self.from
    }
}

/// The place of a layout in the order of parts.
pub(super) const fn order(choice: &Choice) -> (u64, u64, u64, u64) {
    let layout = &choice.layout;
    (layout.world_size(), layout.t(), layout.cp(), layout.p())
}

impl Search {
    /// Looks only at every `every`th group of parts, from the `from`th on, counted from 0. To be
    /// called before the first [`Self::step`]; not for a space that ends with the first number that
    /// fits, because one share alone does not know where that is.
    pub fn look_at_every(&mut self, every: usize, from: usize) {
        self.turn = Turn { every: every.max(1), from, ..Turn::default() };
    }

    /// The results that this share has so far.
    pub fn gathered(&self) -> Gathered {
        let count = |count: &AtCount| Count {
            gpus: count.gpus,
            considered: count.considered,
            legal: count.legal,
            fitting: count.fitting,
            leanest: count.leanest.map(|found| found.choice),
            fastest: count.fastest.map(|found| found.choice),
            nearest: count.nearest.map(|miss| miss.choice),
            rule: count.rule.as_ref().map(|(choice, _)| *choice),
        };
        Gathered {
            counts: self.counts.iter().map(count).collect(),
            broken: self.broken.iter().map(|(_, count, choice)| (*choice, *count)).collect(),
            overflows: self
                .overflows
                .each_ref()
                .map(|why| why.as_ref().map(|why| (why.example, why.count))),
            watched: self.watched.iter().map(|watched| (watched.faster, watched.leaner)).collect(),
        }
    }

    /// Adds the results of another share of this search; to be called once for each share, after
    /// its own end.
    pub fn take_in(&mut self, gathered: &Gathered) {
        for theirs in &gathered.counts {
            self.take_in_count(theirs);
        }
        for (choice, layouts) in &gathered.broken {
            self.take_in_rule(choice, *layouts);
        }
        for (kind, theirs) in MemoryKind::ALL.into_iter().zip(&gathered.overflows) {
            if let Some((choice, layouts)) = theirs {
                self.take_in_overflow(kind, choice, *layouts);
            }
        }
        for (own, (faster, leaner)) in self.watched.iter_mut().zip(&gathered.watched) {
            own.faster += faster;
            own.leaner += leaner;
        }
    }

    fn take_in_count(&mut self, theirs: &Count) {
        let Some(at) = self.counts.iter().position(|own| own.gpus == theirs.gpus) else { return };
        let [leanest, fastest] =
            [&theirs.leanest, &theirs.fastest].map(|choice| self.found_again(choice.as_ref()?));
        let nearest = theirs.nearest.as_ref().and_then(|choice| self.missed_again(choice));
        let rule = theirs.rule.as_ref().and_then(|choice| match self.look(choice) {
            Outcome::Forbidden(rule) => Some((*choice, rule)),
            _ => None,
        });
        self.considered += theirs.considered;
        let Some(own) = self.counts.get_mut(at) else { return };
        own.considered += theirs.considered;
        own.legal += theirs.legal;
        own.fitting += theirs.fitting;
        let leaner =
            |a: &Found, b: &Found| (a.memory, order(&a.choice)) < (b.memory, order(&b.choice));
        let faster = |a: &Found, b: &Found| {
            let before = |a: &Found, b: &Found| is_faster((a.seconds, a.memory), b);
            before(a, b) || (!before(b, a) && order(&a.choice) < order(&b.choice))
        };
        let nearer = |a: &Miss, b: &Miss| (a.short, order(&a.choice)) < (b.short, order(&b.choice));
        own.leanest = better(own.leanest, leanest, leaner);
        own.fastest = better(own.fastest, fastest, faster);
        own.nearest = better(own.nearest, nearest, nearer);
        own.rule = better(own.rule.take(), rule, |a, b| order(&a.0) < order(&b.0));
    }

    fn take_in_rule(&mut self, choice: &Choice, layouts: u64) {
        let Outcome::Forbidden(rule) = self.look(choice) else { return };
        match self.broken.iter_mut().find(|known| known.0.is_like(&rule)) {
            Some(known) => {
                known.1 = known.1.saturating_add(layouts);
                if order(choice) < order(&known.2) {
                    (known.0, known.2) = (rule, *choice);
                }
            }
            None => self.broken.push((rule, layouts, *choice)),
        }
    }

    fn take_in_overflow(&mut self, kind: MemoryKind, choice: &Choice, layouts: u64) {
        let Some(short) = self.missed_again(choice).map(|miss| miss.short) else { return };
        let Some(known) = self.overflows.get_mut(kind.index()) else { return };
        match known {
            Some(why) => {
                why.count += layouts;
                if (Some(short), order(choice)) < (why.short, order(&why.example)) {
                    (why.example, why.short) = (*choice, Some(short));
                }
            }
            None => {
                *known = Some(WhyNot {
                    reason: Reason::Memory(kind),
                    count: layouts,
                    example: *choice,
                    short: Some(short),
                });
            }
        }
    }

    fn found_again(&mut self, choice: &Choice) -> Option<Found> {
        match self.look(choice) {
            Outcome::Fits(found) => Some(found),
            _ => None,
        }
    }

    fn missed_again(&mut self, choice: &Choice) -> Option<Miss> {
        match self.look(choice) {
            Outcome::TooLarge(miss) => Some(miss),
            _ => None,
        }
    }
}

/// The better of two, where there are two.
fn better<T>(own: Option<T>, other: Option<T>, is_better: impl Fn(&T, &T) -> bool) -> Option<T> {
    match (own, other) {
        (Some(own), Some(other)) => Some(if is_better(&other, &own) { other } else { own }),
        (own, other) => own.or(other),
    }
}
