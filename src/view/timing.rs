//! Time, cost and energy in words: what the panel, the command line and the comparison say. No
//! browser in here.

use super::explaining;
use super::markup::{Html, html};
use super::ui::Opened;
use super::words::{accelerator_name, billions, duration, gpus, per_cent, scientific, whole};
use crate::config::{Job, Run, ServingRun, Texts, TrainingRun};
use crate::estimator::time::{Bound, Cost, IDLE_SHARE, ServingTime, Step, Timing, Unknown};
use crate::estimator::{Certainty, Compute, Estimate, Verdict};
use crate::planner::packing;
use crate::scenario::Scenario;
use crate::sources::Source;
use crate::units::{Seconds, TimeScale, ceil_u64, grouped, to_f64};

/// One term of a step as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownTerm {
    /// The work that takes the time.
    pub label: &'static str,
    /// The formula of the time.
    pub formula: &'static str,
    /// Its time with its unit.
    pub time: String,
    /// Its part of the step, 0 to 1.
    pub share: f64,
    /// How sure it is.
    pub certainty: Certainty,
    /// Where the rule comes from.
    pub source: Source,
}

/// The terms of a step, and all of it: what is printed for the terms adds up to what is printed for
/// the step.
pub fn terms(step: &Step) -> (Vec<ShownTerm>, String) {
    let scale = TimeScale::of(step.seconds);
    let seconds: Vec<Seconds> = step.lines.iter().map(|line| line.seconds).collect();
    let (rounded, total) = scale.parts(&seconds);
    let term = |(line, rounded): (&crate::estimator::time::TimeLine, u64)| ShownTerm {
        label: line.label,
        formula: line.formula,
        time: scale.show(rounded),
        share: line.seconds.0 / step.seconds.0,
        certainty: line.certainty,
        source: line.source,
    };
    (step.lines.iter().zip(rounded).map(term).collect(), scale.show(total))
}

/// One figure of the answer's card, with the path of its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFigure {
    /// Path of its explanation.
    pub path: &'static str,
    /// Its name.
    pub label: &'static str,
    /// Its value.
    pub value: String,
    /// A few words more; may be empty.
    pub note: String,
}

impl CardFigure {
    /// Its name where it is heard alone: a training's figures stand further down once more.
    pub fn named(&self) -> String {
        if self.path.starts_with("card/") {
            format!("{}, in the answer", self.label)
        } else {
            self.label.to_owned()
        }
    }
}

/// A step, the run and its cost: what the card of a training says besides memory. Nothing when
/// serving, where a figure of the accelerator is missing, and for a layout that no rule allows.
pub fn card(job: &Job, estimate: &Estimate, timing: &Timing) -> Option<[CardFigure; 3]> {
    let Timing::Training { step, cost } = timing else { return None };
    if !estimate.blockers.is_empty() {
        return None;
    }
    let tokens = billions(ceil_u64(job.training()?.training_tokens));
    let per_hour = money(job.cluster().accelerator.price_per_hour);
    let figure = |path, label, value, note| CardFigure { path, label, value, note };
    Some([
        figure(
            "card/One step",
            "One step",
            terms(step).1,
            format!(
                "{} tokens/s, MFU\u{a0}{}",
                amount(step.tokens_per_second),
                tenths(step.mfu).replace(' ', "\u{a0}")
            ),
        ),
        figure("card/The run", "The run", duration(cost.seconds.0), format!("{tokens} tokens")),
        figure(
            "card/Cost of the run",
            "Cost of the run",
            money_short(cost.price),
            format!("at {per_hour} per GPU-hour"),
        ),
    ])
}

/// Figures of the card in one sentence, as they are heard.
pub fn spoken(figures: &[CardFigure]) -> String {
    let said: Vec<String> =
        figures.iter().map(|figure| format!("{} {}", figure.label, figure.value)).collect();
    said.join(", ")
}

/// An amount of money. Prices are in US dollars, as providers list them; whoever enters another
/// currency reads the sign as theirs.
pub fn money(value: f64) -> String {
    format!("${}", amount(value))
}

