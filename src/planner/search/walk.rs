//! Walks over a space, part by part: all layouts with the same tensor, context, pipeline and data-parallel degrees.

use super::space::{Axis, Degree, Space, plain};
use crate::config::{Choice, Job};
use crate::planner::count::divisors;
use crate::units::to_f64;

/// All layouts that share the degrees that multiply to the number of accelerators.
pub(super) struct Part {
    /// The degrees; all else as in [`plain`].
    pub base: Choice,
    /// Values of the other degrees.
    inner: [(Degree, Vec<u64>); 4],
}

/// The parts of a space in order.
pub(super) struct Walk {
    /// Places in `counts` still to come.
    count: usize,
    /// Degrees at the present count, from the last to the first.
    parts: Vec<Choice>,
    /// How many there were.
    of: usize,
}

impl Walk {
    pub const fn new() -> Self {
        Self { count: 0, parts: Vec::new(), of: 0 }
    }

    /// The next part, and whether it is the first of another number of accelerators.
    pub fn next(&mut self, space: &Space, job: &Job) -> Option<(Part, bool)> {
        let mut another = false;
        while self.parts.is_empty() {
            let count = *space.counts.get(self.count)?;
            self.count += 1;
            self.parts = degrees(space, count);
            self.parts.reverse();
            self.of = self.parts.len();
            another = true;
        }
        let base = self.parts.pop()?;
        Some((Part { base, inner: inner(space, job, &base) }, another))
    }

    /// How many numbers of accelerators are done, in parts of one, and how many there are.
    pub fn progress(&self, space: &Space) -> (f64, f64) {
        let number = |n: usize| to_f64(u64::try_from(n).unwrap_or(u64::MAX));
        (number(self.count) - number(self.parts.len()) / number(self.of.max(1)), number(space.counts.len()))
    }
}

/// Every way to write a count as a product of four degrees.
fn degrees(space: &Space, count: u64) -> Vec<Choice> {
    let mut all = vec![(plain(), count)];
    for degree in [Degree::Tensor, Degree::Context, Degree::Pipeline, Degree::Data] {
        let mut next = Vec::with_capacity(all.len() * 4);
        for (choice, left) in all {
            let values = if degree == Degree::Data { vec![left] } else { divisors(left) };
            for value in space.allowed(degree, values) {
                let mut choice = choice;
                degree.set(&mut choice, value);
                next.push((choice, left / value));
            }
        }
        all = next;
    }
    all.into_iter().map(|(choice, _)| choice).collect()
}

/// What the other degrees can be beside these.
fn inner(space: &Space, job: &Job, base: &Choice) -> [(Degree, Vec<u64>); 4] {
    let layout = &base.layout;
    let experts = job.model().moe.as_ref().map(|moe| moe.num_experts);
    let batch = job.training().map_or(1, |run| run.global_batch_size);
    // Where ranks do not share the batch evenly there is no micro-batch to choose.
    let share = if batch.is_multiple_of(layout.d()) { batch / layout.d() } else { 1 };
    let layers = job.model().num_hidden_layers;
    // Layers of a stage as each way to deal them out has them, for the stages between the ends.
    let stages = [layers, layers.saturating_add(2)].into_iter().filter(|all| layout.p() > 1 && all.is_multiple_of(layout.p()));
    let mut chunks: Vec<u64> = stages.flat_map(|all| divisors(all / layout.p())).chain([1]).collect();
    chunks.sort_unstable();
    chunks.dedup();
    let mut split = vec![1];
    split.extend(experts.filter(|_| layout.t() > 1).map(|_| layout.t()));
    [
        (Degree::Expert, experts.map_or_else(|| vec![1], divisors)),
        (Degree::ExpertTensor, split),
        (Degree::MicroBatch, divisors(share)),
        (Degree::Chunks, chunks),
    ]
    .map(|(degree, values)| (degree, space.allowed(degree, values)))
}

impl Part {
    /// Layouts in it.
    pub fn len(&self, space: &Space, job: &Job) -> u64 {
        let inner = self.inner.iter().map(|(_, values)| values.len());
        let applies = |axis: &Axis| axis.edits.iter().filter(|edit| (edit.apply)(job, &mut self.base.clone())).count();
        let axes = space.axes.iter().map(applies);
        inner.chain(axes).map(|len| u64::try_from(len).unwrap_or(u64::MAX)).fold(1, u64::saturating_mul)
    }

    /// The layouts that tell whether a rule forbids all of it: one, or one for each value that lifts rules.
    pub fn touchstones(&self, space: &Space, job: &Job) -> Vec<Choice> {
        let mut all = vec![self.base];
        for axis in space.axes.iter().filter(|axis| axis.lifts_rules) {
            all = all.iter().flat_map(|choice| edited(axis, job, *choice)).collect();
        }
        all
    }

    /// Shows every layout of it, the last axis quickest.
    pub fn each(&self, space: &Space, job: &Job, mut show: impl FnMut(&Choice)) {
        self.degree(0, self.base, (space, job), &mut show);
    }

    fn degree(&self, at: usize, choice: Choice, within: (&Space, &Job), show: &mut impl FnMut(&Choice)) {
        let Some((degree, values)) = self.inner.get(at) else { return axis(&within.0.axes, choice, within.1, show) };
        for value in values {
            let mut choice = choice;
            degree.set(&mut choice, *value);
            self.degree(at + 1, choice, within, show);
        }
    }
}

/// The choice with each value of an axis that makes a layout of its own.
fn edited(axis: &Axis, job: &Job, choice: Choice) -> impl Iterator<Item = Choice> {
    axis.edits.iter().filter_map(move |edit| {
        let mut choice = choice;
        (edit.apply)(job, &mut choice).then_some(choice)
    })
}

fn axis(axes: &[Axis], choice: Choice, job: &Job, show: &mut impl FnMut(&Choice)) {
    let Some((first, others)) = axes.split_first() else { return show(&choice) };
    for choice in edited(first, job, choice) {
        axis(others, choice, job, show);
    }
}
