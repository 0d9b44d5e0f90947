//! Everything that follows from the scenario, computed once per change: what all panels read. No
//! browser in here.

mod plots;
pub use plots::{ComparedCurves, CurveLook, Plot, Plots, Stairs, seq_curve};
use std::sync::OnceLock;

use super::headline::{Headline, headline};
use super::history::UndoStep;
use super::modules::{awaited, job_of};
use super::replay::Limits;
use super::words::Scale;
use crate::config::{Job, Run};
use crate::estimator::time::{Timing, timing};
use crate::estimator::{EnginePart, Estimate, Lengths, estimate};
use crate::planner::{
    Fix, GpuCount, Growth, Inverse, Serving, UserLoad, UsersAnswer, fixes, gpu_count, inverse,
    serving, shown_load, users_answer,
};
use crate::scenario::{FieldError, Scenario};
use crate::units::MemoryUnit;

/// Whose an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The present scenario's.
    Present,
    /// An earlier scenario's, because the present one has a problem: greyed.
    Earlier,
    /// Nobody's: the page was opened with a scenario that has a problem, and no figure may be
    /// shown.
    Nothing,
}

impl Standing {
    /// Its word in the page's markup; nothing for a present answer.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Present => None,
            Self::Earlier => Some("earlier"),
            Self::Nothing => Some("nothing"),
        }
    }
}

/// The answer to one scenario.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Whose the answer is, as far as the scenario decides it; [`Answers::standing_with`] knows of
    /// texts in the form as well.
    pub standing: Standing,
    /// The scenario that is answered: the last one that could be resolved; where there is none, the
    /// one that has the problem, whose figures below are the default's and must not be shown.
    pub scenario: Scenario,
    /// Its job.
    pub job: Job,
    /// GB or GiB.
    pub unit: MemoryUnit,
    /// How its amounts are written.
    pub scale: Scale,
    /// Its estimate.
    pub estimate: Estimate,
    /// How many accelerators it needs.
    pub count: GpuCount,
    asked: Asked,
    /// Problems of the present scenario: with any, the answer is an earlier one's.
    pub problems: Vec<FieldError>,
    /// Parts of the engine that the present scenario waits for, where it has no other problem.
    pub awaited: Vec<EnginePart>,
    /// The answers to the scenarios compared with.
    pub others: Vec<Other>,
}

/// Computed when somebody asks for it first, so that the page starts in small tasks.
#[derive(Clone, Debug, Default)]
struct Asked {
    timing: OnceLock<Timing>,
    lengths: OnceLock<Lengths>,
    fixes: OnceLock<Vec<Fix>>,
    inverse: OnceLock<Inverse>,
    serving: OnceLock<Option<Serving>>,
    users: OnceLock<Option<UsersAnswer>>,
    load: OnceLock<Option<UserLoad>>,
    growth: OnceLock<Vec<Growth>>,
    replayed_growth: OnceLock<(Limits, Vec<Growth>)>,
}

impl Answers {
    /// How long it takes and what it costs.
    pub fn timing(&self) -> &Timing {
        self.asked.timing.get_or_init(|| timing(&self.job, &self.estimate))
    }

    /// Its memory at all lengths.
    pub fn lengths(&self) -> &Lengths {
        self.asked.lengths.get_or_init(|| Lengths::of(&self.job))
    }

    /// Up to three changes that help.
    pub fn fixes(&self) -> &[Fix] {
        self.asked.fixes.get_or_init(|| fixes(&self.job, &self.estimate, &self.count))
    }

    /// The largest that still fits.
    pub fn inverse(&self) -> Inverse {
        *self.asked.inverse.get_or_init(|| inverse(self.lengths()))
    }

    /// The sizes that fit, found once for the estimate's limits and once for the allocator's: a
    /// move of the pointer asks again.
    pub fn growth(&self, replayed: Option<Limits>, find: impl Fn() -> Vec<Growth>) -> Vec<Growth> {
        let Some(limits) = replayed else { return self.asked.growth.get_or_init(find).clone() };
        let (known, found) = self.asked.replayed_growth.get_or_init(|| (limits, find()));
        if *known == limits { found.clone() } else { find() }
    }

    /// The other answers about serving; `None` when training.
    pub fn serving(&self) -> Option<&Serving> {
        self.asked.serving.get_or_init(|| serving(&self.job, &self.inverse())).as_ref()
    }