/// An amount of money in three digits: `$77 k`.
pub fn money_short(value: f64) -> String {
    let (value, suffix) = match value {
        value if value >= 1e12 => return money(value),
        value if value >= 1e9 => (value / 1e9, "\u{202f}B"),
        value if value >= 1e6 => (value / 1e6, "\u{202f}M"),
        value if value >= 1e4 => (value / 1e3, "\u{202f}k"),
        value => return money(value),
    };
    format!(
        "${}{suffix}",
        grouped(value, if value < 9.995 { 2 } else { usize::from(value < 99.95) })
    )
}

/// A name, a value, and what there is to know about it; may be empty.
pub type Fact = (&'static str, String, String);

/// A figure as a line of a list, with its explanation.
pub fn line(opened: &Opened, name: &str, value: &str, note: &str) -> Html {
    let path = explaining::figure(name);
    html! {
        div {
            dt {
                (explaining::behind(name, opened, &path, name))
                @if !note.is_empty() { span class="ledger__note" { (note) } }
            }
            dd class="number" { (value) }
            (explaining::under(opened, &path))
        }
    }
}

/// The figures that follow from a timing, one a line.
pub fn facts(job: &Job, timing: &Timing) -> Vec<Fact> {
    match timing {
        Timing::Training { step, cost } => of_training(job, step, cost),
        Timing::Serving(time) => of_serving(job, time),
        Timing::Unknown(_) => Vec::new(),
    }
}

fn of_training(job: &Job, step: &Step, cost: &Cost) -> Vec<Fact> {
    let cluster = job.cluster();
    let per_hour = money(cluster.accelerator.price_per_hour);
    let plain = |name, value| (name, value, String::new());
    let mut facts = vec![
        plain("One step", terms(step).1),
        plain("Utilisation: model (MFU)", tenths(step.mfu)),
        plain("with recomputation (HFU)", tenths(step.hfu)),
        plain("Model FLOP/s of one GPU", rate(step.flops_per_second)),
        plain("Tokens per second, all GPUs", amount(step.tokens_per_second)),
    ];
    if let Some((run, texts)) = job.training().and_then(|run| Some((run, run.texts?))) {
        facts.extend(of_texts(job, step, (run, texts)));
    }
    facts.extend([
        (
            "The run",
            duration(cost.seconds.0),
            format!("{} steps, without interruptions", whole(ceil_u64(cost.steps))),
        ),
        plain("GPU-hours", amount(cost.gpu_hours)),
        ("Cost of the run", money(cost.price), format!("at {per_hour} per GPU-hour")),
    ]);
    facts.extend(cost.energy_kwh.zip(cluster.speed.tdp_watts).map(|(energy, watts)| {
        let (watts, idle) = (grouped(watts, 0), per_cent(IDLE_SHARE));
        (
            "Energy of the GPUs",
            energy_text(energy),
            format!("{watts} W while computing, {idle} of it while waiting: an assumption"),
        )
    }));
    facts.extend(cost.co2_kg.map(|mass| {
        let grid = grouped(cluster.grid_grams_per_kwh, 0);
        ("CO₂", mass_text(mass), format!("at {grid} g for each kWh; no hosts, network or cooling"))
    }));
    facts
}

/// The figures that change where texts are shorter than the sequence.
fn of_texts(job: &Job, step: &Step, (run, texts): (&TrainingRun, Texts)) -> Vec<Fact> {
    let (mean, useful) = (whole(texts.mean), step.useful_tokens_per_second);
    let pace = |note| ("Useful tokens per second", amount(useful), note);
    if texts.packed {
        let note = format!(
            "texts of {mean} tokens packed without gaps, each sees itself alone: assumed; unequal \
             lengths make attention dearer"
        );
        return vec![pace(note)];
    }
    let padding = 1.0 - to_f64(run.useful_tokens()) / to_f64(run.seq_length);
    let mut facts = vec![
        pace(format!("texts of {mean} tokens padded to {}: assumed", whole(run.seq_length))),
        (
            "Share of padding",
            per_cent(padding),
            "of all tokens: they take memory and time as others do".to_owned(),
        ),
    ];
    facts.extend(packing(job, useful).map(|times| {
        (PACKED, format!("{} ×", grouped(times, 1)), "as many useful tokens".to_owned())
    }));
    facts
}

/// The name of the figure that tells how much packing would bring.
pub const PACKED: &str = "Packed instead";

fn of_serving(job: &Job, time: &ServingTime) -> Vec<Fact> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let per_hour = money(job.cluster().accelerator.price_per_hour);
    let ranks = job.layout().t().saturating_mul(job.layout().p());
    let chunk = whole(run.prefill_chunk_size.min(run.context_length));
    let bound = match time.bound {
        Bound::Memory => "bound by memory bandwidth",
        Bound::Compute => "bound by compute",
    };
    let at_once = sequences(run.concurrent_sequences);
    let mut facts = vec![
        ("Prefill of one chunk", short(time.prefill_chunk), format!("{chunk} tokens")),
        (
            "Time to first token (TTFT)",
            short(time.first_token),
            format!("a prompt of {} tokens that does not wait", whole(time.prompt)),
        ),
        (
            "Time per output token (TPOT)",
            short(time.decode),
            format!("{at_once} at once, each with a full context: {bound}"),
        ),
    ];
    facts.extend(messages(time));
    facts.extend(speculation(run, time));
    facts.extend([
        ("Tokens per second of one request", amount(1.0 / time.decode.0), String::new()),
        ("Tokens per second of one instance", amount(time.tokens_per_second), gpus(ranks)),
    ]);
    facts.extend(time.turns_at.map(|turns| {
        (
            "Batch size where decoding becomes compute-bound",
            whole(turns),
            "the KV cache left out".to_owned(),
        )
    }));
    facts.push((
        "Cost of a million tokens",
        money(time.price_per_million),
        format!("at {per_hour} per GPU-hour"),
    ));
    facts.extend(time.kwh_per_million.map(|energy| {
        (
            "Energy of a million tokens",
            format!("{} kWh", amount(energy)),
            "GPUs at full board power: an assumption".to_owned(),
        )
    }));
    facts
}

