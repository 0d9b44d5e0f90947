//! What differs between the scenario shown and those pinned beside it, as finished words: inputs first, then results.

use super::answers::{Answers, Other};
use super::timing::facts;
use super::words::{Scale, kinds};
use crate::config::Job;
use crate::estimator::time::timing;
use crate::estimator::{Estimate, MemoryKind};
use crate::planner::{GpuCount, fleet_of, gpu_count};
use crate::scenario::{FieldId, Scenario, field, show};

/// What the scenarios beside the first are called, in their order.
pub const LETTERS: [&str; 3] = ["B", "C", "D"];

/// Where nothing can be said.
const NOTHING: &str = "–";

/// One line of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// An input or a result.
    pub name: String,
    /// What it is in the scenario shown.
    pub shown: String,
    /// What it is in each of the others.
    pub others: Vec<Cell>,
}

/// What a line says of one of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The value.
    pub text: String,
    /// For amounts of memory: how much more than in the scenario shown, with its sign; as printed, the values differ by just this.
    pub more: Option<String>,
}

impl Line {
    /// Whether any of the others differs.
    pub fn differs(&self) -> bool {
        self.others.iter().any(|cell| cell.text != self.shown)
    }
}

/// Everything that differs, and the results that matter most even where they do not.
pub fn lines(scenario: &Scenario, answers: &Answers) -> Vec<Line> {
    let mut lines: Vec<Line> = inputs(scenario, &answers.others);
    lines.extend(memory(answers));
    lines.extend(results(answers));
    lines
}

fn plain(name: &str, shown: String, others: impl Iterator<Item = String>) -> Line {
    Line { name: name.to_owned(), shown, others: others.map(|text| Cell { text, more: None }).collect() }
}

/// The inputs in which any of them differs.
fn inputs(scenario: &Scenario, others: &[Other]) -> Vec<Line> {
    let mut differing: Vec<FieldId> = Vec::new();
    for other in others {
        differing.extend(scenario.differences(&other.scenario));
    }
    let in_order = crate::scenario::fields().iter().map(|field| field.id).filter(|id| differing.contains(id));
    let line =
        |id| plain(field(id).label, show(id, &scenario.get(id)), others.iter().map(|other| show(id, &other.scenario.get(id))));
    in_order.map(line).collect()
}

/// Every kind of memory that any of them has, and the sum. Rounded as in the ledger, so that the page prints one number for one thing.
fn memory(answers: &Answers) -> Vec<Line> {
    let scale = Scale { unit: answers.unit, decimals: 1 };
    let sums = |estimate: &Estimate| kinds(estimate, scale);
    let (mine, theirs) = (sums(&answers.estimate), each(answers, |_, estimate| sums(estimate)));
    let of = |list: &[(MemoryKind, u64)], kind| list.iter().find(|(known, _)| *known == kind).map(|(_, sum)| *sum);
    let line = |kind: MemoryKind| {
        let others = theirs.iter().map(|list| list.as_ref().map(|list| of(list, kind)));
        amounts(kind.name(), of(&mine, kind), others, scale)
    };
    let used = |line: &Line| line.shown != NOTHING || line.others.iter().any(|cell| cell.text != NOTHING);
    let mut lines: Vec<Line> = MemoryKind::ALL.into_iter().map(line).filter(used).collect();
    let whole = |estimate: &Estimate| Some(scale.round(estimate.total()));
    let totals = each(answers, |_, estimate| whole(estimate));
    lines.push(amounts("Memory per GPU", whole(&answers.estimate), totals.into_iter(), scale));
    let room = |estimate: &Estimate| format!("{} {}", scale.show(estimate.capacity), scale.unit);
    lines.push(texts("Capacity of a GPU", room(&answers.estimate), each(answers, |_, estimate| room(estimate))));
    lines
}

/// One amount in all of them; an inner nothing is a kind that one does not have.
fn amounts(name: &str, shown: Option<u64>, others: impl Iterator<Item = Option<Option<u64>>>, scale: Scale) -> Line {
    let text = |sum: Option<u64>| sum.map_or_else(|| NOTHING.to_owned(), |sum| format!("{} {}", scale.number(sum), scale.unit));
    let cell = |sum: Option<Option<u64>>| {
        let Some(sum) = sum else { return Cell { text: NOTHING.to_owned(), more: None } };
        let (mine, theirs) = (shown.unwrap_or(0), sum.unwrap_or(0));
        let sign = if theirs > mine { "+" } else { "−" };
        let more = (mine != theirs).then(|| format!("{sign}{}", scale.number(mine.abs_diff(theirs))));
        Cell { text: text(sum), more }
    };
    Line { name: name.to_owned(), shown: text(shown), others: others.map(cell).collect() }
}

/// GPU counts and what follows from the times.
fn results(answers: &Answers) -> Vec<Line> {
    let runnable = |count: &GpuCount| count.runnable.as_ref().map_or_else(|| "none".to_owned(), |run| run.gpus.to_string());
    let counts = each(answers, |job, _| runnable(&gpu_count(job, answers.unit)));
    let mut lines = vec![texts("Smallest number of GPUs that runs", runnable(&answers.count), counts)];
    lines.extend(carries(answers));
    let theirs = each(answers, |job, estimate| facts(job, &timing(job, estimate)));
    for (name, shown, _) in facts(&answers.job, answers.timing()) {
        let same = |list: &Option<Vec<super::timing::Fact>>| {
            list.as_ref()?.iter().find(|(known, ..)| *known == name).map(|(_, text, _)| text.clone())
        };
        let others: Vec<Option<String>> = theirs.iter().map(same).collect();
        if others.iter().any(Option::is_some) {
            lines.push(texts(name, shown, others));
        }
    }
    lines
}

/// The GPUs that carry the stated users; nothing where none of them states any.
fn carries(answers: &Answers) -> Option<Line> {
    let fewest = |job: &Job| {
        let gpus = fleet_of(job)?.runnable.map(|found| found.gpus);
        Some(gpus.map_or_else(|| "none".to_owned(), |gpus| gpus.to_string()))
    };
    let (mine, theirs) = (fewest(&answers.job), each(answers, |job, _| fewest(job)));
    let theirs: Vec<Option<String>> = theirs.into_iter().map(Option::flatten).collect();
    let any = mine.is_some() || theirs.iter().any(Option::is_some);
    any.then(|| texts("GPUs that carry the users", mine.unwrap_or_else(|| NOTHING.to_owned()), theirs))
}

fn texts(name: &str, shown: String, others: Vec<Option<String>>) -> Line {
    plain(name, shown, others.into_iter().map(|text| text.unwrap_or_else(|| NOTHING.to_owned())))
}

/// Something about each of the others; nothing where one has an input that needs a look.
fn each<T>(answers: &Answers, of: impl Fn(&Job, &Estimate) -> T) -> Vec<Option<T>> {
    answers.others.iter().map(|other| other.answer.as_ref().map(|(job, estimate)| of(job, estimate))).collect()
}