    /// True if the present scenario has no other problem than that a part of the engine which it
    /// needs is on its way.
    pub const fn waits(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// The parts of the engine that this answer, or that of a scenario compared with, waits for.
    pub fn awaited_parts(&self) -> Vec<EnginePart> {
        let others = self.others.iter().filter(|other| other.answer.is_none());
        let others = others.flat_map(|other| awaited(&other.scenario));
        self.awaited.iter().copied().chain(others).collect()
    }

    /// True if half of the memory stays free: no allocator's gaps are as large as all tensors, so
    /// none has to be asked.
    pub fn leaves_half_free(&self) -> bool {
        self.estimate.total().0.saturating_mul(2) <= self.estimate.capacity.0
    }

    /// This answer, once the reader has opened another scenario: if that one has a problem, this is
    /// no earlier answer of it.
    #[must_use]
    pub fn forgotten(self) -> Self {
        Self { standing: Standing::Nothing, ..self }
    }

    /// Whose the answer is for a reader; `unread`: a text in the form cannot be read.
    pub const fn standing_with(&self, unread: bool) -> Standing {
        match self.standing {
            Standing::Present if unread => Standing::Earlier,
            standing => standing,
        }
    }

    /// The stated users on the scenario's own GPUs and on the fewest; `None` when training and
    /// where none are stated.
    pub fn users(&self) -> Option<&UsersAnswer> {
        // Without users nothing else about serving is worked out for the headline.
        let stated = matches!(self.job.run(), Run::Serving(run) if run.users.is_some());
        let found = || users_answer(&self.job, self.serving()?.users.as_ref());
        self.asked.users.get_or_init(|| if stated { found() } else { None }).as_ref()
    }

    /// The load that times and price of serving are about: of the stated users, else of the stated
    /// requests on every replica.
    pub fn load(&self) -> Option<&UserLoad> {
        self.asked.load.get_or_init(|| shown_load(&self.job, self.users())).as_ref()
    }

    /// The first words of the answer.
    pub fn headline(&self) -> Headline {
        headline(&self.scenario, &self.estimate, self.users(), self.scale)
    }

    /// The answer to a scenario, and whether it differs from the last one. What does not depend on
    /// the change is taken over. Without a last one, a scenario that has a problem is answered with
    /// nothing.
    pub fn of(said: &UndoStep, last: Option<Self>) -> (Self, bool) {
        let scenario = &said.scenario;
        let unit = scenario.memory_unit();
        let (job, problems) = match job_of(scenario) {
            Ok(job) => (Some(job), Vec::new()),
            Err(problems) => (None, problems),
        };
        let awaited = if problems.is_empty() { Vec::new() } else { awaited(scenario) };
        let had_answer = last.as_ref().is_some_and(|last| last.standing != Standing::Nothing);
        let standing = match (&job, had_answer) {
            (Some(_), _) => Standing::Present,
            (None, true) => Standing::Earlier,
            (None, false) => Standing::Nothing,
        };
        let Some(last) = last else {
            let others = others(&said.compare, &[]);
            let fresh = Self::fresh(scenario.clone(), job.unwrap_or_else(default_job), unit);
            return (Self { standing, problems, awaited, others, ..fresh }, true);
        };
        let about = if standing == Standing::Earlier { &last.scenario } else { scenario };
        let same_job = job.as_ref().is_none_or(|job| *job == last.job);
        let same_others = last.others.iter().map(|other| &other.scenario).eq(&said.compare);
        let same_words = last.standing == standing
            && last.unit == unit
            && last.problems == problems
            && *about == last.scenario;
        if same_job && same_others && same_words {
            return (last, false);
        }
        let about = about.clone();
        let others = others(&said.compare, &last.others);
        let answer = match job {
            Some(job) if !same_job => Self::fresh(about, job, unit),
            _ if last.unit == unit => Self { scenario: about, ..last },
            _ => Self { scenario: about, ..last }.in_unit(unit),
        };
        (Self { standing, problems, awaited, others, ..answer }, true)
    }

    fn fresh(scenario: Scenario, job: Job, unit: MemoryUnit) -> Self {
        let estimate = estimate(&job);
        let count = gpu_count(&job, unit);
        let scale = Scale::of(unit, estimate.total(), estimate.capacity);
        let (asked, problems, awaited, others) =
            (Asked::default(), Vec::new(), Vec::new(), Vec::new());
        Self {
            standing: Standing::Present,
            scenario,
            job,
            unit,
            scale,
            estimate,
            count,
            asked,
            problems,
            awaited,
            others,
        }
    }

    /// This answer with its amounts in another unit; reasons carry amounts, too.
    fn in_unit(self, unit: MemoryUnit) -> Self {
        let count = gpu_count(&self.job, unit);
        let scale = Scale::of(unit, self.estimate.total(), self.estimate.capacity);
        Self { unit, scale, count, ..self }
    }
}

/// The answer to each of the scenarios, taken over where it is known.
fn others(scenarios: &[Scenario], known: &[Other]) -> Vec<Other> {
    let of = |scenario: &Scenario| {
        let same = known.iter().find(|other| other.scenario == *scenario);
        same.cloned().unwrap_or_else(|| Other::of(scenario))
    };
    scenarios.iter().map(of).collect()
}

/// A scenario compared with, as far as it can be resolved.
#[derive(Clone, Debug)]
pub struct Other {
    /// The scenario.
    pub scenario: Scenario,
    /// Its job and estimate; nothing where an input of it needs a look.
    pub answer: Option<(Job, Estimate)>,
}

impl Other {
    /// The answer to it.
    pub fn of(scenario: &Scenario) -> Self {
        let answer = job_of(scenario).ok().map(|job| {
            let estimate = estimate(&job);
            (job, estimate)
        });
        Self { scenario: scenario.clone(), answer }
    }