/// A step that checks drafted tokens: what it gives and takes.
fn speculation(run: &ServingRun, time: &ServingTime) -> Vec<Fact> {
    let (Some(draft), Some(step)) = (&run.draft, &time.speculation) else { return Vec::new() };
    let percent = grouped(100.0 * draft.acceptance, 0);
    let drafted = whole(draft.tokens);
    let (assumed, _) = draft.method.assumed_acceptance();
    let note = if (draft.acceptance - assumed).abs() < 1e-9 { ": an assumption" } else { "" };
    vec![
        (
            "Tokens of a step with drafts",
            grouped(step.tokens, 2),
            format!("{drafted} drafted for each request, {percent} % of them accepted{note}"),
        ),
        ("Step with drafts", short(step.step), "drafting, and checking all drafts".to_owned()),
        (
            "Drafting in a step",
            short(step.drafts),
            format!("{drafted} passes of the draft, one after the other"),
        ),
    ]
}

/// A time by itself.
pub fn short(seconds: Seconds) -> String {
    let scale = TimeScale::of(seconds);
    scale.show(scale.parts(&[seconds]).1)
}

/// The parts of these times that messages take.
fn messages(time: &ServingTime) -> Vec<Fact> {
    let [piece, further] = time.messages;
    let lines = [
        ("Messages: sums over tensor ranks", piece.sums, further.sums, ""),
        (
            "Messages: tokens to experts and back",
            piece.experts,
            further.experts,
            ", if all experts are asked as often: assumed",
        ),
        ("Messages: between stages", piece.stages, further.stages, ""),
    ];
    let sent = lines.into_iter().filter(|(_, _, further, _)| further.0 > 0.0);
    sent.map(|(name, piece, further, more)| {
        (
            name,
            short(further),
            format!("of one further token, {} of one piece of a prompt{more}", short(piece)),
        )
    })
    .collect()
}

