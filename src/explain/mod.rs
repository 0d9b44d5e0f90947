//! Every number explains itself: one sentence on its meaning, its formula, its source, and how it
//! grows.
//!
//! Formulas are not written here a second time: they are read off the operation list and the ledger
//! (a tensor's named dimensions, width, count and sharding; a line's tensors; the planner's
//! division; the terms of a step), and taken only where their value is the printed figure exactly.
//! How a figure grows is found by doubling each input and estimating anew. [`text`], [`latex`] and
//! [`mathml`] write an explanation down; nothing here knows the page.
//!
//! | path | figure |
//! |---|---|
//! | `total`, `peak`, `margin` | all memory at the peak; the moments compared; what is left or missing |
//! | `host` | what lies in the host's memory, beside all of that |
//! | `ledger/KIND`, `ledger/KIND/LABEL`, `ledger/KIND/LABEL/N` | a kind, a line, its tensor number N |
//! | `bar/KIND`, `card/NAME` | the same kind beside its part of the bar, the same figure on the answer's card |
//! | `gpus/arithmetic`, `gpus/runnable` | the two counts; where users are stated, of what carries them |
//! | `load/first-token`, `load/per-user`, `load/in-all`, `load/price` | serving at its load |
//! | `time/NAME` | a term of a step, or a figure of time, cost or model by its printed name |

mod totals;
use totals::sources_of;
mod path;
use path::Path;
mod documents;
mod drafts;
mod expr;
mod figures;
mod growth;
mod inputs;
mod lines;
mod loads;
mod printed;
mod tensors;
mod times;
mod write;

pub use documents::Said;
pub use expr::{Expr, FormulaValue, NamedPart, Symbol};
pub use growth::{FigureGrowth, sentence as growth_sentence};
pub use write::{
    Form, WrittenFormula, document_words, is_itself, latex, legend, mathml, numbers, result_of,
    source_words, symbols, text,
};

use std::cell::OnceCell;

use crate::config::Job;
use crate::estimator::time::{Timing, timing};
use crate::estimator::{Certainty, Estimate, LineItem, MemoryKind, estimate};
use crate::methods::MethodAnswer;
use crate::sources::Source;
use crate::units::{Bytes, MemoryUnit};
use inputs::Inputs;
use printed::{Pick, Words};
use tensors::Lines;

/// The unit in which a figure is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes, shown in the page's unit too.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share, shown in per cent.
    Share,
    /// Whole things or any other number, with the noun or unit that is written behind it; may be
    /// empty.
    Number(&'static str),
}

/// The largest tensors of a figure: those of one shape, described once, with their number.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestTensors {
    /// The names of the tensors.
    pub names: String,
    /// How many there are.
    pub count: u64,
    /// Bytes of one of them.
    pub one: Expr,
}

/// One figure, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Its path.
    pub path: String,
    /// Its name.
    pub title: String,
    /// One plain sentence.
    pub sentence: String,
    /// The formula.
    pub expr: Expr,
    /// The unit in which it is counted.
    pub measure: Measure,
    /// Amounts that the ledger prints, by the label of their formula (the figure's own is empty),
    /// as printed there.
    pub printed: Vec<(String, String)>,
    /// Its largest tensors, where some stand out.
    pub largest: Option<LargestTensors>,
    /// Its sources: each with its certainty, and with the part of the figure that it covers where
    /// it does not cover all.
    pub sources: Vec<(Source, Certainty, &'static str)>,
    /// How the figure changes when an input doubles, for each input.
    pub growth: Vec<FigureGrowth>,
    /// Further sentences: the counts that were tried, the tensors that are alive.
    pub notes: Vec<String>,
    /// Documents that give another figure.
    pub documents: Vec<Said>,
}

/// Everything known about one job, for as many explanations as are asked for.
pub struct Scene {
    job: Job,
    estimate: Estimate,
    timing: OnceCell<Timing>,
}

impl Scene {
    fn new(job: Job) -> Self {
        let estimate = estimate(&job);
        Self { job, estimate, timing: OnceCell::new() }
    }

    fn timing(&self) -> &Timing {
        self.timing.get_or_init(|| timing(&self.job, &self.estimate))
    }
}

/// Explains figures of one job.
pub struct Explainer<'a> {
    scene: Scene,
    unit: MemoryUnit,
    answers: &'a [MethodAnswer],
    doubled: OnceCell<Vec<(&'static str, Scene)>>,
}

impl<'a> Explainer<'a> {
    /// Estimates the job and makes ready to explain its figures; `answers` are the documents' for
    /// the same job, amounts in texts are written in `unit`.
    pub fn new(job: &Job, answers: &'a [MethodAnswer], unit: MemoryUnit) -> Self {
        Self { scene: Scene::new(job.clone()), unit, answers, doubled: OnceCell::new() }
    }