    /// Its job.
    pub fn job(&self) -> Option<&Job> {
        self.answer.as_ref().map(|(job, _)| job)
    }
}

/// The job of the default scenario. It always resolves (a test of the scenario holds it); the loop
/// only proves it to the compiler.
fn default_job() -> Job {
    Scenario::default().resolve().unwrap_or_else(|_| std::process::abort())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::codec::decode;
    use crate::view::curve_view::Lines;
    use crate::view::ui::FromWorkers;

    fn scenario(link: &str) -> UndoStep {
        let decoded = decode(link);
        UndoStep { scenario: decoded.scenario, compare: decoded.compare }
    }

    const LOOK: CurveLook =
        CurveLook { log: true, size: (412, 254), lines: Lines { division: false, best: false } };

    #[test]
    fn what_stays_the_same_is_said_to() {
        let first = scenario("v1&m=llama3-8b&n=8");
        let (answers, changed) = Answers::of(&first, None);
        assert!(changed);
        let (plots, _) = Plots::of(&answers, LOOK, &FromWorkers::default(), None);
        let (answers, changed) = Answers::of(&first, Some(answers));
        assert!(
            !changed && !Plots::of(&answers, LOOK, &FromWorkers::default(), Some(plots.clone())).1
        );
        let (answers, changed) = Answers::of(&scenario("v1&m=llama3-8b&n=16"), Some(answers));
        assert!(changed && answers.job.layout().world_size() == 16);
        assert!(Plots::of(&answers, LOOK, &FromWorkers::default(), Some(plots)).1);
    }

    #[test]
    fn another_unit_changes_the_words_and_no_byte() {
        let (gib, _) = Answers::of(&scenario("v1&m=llama3-8b&n=8"), None);
        let (gb, changed) = Answers::of(&scenario("v1&m=llama3-8b&n=8&u=gb"), Some(gib.clone()));
        assert!(changed);
        assert_eq!(gb.estimate, gib.estimate);
        assert_eq!((gb.unit, gb.scale.unit), (MemoryUnit::Gb, MemoryUnit::Gb));
        assert_eq!(gb.count, gpu_count(&gb.job, MemoryUnit::Gb));
    }

    #[test]
    fn a_problem_keeps_the_last_answer() {
        let (good, _) = Answers::of(&scenario("v1&m=llama3-8b&n=8"), None);
        let (bad, changed) = Answers::of(&scenario("v1&m=llama3-8b&n=8&tp=3"), Some(good.clone()));
        assert!(changed && !bad.problems.is_empty());
        assert_eq!((&bad.scenario, &bad.estimate), (&good.scenario, &good.estimate));
        assert_eq!((good.standing, bad.standing), (Standing::Present, Standing::Earlier));
        let (mended, changed) = Answers::of(&scenario("v1&m=llama3-8b&n=8"), Some(bad));
        assert!(changed && mended.standing == Standing::Present);
    }

    #[test]
    fn a_problem_without_an_earlier_answer_has_none() {
        let impossible = scenario("v1&m=llama3-70b&n=8&tp=3");
        let (none, _) = Answers::of(&impossible, None);
        assert_eq!((none.standing, &none.scenario), (Standing::Nothing, &impossible.scenario));
        // Another problem does not make the default's answer an earlier one; the first valid
        // scenario is answered, even the default.
        let (still, changed) =
            Answers::of(&scenario("v1&m=llama3-70b&n=8&tp=5"), Some(none.clone()));
        assert!(changed && still.standing == Standing::Nothing);
        let (answered, changed) = Answers::of(&scenario("v1"), Some(none));
        assert!(
            changed
                && answered.standing == Standing::Present
                && answered.scenario == Scenario::default()
        );
        assert!(!Answers::of(&scenario("v1"), Some(answered.clone())).1);
        // A link that is opened later is another scenario: what was shown before is no earlier
        // answer of it.
        let (opened, _) = Answers::of(&impossible, Some(answered.forgotten()));
        assert_eq!((opened.standing, &opened.scenario), (Standing::Nothing, &impossible.scenario));
    }

    #[test]
    fn a_taken_over_answer_equals_a_fresh_one() {
        let steps = [
            "v1&m=llama3-8b&n=8",
            "v1&m=llama3-8b&n=8&u=gb",
            "v1&m=llama3-8b&n=8&s=4096&u=gb",
            "v1&do=serve&m=llama3-8b",
        ];
        let mut last = None;
        for link in steps {
            let (step, _) = Answers::of(&scenario(link), last.take());
            let (fresh, _) = Answers::of(&scenario(link), None);
            assert_eq!(
                (&step.job, &step.estimate, &step.count),
                (&fresh.job, &fresh.estimate, &fresh.count),
                "{link}"
            );
            assert_eq!(
                (step.fixes(), step.inverse(), step.scale),
                (fresh.fixes(), fresh.inverse(), fresh.scale),
                "{link}"
            );
            assert_eq!(step.timing(), fresh.timing(), "{link}");
            last = Some(step);
        }
    }
}
