//! One scenario's answer as text or JSON: for the command line, and for whoever reads the page's
//! figures with a program.

mod json;
use super::device::DeviceView;
use super::headline::{Headline, Margin, headline};
use super::replay::Limits;
use super::serving::{self, Counts};
use super::timing::{self, Fact};
use super::words::{Scale, per_cent, percent, remarks, scientific, whole};
use crate::config::Job;
use crate::estimator::time::Timing;
use crate::estimator::{
    Compute, Estimate, Lengths, LineItem, MemoryKind, NotReplayed, Printed, Verdict, estimate, time,
};
use crate::planner::{
    self, GpuCount, Serving, UserLoad, UsersAnswer, gpu_count, inverse, replayed,
};
use crate::scenario::{Remark, Scenario};
use crate::units::{Bytes, MemoryUnit};
pub use json::json;

/// One row of the ledger as it is written.
pub struct LedgerRow {
    /// True if it is the sum of a kind (or of all), or one of its lines.
    pub is_sum: bool,
    /// The name of the kind or line.
    pub label: String,
    /// The amount in the report's unit.
    pub amount: String,
    /// Its share of all.
    pub share: String,
}

/// Everything a report says.
pub struct Report {
    /// The estimate.
    pub estimate: Estimate,
    /// The first words, for the users too where some are stated.
    said: Headline,
    /// Both GPU counts, of one replica when serving.
    pub count: GpuCount,
    /// Parts of the pasted file that the answer leaves out.
    pub remarks: Vec<Remark>,
    /// GB or GiB.
    pub unit: MemoryUnit,
    /// Memory as the GPU shows it, or why that is not known; nothing where nobody asked for it
    /// ([`Report::with_device`]).
    pub device: Option<Result<DeviceView, NotReplayed>>,
    timing: Timing,
    /// Figures that follow from the times, and figures about serving.
    pub facts: Vec<Fact>,
    serving: Option<Serving>,
    users: Option<UsersAnswer>,
    load: Option<UserLoad>,
    counts: Counts,
    /// The allocator's answers, where they were asked for and are known.
    limits: Option<Limits>,
    caveat: Option<String>,
    stated: Option<String>,
    unknown: Option<String>,
}

impl Report {
    /// The report of a scenario and its job, in the given unit or the scenario's own.
    pub fn of(scenario: &Scenario, job: &Job, unit: Option<MemoryUnit>) -> Self {
        let unit = unit.unwrap_or_else(|| scenario.memory_unit());
        let estimate = estimate(job);
        let scale = Scale::of(unit, estimate.total(), estimate.capacity);
        let timing = time::timing(job, &estimate);
        let timed = !matches!(timing, Timing::Unknown(_));
        let known = job.training().is_none().then(|| inverse(&Lengths::of(job)));
        let serving = known.and_then(|known| planner::serving(job, &known));
        let users =
            planner::users_answer(job, serving.as_ref().and_then(|found| found.users.as_ref()));
        let load = planner::shown_load(job, users.as_ref());
        let count = gpu_count(job, unit);
        let said = headline(scenario, &estimate, users.as_ref(), scale);
        let counts = Counts::of(job, &count, users.as_ref());
        let mut facts = load
            .iter()
            .flat_map(|load| load_facts(scenario, job, load, users.as_ref()))
            .collect::<Vec<_>>();
        facts.extend(serving::cache(job, &estimate, unit));
        facts.extend(serving.iter().flat_map(|found| serving::answers(job, found)));
        facts.extend(known.iter().flat_map(|known| serving::more(job, known)));
        facts.extend(timing::facts(job, &timing));
        Self {
            facts,
            counts,
            serving,
            users,
            load,
            said,
            limits: None,
            caveat: timing::caveat(estimate.verdict()).filter(|_| timed).map(ToOwned::to_owned),
            stated: timing::stated(job, &estimate),
            unknown: timing::unknown(scenario, &timing),
            timing,
            remarks: remarks(scenario),
            device: None,
            count,
            estimate,
            unit,
        }
    }