    /// Returns every path of the ledger, such as `ledger/Weights`: total and peak, kinds, lines and
    /// tensors.
    pub fn ledger_paths(&self) -> Vec<String> {
        let mut paths = vec!["total".to_owned(), "peak".to_owned()];
        for kind in MemoryKind::ALL {
            let lines: Vec<_> =
                self.scene.estimate.ledger.lines.iter().filter(|line| line.kind == kind).collect();
            if lines.is_empty() {
                continue;
            }
            paths.push(format!("ledger/{}", kind.name()));
            for line in lines {
                paths.push(format!("ledger/{}/{}", kind.name(), line.label));
                let tensors = 0..line.tensors.len();
                paths.extend(
                    tensors.map(|number| format!("ledger/{}/{}/{number}", kind.name(), line.label)),
                );
            }
        }
        paths
    }

    /// Returns the explanation of the figure with that path: formula, numbers, sources, and growth
    /// with each input; `None` where this job has no such figure.
    ///
    /// The growth is found by estimating the job anew with each input doubled.
    ///
    /// ```
    /// use headroom::explain::{Explainer, symbols};
    /// use headroom::scenario::codec::decode;
    /// use headroom::units::MemoryUnit;
    ///
    /// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve();
    /// let job = job.map_err(|problems| problems.len())?;
    /// let explainer = Explainer::new(&job, &[], MemoryUnit::Gib);
    /// let weights = explainer.explain("ledger/Weights").expect("every job has weights");
    /// assert!(!symbols(&weights.expr).is_empty() && !weights.sources.is_empty());
    /// assert!(explainer.explain("ledger/nothing").is_none());
    /// # Ok::<(), usize>(())
    /// ```
    pub fn explain(&self, path: &str) -> Option<Explanation> {
        let growth = self.growth(&Path::read(path)?);
        Some(Explanation { growth, ..self.explained(path)? })
    }

    /// Returns the explanation of a figure without its growth, which takes an estimate for each
    /// input; `None` where this job has no such figure.
    pub fn explained(&self, path: &str) -> Option<Explanation> {
        let read = Path::read(path)?;
        let mut found = match &read {
            Path::Total => self.total(),
            Path::Peak => self.peak(),
            Path::Margin => self.margin(),
            Path::Host => self.on_host()?,
            Path::Kind(kind) => self.kind(*kind)?,
            Path::Item(kind, label) => self.item(*kind, label)?,
            Path::Tensor(kind, label, number) => self.tensor(*kind, label, *number)?,
            Path::Arithmetic => figures::arithmetic(&self.scene, self.unit),
            Path::Runnable => loads::carrying(&self.scene.job)
                .unwrap_or_else(|| figures::runnable(&self.scene, self.unit)),
            Path::Load(name) => loads::of_load(&self.scene.job, name)?,
            Path::Figure(name) => figures::figure(&self.scene, name)?,
        };
        path.clone_into(&mut found.path);
        self.print(&read, &mut found);
        Some(found)
    }

    /// Gives an explanation the amounts that the ledger prints, in place of a rounding of its own.
    fn print(&self, path: &Path, found: &mut Explanation) {
        let words = Words::of(&self.scene.estimate, self.unit);
        let ledger = &self.scene.estimate.ledger;
        let place = |kind: MemoryKind, label: &str| {
            ledger.lines.iter().position(|line| line.kind == kind && line.label == label)
        };
        let (own, exact): (Pick, Bytes) = match *path {
            Path::Total | Path::Peak => (Box::new(|printed| printed.total), ledger.total()),
            Path::Margin => {
                let capacity = self.scene.estimate.capacity;
                (
                    Box::new(move |printed| printed.gap(capacity)),
                    Bytes(ledger.total().0.abs_diff(capacity.0)),
                )
            }
            Path::Kind(kind) => (Box::new(move |printed| printed.kind(kind)), ledger.of(kind)),
            Path::Item(kind, label) | Path::Tensor(kind, label, _) => {
                let Some(at) = place(kind, label) else { return };
                let line = ledger.lines.get(at);
                // The only tensor of a line is printed as the line is; each of several tensors has
                // digits of its own.
                if matches!(path, Path::Tensor(..))
                    && line.is_none_or(|line| line.tensors.len() != 1)
                {
                    return;
                }
                (
                    Box::new(move |printed| printed.line(at)),
                    line.map_or(Bytes::ZERO, |line| line.bytes),
                )
            }
            Path::Host | Path::Arithmetic | Path::Runnable | Path::Load(_) | Path::Figure(_) => {
                return;
            }
        };
        found.printed.push((String::new(), words.show(&own, exact)));
        found.notes.extend(words.why_not_nearest(&own, exact));
        if let Path::Kind(kind) = *path {
            for (at, line) in ledger.lines.iter().enumerate().filter(|(_, line)| line.kind == kind)
            {
                let line_of: Pick = Box::new(move |printed| printed.line(at));
                found.printed.push((line.label.to_owned(), words.show(&line_of, line.bytes)));
            }
        }
    }

