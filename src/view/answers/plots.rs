//! The page's curves: as plotted, as kept between answers, and beside the scenarios compared.

use super::{Answers, Other};
use crate::charts;
use crate::charts::{Drawn, Frame};
use crate::config::Job;
use crate::estimator::Lengths;
use crate::planner::{
    Axis, Curve, NamedStair, curve_gpus, curve_gpus_after, curve_seq, curve_seq_after,
};
use crate::scenario::Scenario;
use crate::units::{Bytes, MemoryUnit};
use crate::view::compared::LETTERS;
use crate::view::curve_view;
use crate::view::curve_view::{Lines, Setting};
use crate::view::ui::FromWorkers;
use std::fmt::Write as _;

/// Points of the curve over the sequence length, and of those it is compared with.
pub(super) const CURVE_POINTS: usize = 48;

pub(super) const OTHER_POINTS: usize = 48;

/// One curve and its drawing.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The points.
    pub curve: Curve,
    /// The picture.
    pub drawn: Drawn,
}

/// The best layouts of a scenario at each number of accelerators that its curve shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Stairs {
    /// The scenario that was asked about.
    pub scenario: Scenario,
    /// The layouts.
    pub best: Vec<NamedStair>,
}

impl Stairs {
    /// As it travels: a line for each, number, bytes, words.
    pub fn write(best: &[NamedStair]) -> String {
        let mut text = String::new();
        for NamedStair { gpus, memory, words } in best {
            let _ = writeln!(text, "{gpus} {} {words}", memory.0);
        }
        text
    }

    /// Reads what [`Stairs::write`] wrote; what is no such line is left out.
    pub fn read(scenario: Scenario, text: &str) -> Self {
        let stair = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || words.next()?.parse().ok();
            let (gpus, memory) = (number()?, Bytes(number()?));
            Some(NamedStair { gpus, memory, words: words.next()?.to_owned() })
        };
        Self { scenario, best: text.lines().filter_map(stair).collect() }
    }
}

/// The look of the curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurveLook {
    /// True if the length axis goes by doublings.
    pub log: bool,
    /// Width and height of one curve on the page, CSS pixels.
    pub size: (u16, u16),
    /// The lines over the bars by GPUs.
    pub lines: Lines,
}

/// Both curves.
#[derive(Clone, Debug)]
pub struct Plots {
    /// Memory by sequence length.
    pub seq: Plot,
    /// Memory by number of accelerators.
    pub gpus: Plot,
    pub(super) job: Job,
    pub(super) compared: Vec<ComparedCurves>,
    pub(super) unit: MemoryUnit,
    pub(super) look: CurveLook,
}

/// The curves of a scenario compared with.
#[derive(Clone, Debug)]
pub struct ComparedCurves {
    /// Its letter.
    pub letter: &'static str,
    /// Memory by sequence length.
    pub seq: Curve,
    /// Memory by number of accelerators.
    pub gpus: Curve,
    pub(super) job: Job,
    pub(super) log: bool,
}

impl ComparedCurves {
    /// The curves of all that can be resolved, taken over where they are known.
    pub fn of(others: &[Other], log: bool, known: &[Self]) -> Vec<Self> {
        let of = |(letter, other): (&&'static str, &Other)| {
            let (letter, job) = (*letter, other.job()?);
            let same = known.iter().find(|known| known.log == log && known.job == *job);
            Some(same.map_or_else(
                || Self {
                    letter,
                    seq: curve_seq(&Lengths::of(job), None, OTHER_POINTS, log),
                    gpus: curve_gpus(job),
                    job: job.clone(),
                    log,
                },
                |same| Self { letter, ..same.clone() },
            ))
        };
        LETTERS.iter().zip(others).filter_map(of).collect()
    }
}

impl Plots {
    /// The curves of an answer, and whether they differ from the last ones. Best layouts of another
    /// scenario are not shown.
    pub fn of(
        answers: &Answers,
        look: CurveLook,
        found: &FromWorkers,
        last: Option<Self>,
    ) -> (Self, bool) {
        let best = if look.lines.best { found.best(&answers.scenario) } else { &[] };
        let longest = found
            .told(answers)
            .map_or_else(|| answers.inverse().longest_seq, |limits| limits.longest_seq);
        let (job, unit) = (&answers.job, answers.unit);
        let same_job = last.as_ref().is_some_and(|last| last.job == *job);
        let mut compared = Vec::new();
        let end = |curve: &Curve| curve.points.last().map(|point| point.x);
        let fresh = |seq: Option<u64>, gpus: Option<u64>| {
            (seq_curve_after(seq, answers, look.log), curve_gpus_after(gpus, job))
        };
        let (mut seq, mut gpus) = match last {
            Some(last)
                if same_job
                    && last.shows(&answers.others)
                    && last.unit == unit
                    && last.look == look
                    && last.gpus.curve.best == best
                    && last.seq.curve.longest_fit == longest =>
            {
                return (last, false);
            }
            Some(last) => {
                compared = last.compared;
                match (same_job, last.look.log == look.log) {
                    (true, true) => (last.seq.curve, last.gpus.curve),
                    (true, false) => {
                        (seq_curve_after(end(&last.seq.curve), answers, look.log), last.gpus.curve)
                    }
                    _ => fresh(end(&last.seq.curve), end(&last.gpus.curve)),
                }
            }
            None => fresh(None, None),
        };
        gpus.best = best.to_vec();
        seq.longest_fit = longest;
        let compared = ComparedCurves::of(&answers.others, look.log, &compared);
        let plots = Self {
            seq: plot(seq, (unit, look), &compared),
            gpus: plot(gpus, (unit, look), &compared),
            job: job.clone(),
            compared,
            unit,
            look,
        };
        (plots, true)
    }

    /// True if the curves shown beside the scenario's are of exactly these scenarios.
    pub(super) fn shows(&self, others: &[Other]) -> bool {
        let shown = self.compared.iter().map(|compared| (compared.letter, &compared.job));
        shown.eq(LETTERS
            .into_iter()
            .zip(others)
            .filter_map(|(letter, other)| Some((letter, other.job()?))))
    }

    /// The curve along that axis.
    pub const fn along(&self, axis: Axis) -> &Plot {
        match axis {
            Axis::SeqLength => &self.seq,
            Axis::Gpus => &self.gpus,
        }
    }
}

/// Memory by sequence length as the page shows it.
pub fn seq_curve(answers: &Answers, log: bool) -> Curve {
    seq_curve_after(None, answers, log)
}

/// Memory by sequence length after a curve that ended at a length.
pub(super) fn seq_curve_after(before: Option<u64>, answers: &Answers, log: bool) -> Curve {
    curve_seq_after(before, answers.lengths(), answers.inverse().longest_seq, (CURVE_POINTS, log))
}

pub(super) fn plot(
    curve: Curve,
    (unit, look): (MemoryUnit, CurveLook),
    compare: &[ComparedCurves],
) -> Plot {
    let view =
        curve_view::view(&curve, &Setting { unit, log: look.log, compare, lines: look.lines });
    let drawn = charts::curve(&view, Frame::new(look.size.0, look.size.1));
    Plot { curve, drawn }
}
