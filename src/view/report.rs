//! One scenario's answer as text or JSON: for the command line, and for whoever reads the page's
//! figures with a program.

use serde_json::{Value, json as object};

use super::device::Device;
use super::headline::{Headline, Margin, headline};
use super::replay::Limits;
use super::serving::{self, Counts};
use super::timing::{self, Fact};
use super::words::{
    Scale, about, accelerator_name, model_name, per_cent, percent, remarks, scientific, whole,
};
use crate::config::Job;
use crate::estimator::time::{self, Bound, Messages, TimeLine, Timing};
use crate::estimator::{
    Compute, DeviceMemory, Estimate, Headroom, Lengths, LineItem, MemoryKind, NotReplayed, Printed,
    Verdict, estimate,
};
use crate::hardware::allocator::Gap;
use crate::planner::{
    self, GpuCount, Serving, UserLoad, UsersAnswer, gpu_count, inverse, replayed,
};
use crate::scenario::{Remark, Scenario, Word, codec};
use crate::units::{Bytes, MemoryUnit};

/// One row of the ledger as it is written.
pub struct Row {
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
    pub device: Option<Result<Device, NotReplayed>>,
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
        let device = Some(Device::of(job, &self.estimate, self.unit));
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
        out.extend(self.device.iter().flatten().filter_map(Device::warning));
        out.extend(self.remarks.iter().map(|remark| remark.text.clone()));
        out.extend(self.blockers());
        out.push(String::new());
        out.extend(self.ledger().into_iter().map(|Row { is_sum, label, amount, share }| {
            let indent = if is_sum { "" } else { "  " };
            format!("{:<34} {amount:>10} {}  {share:>7}", format!("{indent}{label}"), self.unit)
        }));
        out.push(String::new());
        out.extend(self.on_device());
        out.push(self.peak());
        out.push(self.counts());
        out.extend(self.largest());
        out.extend(self.time());
        out.join("\n")
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
    pub fn terms(&self) -> Vec<timing::Term> {
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
        let row = |term: &timing::Term| {
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
    pub fn ledger(&self) -> Vec<Row> {
        let ledger = &self.estimate.ledger;
        let printed = Printed::of(&self.estimate, self.unit);
        let row = |is_sum, label: &str, amount: u64, share: Bytes| Row {
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

/// Seconds, and money in the price's currency; null where a figure of the accelerator is missing.
fn time_of(report: &Report) -> Value {
    match &report.timing {
        Timing::Unknown(_) => Value::Null,
        Timing::Serving(time) => object!({
            "prefill_chunk_messages": messages_of(&time.messages[0]), "decode_messages": messages_of(&time.messages[1]),
            "prefill_chunk_seconds": time.prefill_chunk.0, "decode_seconds": time.decode.0,
            "first_token_seconds": time.first_token.0, "prompt_tokens": time.prompt,
            "tokens_per_second": time.tokens_per_second, "cost_per_million_tokens": time.price_per_million,
            "compute_bound": time.bound == Bound::Compute, "compute_bound_from": time.turns_at,
            "kwh_per_million_tokens": time.kwh_per_million,
        }),
        Timing::Training { step, cost } => {
            let line = |line: &TimeLine| {
                object!({
                    "label": line.label, "seconds": line.seconds.0, "certainty": line.certainty.word(), "source": line.source.key,
                })
            };
            object!({
                "step_seconds": step.seconds.0, "ledger": step.lines.iter().map(line).collect::<Vec<_>>(),
                "mfu": step.mfu, "hfu": step.hfu, "tokens_per_second": step.tokens_per_second,
                "useful_tokens_per_second": step.useful_tokens_per_second, "flops_per_second": step.flops_per_second, "seconds": cost.seconds.0, "gpu_hours": cost.gpu_hours,
                "cost": cost.price, "energy_kwh": cost.energy_kwh, "co2_kg": cost.co2_kg,
            })
        }
    }
}

/// Seconds of messages by what they are.
fn messages_of(messages: &Messages) -> Value {
    object!({ "sums": messages.sums.0, "experts": messages.experts.0, "stages": messages.stages.0 })
}

/// Room for the cache and what the planner found; null when training.
fn serving_of(report: &Report) -> Value {
    let (Some(room), Some(found)) = (&report.estimate.cache_room, &report.serving) else {
        return Value::Null;
    };
    let users = found.users.zip(report.users).map(|(fleet, users)| {
        let instances = fleet.runnable.map(|found| {
            object!({ "gpus": found.gpus, "instances": found.count, "gpus_each": found.layout.world_size(), "users_each": found.users_each })
        });
        object!({
            "users": fleet.users, "arithmetic": fleet.arithmetic, "runnable": instances, "carried": users.own.carries(),
            "own": load_of(&users.own), "fewest": users.fewest.as_ref().map(load_of),
        })
    });
    object!({
        "cache_bytes": room.bytes.0, "block_size": room.block_size, "blocks": room.blocks, "tokens": room.tokens(),
        "max_concurrency": room.concurrency, "longest_context": found.longest.map(|found| found.value),
        "running_at_once": report.estimate.at_once, "sequences_at_once": found.at_once.map(|found| found.value), "of_lengths": found.of_lengths.map(|found| found.value),
        "users": users, "load": report.load.as_ref().map(load_of), "most_bits": found.quantization.map(Word::word),
    })
}

/// Memory as the GPU shows it, in bytes; where that is not known, the reason; null where nobody
/// asked.
fn device_of(report: &Report) -> Value {
    let of = |memory: DeviceMemory| {
        let Gap { requested, rounding, unsplit, between, cached } = memory.gap;
        object!({
            "allocated": memory.allocated.0, "reserved": memory.reserved.0, "in_use": memory.in_use.0, "fits": memory.fits,
            "retries": memory.retries,
            "at_the_peak": { "requested": requested, "rounding": rounding, "ends_of_blocks": unsplit, "between": between, "cached": cached },
        })
    };
    match &report.device {
        Some(Ok(device)) => object!({
            "memory": of(device.memory), "expandable_segments": device.expandable.map(of),
            "longest_sequence": report.limits.and_then(|limits| limits.longest_seq),
            "largest_micro_batch": report.limits.and_then(|limits| limits.largest_batch),
        }),
        Some(Err(reason)) => object!({ "unknown": reason.to_string() }),
        None => Value::Null,
    }
}

/// Both counts, those that carry the users where some are stated; `replica` is the smallest that
/// runs one replica then.
fn gpus_of(report: &Report) -> Value {
    let (count, reason) = (&report.count, &report.counts.reason);
    let flat = count.runnable.as_ref().map(|run| run.gpus);
    let runs = report.limits.map_or(flat, |limits| limits.gpus);
    match &report.users {
        Some(users) => object!({
            "arithmetic": users.arithmetic, "runnable": users.fewest.map(|fewest| fewest.gpus), "reason": reason, "replica": runs,
        }),
        None => object!({ "arithmetic": count.arithmetic, "runnable": runs, "reason": reason }),
    }
}

/// Replicas under a load, with seconds, tokens per second, and money in the price's currency.
fn load_of(load: &UserLoad) -> Value {
    let pace = load.pace.map(|pace| {
        object!({
            "first_token_seconds": pace.first_token.0, "prompt_tokens": pace.prompt, "cached_tokens": pace.cached,
            "decode_seconds": pace.decode.0, "tokens_per_second_per_user": pace.per_user, "tokens_per_second": pace.in_all,
            "cost_per_million_tokens": pace.price_per_million,
        })
    });
    object!({
        "users": load.users, "gpus": load.gpus, "replicas": load.replicas, "tensor_parallel": load.layout.t(),
        "pipeline_parallel": load.layout.p(), "requests_each": load.each, "room_each": load.room, "time": pace,
    })
}

const fn verdict_key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "fits",
        Verdict::Tight => "tight",
        Verdict::DoesNotFit => "does_not_fit",
        Verdict::CannotRun => "cannot_run",
    }
}

/// A report as JSON, memory in bytes.
pub fn json(report: &Report, scenario: &Scenario, notices: &[String]) -> String {
    let estimate = &report.estimate;
    let (free, short) = match estimate.headroom() {
        Headroom::Free(bytes) => (bytes.0, 0),
        Headroom::Short(bytes) => (0, bytes.0),
    };
    let lines: Vec<Value> = estimate
        .ledger
        .lines
        .iter()
        .map(|line| {
            object!({
                "kind": line.kind.name(), "label": line.label, "bytes": line.bytes.0,
                "certainty": line.certainty.word(), "source": line.source.key,
            })
        })
        .collect();
    let compute = estimate.compute.map(|compute| {
        object!({
            "flops_per_step": compute.model_flops_per_step().0, "flops": compute.total.0, "six_pd": compute.six_pd.0,
            "tokens_per_step": compute.tokens_per_step, "steps": compute.steps, "hfu_over_mfu": compute.hfu_over_mfu,
            "pflop_days": compute.total.pflop_days(), "chinchilla_tokens": compute.chinchilla_tokens,
        })
    });
    let remark = |remark: &Remark| object!({ "kind": remark.kind.word(), "text": remark.text });
    let answer = object!({
        "about": about(scenario), "model": model_name(scenario), "accelerator": accelerator_name(scenario),
        "remarks": report.remarks.iter().map(remark).collect::<Vec<_>>(), "link": codec::encode(scenario), "verdict": verdict_key(report.verdict()),
        "total_bytes": estimate.total().0, "capacity_bytes": estimate.capacity.0, "free_bytes": free, "short_bytes": short,
        "peak_moment": estimate.peak_moment, "parameters": estimate.parameters.total, "ledger": lines,
        "device": device_of(report),
        "blockers": estimate.blockers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "gpus": gpus_of(report),
        "compute": compute, "time": time_of(report), "serving": serving_of(report), "notices": notices,
    });
    format!("{answer:#}")
}