    /// With memory as the GPU shows it, for which every tensor of three steps is replayed. Where
    /// the allocator contradicts the first words or the smallest count, it is right.
    #[must_use]
    pub fn with_device(self, scenario: &Scenario, job: &Job) -> Self {
        let device = Some(DeviceView::of(job, &self.estimate, self.unit));
        let Some(limits) = replayed(job).ok().map(|found| Limits::of(&found)) else {
            return Self { device, ..self };
        };
        let said = limits.headline(self.said, scenario, &self.estimate, self.unit);
        let counts = limits.counts(&self.count, self.counts);
        Self { device, said, counts, limits: Some(limits), ..self }
    }

    /// Verdict and sentence.
    pub fn headline(&self) -> String {
        format!("{} {}", self.said.word, self.said.sentence)
    }

    /// The memory or the users that are left or missing.
    pub fn margin(&self) -> String {
        let Margin { number, unit, caption, .. } = &self.said.margin;
        format!("{number} {unit} {caption}.")
    }

    /// True if it runs, for the users too where some are stated.
    pub const fn verdict(&self) -> Verdict {
        self.said.verdict
    }

    /// The largest that runs in PyTorch's allocator, in a sentence; nothing where nobody asked or
    /// the order of allocations is not known.
    fn largest(&self) -> Option<String> {
        let Limits { longest_seq, largest_batch, .. } = self.limits?;
        let longest = longest_seq.map(|tokens| format!("sequences of {} tokens", whole(tokens)));
        let batch = largest_batch.map(|batch| format!("a micro-batch of {}", whole(batch)));
        let all: Vec<String> = longest.into_iter().chain(batch).collect();
        (!all.is_empty()).then(|| {
            format!("With everything else as it is, this still runs: {}.", all.join(", or "))
        })
    }

    /// Plain text: verdict, ledger, counts, time.
    pub fn text(&self, notices: &[String]) -> String {
        let mut out: Vec<String> = notices.iter().map(|notice| format!("note: {notice}")).collect();
        out.push(self.headline());
        out.push(self.margin());
        out.extend(self.device.iter().flatten().filter_map(DeviceView::warning));
        out.extend(self.remarks.iter().map(|remark| remark.text.clone()));
        out.extend(self.blockers());
        out.push(String::new());
        out.extend(self.ledger().into_iter().map(|LedgerRow { is_sum, label, amount, share }| {
            let indent = if is_sum { "" } else { "  " };
            format!("{:<34} {amount:>10} {}  {share:>7}", format!("{indent}{label}"), self.unit)
        }));
        out.extend(self.on_host());
        out.push(String::new());
        out.extend(self.on_device());
        out.push(self.peak());
        out.push(self.counts());
        out.extend(self.largest());
        out.extend(self.time());
        out.join("\n")
    }

    /// The lines of what lies in the host's memory, with their sum.
    fn on_host(&self) -> Vec<String> {
        let host = &self.estimate.host;
        if host.lines.is_empty() {
            return Vec::new();
        }
        let printed = Printed::in_scale(host, Printed::of(&self.estimate, self.unit).scale);
        let row = |label: &str, amount: u64| {
            format!("{label:<34} {:>10} {}", printed.scale.number(amount), self.unit)
        };
        let mut out = vec![String::new(), row("In host memory, not on the GPU", printed.total)];
        out.extend(
            host.lines
                .iter()
                .zip(&printed.lines)
                .map(|(line, amount)| row(&format!("  {}", line.label), *amount)),
        );
        out
    }

    /// The lines of what the GPU shows, or why they are not known.
    pub fn on_device(&self) -> Vec<String> {
        let device = match &self.device {
            Some(Ok(device)) => device,
            Some(Err(reason)) => return vec![reason.to_string(), String::new()],
            None => return Vec::new(),
        };
        let unit = device.scale.unit;
        let shown = device
            .shown()
            .map(|line| format!("{:<34} {:>10} {unit}  {}", line.label, line.amount, line.seen));
        let parts = device
            .parts()
            .into_iter()
            .map(|part| format!("  {:<32} {:>10} {unit}  {}", part.label, part.amount, part.why));
        let [allocated, reserved, in_use] = shown;
        let sentences = [Some(device.sentence()), device.growing_segments()].into_iter().flatten();
        [allocated, reserved]
            .into_iter()
            .chain(parts)
            .chain([in_use])
            .chain(sentences)
            .chain([String::new()])
            .collect()
    }

