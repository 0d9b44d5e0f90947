//! Walks over a space, part by part: all layouts with the same tensor, context, pipeline and
//! data-parallel degrees.

use super::space::{Degree, SearchAxis, Space, plain};
use crate::config::{Choice, Job};
use crate::planner::count::divisors;
use crate::units::to_f64;

/// The parts of a space, in order.
pub(super) struct Walk {
    /// The place in `counts` of the number that comes next.
    count: usize,
    /// Degrees at the present number of accelerators, from the last to the first.
    parts: Vec<Choice>,
    /// How many parts this number had.
    of: usize,
}

impl Walk {
    pub const fn new() -> Self {
        Self { count: 0, parts: Vec::new(), of: 0 }
    }

    /// The degrees of the next part, all else as in [`plain`], and whether it is the first of
    /// another number of accelerators.
    pub fn next(&mut self, space: &Space) -> Option<(Choice, bool)> {
        let mut another = false;
        while self.parts.is_empty() {
            let count = *space.counts.get(self.count)?;
            self.count += 1;
            self.parts = degrees(space, count);
            self.parts.reverse();
            self.of = self.parts.len();
            another = true;
        }
        Some((self.parts.pop()?, another))
    }

    /// How many numbers of accelerators are done, with fractions by their parts, and how many there
    /// are.
    pub fn progress(&self, space: &Space) -> (f64, f64) {
        let number = |n: usize| to_f64(u64::try_from(n).unwrap_or(u64::MAX));
        (
            number(self.count) - number(self.parts.len()) / number(self.of.max(1)),
            number(space.counts.len()),
        )
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

/// All layouts that share the degrees that multiply to the number of accelerators, as a tree: one
/// choice after the other.
pub(super) struct Part<'a> {
    job: &'a Job,
    base: Choice,
    levels: Vec<Level<'a>>,
    /// Sequences that a rank may hold at once.
    micro_batches: Vec<u64>,
    /// The axis that is chosen last.
    last: Option<&'a SearchAxis>,
}

/// One choice.
struct Level<'a> {
    values: Values<'a>,
    /// Layouts below each of its values.
    under: u64,
    /// True if a rule on degrees that is broken at this choice is broken by all layouts below it,
    /// because every setting that could lift it is chosen.
    settles: bool,
}

enum Values<'a> {
    Degree(Degree, Vec<u64>),
    Axis(&'a SearchAxis),
}

/// Looks at a part.
pub(super) trait Visitor {
    /// Comes to a choice above `layouts` layouts, for all of which its rules on degrees hold;
    /// returns true if these are to be looked at.
    fn enter(&mut self, choice: &Choice, layouts: u64) -> bool;
    /// Comes to layouts that differ only in micro-batch and in the last choice.
    fn group(&mut self, group: &Group);
}

/// Layouts that differ only in micro-batch and in the last choice.
pub(super) struct Group<'a> {
    /// All of them with one sequence at once and, where there is a last choice, with its value.
    pub choices: Vec<Choice>,
    /// Sequences that a rank may hold at once.
    pub micro_batches: &'a [u64],
}