    fn lines(&self) -> Lines<'_> {
        Lines::of(Inputs { job: &self.scene.job })
    }

    fn line(&self, kind: MemoryKind, label: &str) -> Option<&LineItem> {
        line(&self.scene.estimate, kind, label)
    }

    /// A line's formula.
    fn formula(&self, with: &Lines, line: &LineItem) -> Expr {
        let found = with.item(line).unwrap_or_else(|| {
            if line.tensors.is_empty() {
                lines::rule(&with.inputs, &self.scene.estimate.ledger, line)
            } else {
                tensors::itself(line.label, line.bytes.0)
            }
        });
        exactly(found, line.label, line.bytes)
    }

    fn item(&self, kind: MemoryKind, label: &str) -> Option<Explanation> {
        let line = self.line(kind, label)?;
        let with = self.lines();
        let mut found =
            plain(line.label, line.note.to_owned(), self.formula(&with, line), Measure::Bytes);
        found.largest = with
            .largest(&[line])
            .filter(|(_, count, _)| *count > 1)
            .map(|(names, count, one)| LargestTensors { names, count, one });
        found.sources = sources_of(std::iter::once(line));
        // Documents speak of whole kinds; a line shows their figures only where it is all of its
        // kind.
        if self.scene.estimate.ledger.of(kind) == line.bytes {
            found.documents = documents::of_kind(self.answers, kind, line.bytes);
        }
        Some(found)
    }

    fn tensor(&self, kind: MemoryKind, label: &str, number: usize) -> Option<Explanation> {
        let line = self.line(kind, label)?;
        let tensor = line.tensors.get(number)?;
        let title = format!("{}: {}", tensor.op, tensor.name);
        let expr = exactly(self.lines().tensor(line, tensor), &title, tensor.bytes);
        let mut found = plain(title, line.note.to_owned(), expr, Measure::Bytes);
        found.sources = sources_of(std::iter::once(line));
        Some(found)
    }

    fn growth(&self, path: &Path) -> Vec<FigureGrowth> {
        let Some(now) = self.value(path, &self.scene).filter(|now| *now > 0.0) else {
            return Vec::new();
        };
        let doubled = self.doubled.get_or_init(|| {
            growth::doubled(&self.scene.job)
                .into_iter()
                .map(|(input, job)| (input, Scene::new(job)))
                .collect()
        });
        let answers = |(input, scene): &(&'static str, Scene)| {
            let factor = self.value(path, scene).map(|then| then / now);
            FigureGrowth { input, factor }
        };
        doubled.iter().map(answers).collect()
    }

    /// The figure of that path in another scene, in bytes, seconds or its own unit.
    fn value(&self, path: &Path, scene: &Scene) -> Option<f64> {
        let estimate = &scene.estimate;
        match path {
            Path::Total | Path::Peak => Some(estimate.total().as_f64()),
            Path::Host => Some(estimate.host.total().as_f64()),
            Path::Kind(kind) => {
                Some(estimate.ledger.of(*kind)).filter(|bytes| bytes.0 > 0).map(Bytes::as_f64)
            }
            Path::Item(kind, label) => Some(line(estimate, *kind, label)?.bytes.as_f64()),
            Path::Tensor(kind, label, number) => {
                let here = self.line(*kind, label)?.tensors.get(*number)?;
                let mut there = line(estimate, *kind, label)?.tensors.iter();
                let alike = there.find(|other| {
                    (other.op, other.name, other.dtype) == (here.op, here.name, here.dtype)
                })?;
                Some(alike.bytes.as_f64())
            }
            Path::Arithmetic => loads::divided_count(&scene.job),
            Path::Load(name) => loads::value(&scene.job, name),
            Path::Margin | Path::Runnable => None,
            Path::Figure(name) => figures::figure(scene, name).map(|found| found.expr.value()),
        }
    }
}

fn line<'e>(estimate: &'e Estimate, kind: MemoryKind, label: &str) -> Option<&'e LineItem> {
    estimate.ledger.lines.iter().find(|line| line.kind == kind && line.label == label)
}

/// A formula if it comes to the bytes, else the figure itself.
fn exactly(expr: Expr, label: &str, bytes: Bytes) -> Expr {
    if expr.comes_to(bytes.0) { expr } else { tensors::itself(label, bytes.0) }
}

/// An explanation with its formula alone.
fn plain(title: impl Into<String>, sentence: String, expr: Expr, measure: Measure) -> Explanation {
    Explanation {
        path: String::new(),
        title: title.into(),
        sentence,
        expr,
        measure,
        printed: Vec::new(),
        largest: None,
        sources: Vec::new(),
        growth: Vec::new(),
        notes: Vec::new(),
        documents: Vec::new(),
    }
}