    /// True if it fits and can run, in PyTorch's allocator as well where that was asked.
    pub fn runs(&self) -> bool {
        matches!(self.verdict(), Verdict::Fits | Verdict::Tight)
    }

    /// The rules that forbid the layout, a sentence each.
    pub fn blockers(&self) -> impl Iterator<Item = String> {
        self.estimate.blockers.iter().map(|blocker| format!("It cannot run like this: {blocker}."))
    }

    /// When memory is fullest.
    pub fn peak(&self) -> String {
        format!("Peak {}.", self.estimate.peak_moment)
    }

    /// Both GPU counts and the reason; where users are stated, of the GPUs that carry them.
    pub fn counts(&self) -> String {
        let Counts { by_memory, arithmetic, introduced, smallest, reason } = &self.counts;
        format!("{by_memory}{arithmetic}; {introduced}: {smallest}. {reason}")
    }

    /// Compute in a sentence; nothing when serving.
    pub fn compute(&self) -> Option<String> {
        self.estimate.compute.as_ref().map(flops)
    }

    /// The terms of a training step; none when serving or where a figure is missing.
    pub fn terms(&self) -> Vec<timing::ShownTerm> {
        match &self.timing {
            Timing::Training { step, .. } => timing::terms(step).0,
            _ => Vec::new(),
        }
    }

    /// Sentences about the times: limits, the stated utilisation, missing figures.
    pub fn caveats(&self) -> impl Iterator<Item = &String> {
        [&self.caveat, &self.stated, &self.unknown].into_iter().flatten()
    }

    /// Compute, the step's terms, and what follows from them.
    fn time(&self) -> Vec<String> {
        let mut out: Vec<String> = self.compute().into_iter().collect();
        out.push(String::new());
        let row = |term: &timing::ShownTerm| {
            format!("{:<42} {:>12}  {:>7}", term.label, term.time, per_cent(term.share))
        };
        out.extend(self.terms().iter().map(row));
        out.extend(self.facts.iter().map(|(name, value, note)| {
            let note = if note.is_empty() { String::new() } else { format!("  {note}") };
            format!("{name:<42} {value:>12}{note}")
        }));
        out.extend(self.caveats().cloned());
        out
    }

    /// The ledger; the rows of every kind add up to its sum, the sums to the total, as written.
    pub fn ledger(&self) -> Vec<LedgerRow> {
        let ledger = &self.estimate.ledger;
        let printed = Printed::of(&self.estimate, self.unit);
        let row = |is_sum, label: &str, amount: u64, share: Bytes| LedgerRow {
            is_sum,
            label: label.to_owned(),
            amount: printed.scale.number(amount),
            share: percent(share, ledger.total()),
        };
        let lines: Vec<(&LineItem, u64)> =
            ledger.lines.iter().zip(printed.lines.iter().copied()).collect();
        let mut out = Vec::new();
        for kind in MemoryKind::ALL {
            let of_kind: Vec<_> = lines.iter().filter(|(line, _)| line.kind == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            out.push(row(true, kind.name(), printed.kind(kind), ledger.of(kind)));
            if of_kind.len() > 1 || of_kind.iter().any(|(line, _)| line.label != kind.name()) {
                out.extend(
                    of_kind
                        .iter()
                        .map(|(line, amount)| row(false, line.label, *amount, line.bytes)),
                );
            }
        }
        out.push(row(true, "Total", printed.total, ledger.total()));
        out
    }
}

/// How fast and how dear serving is at its load, and what that takes for granted.
fn load_facts(
    scenario: &Scenario,
    job: &Job,
    load: &UserLoad,
    users: Option<&UsersAnswer>,
) -> Vec<Fact> {
    let Some(figures) = serving::load_figures(job, load) else { return Vec::new() };
    let assumed = serving::load_assumed(scenario, job, load, users);
    let mut facts: Vec<Fact> =
        figures.into_iter().map(|figure| (figure.label, figure.value, figure.note)).collect();
    facts.push(("Assumed of this load", String::new(), assumed));
    facts
}

fn flops(compute: &Compute) -> String {
    format!(
        "{} FLOP in {} steps of {} tokens (6PD: {}).",
        scientific(compute.total.0),
        whole(compute.steps),
        whole(compute.tokens_per_step),
        scientific(compute.six_pd.0)
    )
}