impl<'a> Part<'a> {
    /// The tree below some degrees.
    pub fn of(space: &'a Space, job: &'a Job, base: Choice) -> Self {
        let (last, axes) =
            space.axes.split_last().map_or((None, &[][..]), |(last, axes)| (Some(last), axes));
        let [chunks, expert, expert_tensor, micro_batch] = inner(space, job, &base);
        let (lifting, others): (Vec<&SearchAxis>, Vec<&SearchAxis>) =
            axes.iter().partition(|axis| axis.lifts_rules);
        let lifts = lifting.len();
        let degrees = [
            (Degree::Chunks, chunks),
            (Degree::Expert, expert),
            (Degree::ExpertTensor, expert_tensor),
        ];
        let values = (lifting.into_iter().map(Values::Axis))
            .chain(degrees.into_iter().map(|(degree, values)| Values::Degree(degree, values)))
            .chain(others.into_iter().map(Values::Axis));
        // Rules are checked as soon as every setting that lifts them is chosen, and behind each
        // degree after that.
        let settles = |place: usize| (lifts.saturating_sub(1)..lifts + 3).contains(&place);
        let mut levels: Vec<_> = values
            .enumerate()
            .map(|(place, values)| Level { values, under: 1, settles: settles(place) })
            .collect();
        let mut part = Self { job, base, levels: Vec::new(), micro_batches: micro_batch, last };
        let mut under =
            length(&part.micro_batches).saturating_mul(last.map_or(1, |axis| part.applying(axis)));
        for level in levels.iter_mut().rev() {
            level.under = under;
            let values = match &level.values {
                Values::Degree(_, values) => length(values),
                Values::Axis(axis) => part.applying(axis),
            };
            under = under.saturating_mul(values);
        }
        part.levels = levels;
        part
    }

    /// Values of an axis that make layouts of their own, which follows from the job and the part's
    /// degrees.
    fn applying(&self, axis: &SearchAxis) -> u64 {
        edited(axis, self.job, self.base).fold(0, |sum, _| sum + 1)
    }

    /// Shows all layouts of the part to a visitor.
    pub fn walk(&self, visitor: &mut impl Visitor) {
        self.down(&self.levels, self.base, visitor);
    }

    fn down(&self, levels: &[Level], choice: Choice, visitor: &mut impl Visitor) {
        let Some((level, below)) = levels.split_first() else {
            let choices = self
                .last
                .map_or_else(|| vec![choice], |last| edited(last, self.job, choice).collect());
            return visitor.group(&Group { choices, micro_batches: &self.micro_batches });
        };
        let mut show = |choice: Choice| {
            if !level.settles || visitor.enter(&choice, level.under) {
                self.down(below, choice, visitor);
            }
        };
        match &level.values {
            Values::Axis(axis) => edited(axis, self.job, choice).for_each(show),
            Values::Degree(degree, values) => {
                for value in values {
                    let mut choice = choice;
                    degree.set(&mut choice, *value);
                    show(choice);
                }
            }
        }
    }
}

/// The values that virtual stages, expert and expert-tensor degree and micro-batch can have beside
/// these degrees.
fn inner(space: &Space, job: &Job, base: &Choice) -> [Vec<u64>; 4] {
    let layout = &base.layout;
    let experts = job.model().moe.as_ref().map(|moe| moe.num_experts);
    let batch = job.training().map_or(1, |run| run.global_batch_size);
    // Where ranks do not share the batch evenly there is no micro-batch to choose.
    let share = if batch.is_multiple_of(layout.d()) { batch / layout.d() } else { 1 };
    let layers = job.model().num_hidden_layers;
    // Layers of a stage for each way to deal them out, for the stages between the ends.
    let stages = [layers, layers.saturating_add(2)]
        .into_iter()
        .filter(|all| layout.p() > 1 && all.is_multiple_of(layout.p()));
    let mut chunks: Vec<u64> =
        stages.flat_map(|all| divisors(all / layout.p())).chain([1]).collect();
    chunks.sort_unstable();
    chunks.dedup();
    let mut split = vec![1];
    split.extend(experts.filter(|_| layout.t() > 1).map(|_| layout.t()));
    let all = [
        (Degree::Chunks, chunks),
        (Degree::Expert, experts.map_or_else(|| vec![1], divisors)),
        (Degree::ExpertTensor, split),
        (Degree::MicroBatch, divisors(share)),
    ];
    all.map(|(degree, values)| space.allowed(degree, values))
}

/// The choice with each value of an axis that makes a layout of its own.
fn edited(axis: &SearchAxis, job: &Job, choice: Choice) -> impl Iterator<Item = Choice> {
    axis.edits.iter().filter_map(move |edit| {
        let mut choice = choice;
        edit.apply(job, &mut choice).then_some(choice)
    })
}

/// Entries of a list.
pub(super) fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}