fn sequences(count: u64) -> String {
    if count == 1 { "1 sequence".to_owned() } else { format!("{} sequences", whole(count)) }
}

/// The times and the cost at the user's own utilisation; `None` where none is stated or the peak is
/// not known.
pub fn stated(job: &Job, estimate: &Estimate) -> Option<String> {
    let mfu = job.training()?.stated_mfu()?;
    let Compute { step_seconds, seconds, gpu_hours, cost, .. } = estimate.compute?;
    let (step, run) = (duration(step_seconds?.0), duration(seconds?.0));
    let (hours, price) = (amount(gpu_hours?), money(cost?));
    Some(format!(
        "At your stated utilisation of {}: one step {step}, the run {run}, {hours} GPU-hours, cost \
         {price}.",
        per_cent(mfu)
    ))
}

/// Why there is no time, and how to get one; nothing where there is.
pub fn unknown(scenario: &Scenario, timing: &Timing) -> Option<String> {
    let Timing::Unknown(missing) = timing else { return None };
    let name = accelerator_name(scenario);
    Some(match missing {
        Unknown::Peak(format) => format!(
            "No time and cost: no peak rate of {name} in {} is known. Enter it under GPU and \
             layout details, or choose another format.",
            format.name()
        ),
        Unknown::Bandwidth => {
            format!(
                "No time and cost: the memory bandwidth of {name} is not known. Enter it under GPU \
                 and layout details."
            )
        }
        Unknown::Narrow => {
            format!(
                "No time and cost: no rate of {name} for matrix products in so few bits is known. \
                 Choose another format."
            )
        }
        Unknown::Encoder => "No time and cost: the time of serving an encoder beside its decoder, \
            and of an encoder of sound, is not modelled yet."
            .to_owned(),
        Unknown::Counted => {
            "No time and cost: of this model's attention the parameters and the cache are known, \
             and not its work."
                .to_owned()
        }
        Unknown::Images => {
            "No time and cost: the time of a vision tower is not modelled yet. Set “Images per \
             sequence” to 0 for that of texts alone."
                .to_owned()
        }
    })
}

/// The warning before the figures; `None` where the layout runs.
pub const fn caveat(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Fits | Verdict::Tight => None,
        Verdict::DoesNotFit => {
            Some("It does not fit: this is how long it would take with enough memory.")
        }
        Verdict::CannotRun => {
            Some("It cannot run like this: these are figures of a layout that is not allowed.")
        }
    }
}

/// A utilisation, 0 to 1, in per cent.
fn tenths(share: f64) -> String {
    format!("{} %", grouped(100.0 * share, 1))
}

/// A number as short as its size allows: `0.25`, `12.3`, `4 567`, `1.2 × 10¹³`.
pub fn amount(value: f64) -> String {
    match value {
        value if value >= 1.0e12 => scientific(value),
        value => grouped(value, if value < 10.0 { 2 } else { usize::from(value < 99.95) }),
    }
}

fn rate(flops_per_second: f64) -> String {
    format!("{} TFLOP/s", amount(flops_per_second / 1e12))
}

fn energy_text(kwh: f64) -> String {
    match kwh {
        kwh if kwh >= 1e7 => format!("{} GWh", amount(kwh / 1e6)),
        kwh if kwh >= 1e4 => format!("{} MWh", amount(kwh / 1e3)),
        kwh => format!("{} kWh", amount(kwh)),
    }
}

fn mass_text(kilograms: f64) -> String {
    if kilograms >= 1e4 {
        format!("{} t", amount(kilograms / 1e3))
    } else {
        format!("{} kg", amount(kilograms))
    }
}

/// The width of a share's bar, of 100.
pub fn width(share: f64) -> String {
    format!("{:.1}", 100.0 * share.clamp(0.0, 1.0))
}
