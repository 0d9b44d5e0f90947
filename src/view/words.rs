//! Numbers and sentences as the page writes them. Nothing here computes a quantity of the model.

use crate::config::ModelConfig;
use crate::estimator::has_parts_of;
use crate::estimator::{Estimate, Headroom, MemoryKind, Printed, Verdict};
use crate::ops::parameters_of;
use crate::scenario::{FieldId, FieldKind, Mode, Remark, Scenario, Value, field, show};
use crate::units::{Bytes, grouped, to_f64};
pub use crate::units::{Scale, whole};

/// `part` of `total` in per cent, with one decimal below ten.
pub fn percent(part: Bytes, total: Bytes) -> String {
    if total.0 == 0 {
        return "0 %".to_owned();
    }
    per_cent(part.as_f64() / total.as_f64())
}

/// A share, 0 to 1, in per cent, with one decimal below ten.
pub fn per_cent(share: f64) -> String {
    let share = 100.0 * share;
    if share < 0.05 {
        return if share > 0.0 { "< 0.1 %".to_owned() } else { "0 %".to_owned() };
    }
    format!("{} %", grouped(share, usize::from(share < 9.95)))
}

/// A count of parameters or tokens: `8.03 B`.
pub fn billions(count: u64) -> String {
    let count = to_f64(count);
    let (value, suffix) = match count {
        c if c >= 1.0e12 => (c / 1.0e12, " T"),
        c if c >= 1.0e9 => (c / 1.0e9, " B"),
        c if c >= 1.0e6 => (c / 1.0e6, " M"),
        c => return grouped(c, 0),
    };
    grouped(value, if value < 9.995 { 2 } else { usize::from(value < 99.95) }) + suffix
}

/// A large number as `7.2 × 10²³`.
pub fn scientific(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return "0".to_owned();
    }
    if value < 1.0e6 {
        return grouped(value, 0);
    }
    let text = format!("{value:.1e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let raised: String = exponent
        .chars()
        .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::try_from(digit.to_digit(10)?).ok()?))
        .collect();
    format!("{digits} × 10{raised}")
}

/// A time in the unit a person would use.
pub fn duration(seconds: f64) -> String {
    const HOUR: f64 = 3600.0;
    const DAY: f64 = 24.0 * HOUR;
    let (value, name) = match seconds {
        s if !s.is_finite() => return "longer than can be said".to_owned(),
        s if s < 1.0 => (s * 1000.0, "ms"),
        s if s < 120.0 => (s, "seconds"),
        s if s < 2.0 * HOUR => (s / 60.0, "minutes"),
        s if s < 2.0 * DAY => (s / HOUR, "hours"),
        s if s < 1000.0 * DAY => (s / DAY, "days"),
        s => (s / (365.25 * DAY), "years"),
    };
    format!("{} {name}", grouped(value, usize::from(value < 99.95)))
}

/// `1 GPU`, `8 GPUs`.
pub fn gpus(count: u64) -> String {
    if count == 1 { "1 GPU".to_owned() } else { format!("{} GPUs", whole(count)) }
}

/// `1 request`, `8 requests`.
pub fn requests(count: u64) -> String {
    if count == 1 { "1 request".to_owned() } else { format!("{} requests", whole(count)) }
}

/// The model's name: a row's, or its own, or its kind and size.
pub fn model_name(scenario: &Scenario) -> String {
    scenario.model_name(|| parameters(scenario))
}

/// Parameters of the scenario's model, by the modules that run a model of its shape; nothing while
/// its values do not go together, or its modules have not come.
pub fn parameters(scenario: &Scenario) -> Option<u64> {
    let model = scenario.checked_model()?;
    let model = ModelConfig { family: model.family_of_shape(), ..model };
    has_parts_of(&model).then(|| parameters_of(&model))
}

/// Parts of the pasted file that the answer leaves out.
pub fn remarks(scenario: &Scenario) -> Vec<Remark> {
    scenario.remarks(|| parameters(scenario))
}

/// A phrase with a capital, unless it begins with a name such as `num_layers`.
pub fn upper_first(phrase: &str) -> String {
    let name = phrase.split(' ').next().is_some_and(|first| first.contains('_'));
    let mut letters = phrase.chars();
    match letters.next() {
        // All phrases begin in English; tables of all languages would be a first visit's largest
        // constant.
        Some(first) if !name => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
        _ => phrase.to_owned(),
    }
}

/// A label inside a sentence: `Layers` becomes `layers`, `GPUs per node` stays.
pub fn lower_first(label: &str) -> String {
    let mut letters = label.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_ascii_lowercase() => {
            [first.to_ascii_lowercase(), second].into_iter().chain(letters).collect()
        }
        _ => label.to_owned(),
    }
}

/// The value of a field as it is shown: models and accelerators have the names that they have
/// everywhere.
pub fn shown(scenario: &Scenario, id: FieldId) -> String {
    match field(id).kind {
        FieldKind::Model => model_name(scenario),
        FieldKind::Accelerator => accelerator_name(scenario),
        _ => show(id, &scenario.get(id)),
    }
}

/// The accelerator's name, with what was changed about it.
pub fn accelerator_name(scenario: &Scenario) -> String {
    scenario.accelerator_name()
}

/// The scenario in one short line.
pub fn about(scenario: &Scenario) -> String {
    format!("{} {} on {}", doing(scenario), model_name(scenario), hardware(scenario))
}

/// The mode as a verb: training, fine-tuning, serving.
pub fn doing(scenario: &Scenario) -> &'static str {
    match scenario.mode() {
        Mode::Train => "Training",
        Mode::Tune => "Fine-tuning",
        Mode::Serve => "Serving",
    }
}

/// How many accelerators of which name.
pub fn hardware(scenario: &Scenario) -> String {
    let count = match scenario.get(FieldId::Gpus) {
        Value::Integer(count) => count,
        _ => 1,
    };
    format!("{} × {}", whole(count), accelerator_name(scenario))
}

/// The tone of an answer: also a class name.
pub const fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "good",
        Verdict::Tight => "warn",
        Verdict::DoesNotFit | Verdict::CannotRun => "bad",
    }
}

/// The first words of the answer.
pub const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "Fits.",
        Verdict::Tight => "Fits, tightly.",
        Verdict::DoesNotFit => "Does not fit.",
        Verdict::CannotRun => "Cannot run like this.",
    }
}

/// The answer's sentence after its first words.
pub fn verdict_sentence(scenario: &Scenario, estimate: &Estimate, scale: Scale) -> String {
    let (used, room, unit) =
        (scale.show(estimate.total()), scale.show(estimate.capacity), scale.unit);
    let (about, alone) = (about(scenario), scenario.get(FieldId::Gpus) == Value::Integer(1));
    let takes = match (estimate.total() <= estimate.capacity, alone) {
        (true, true) => format!("{about} takes {used} of {room} {unit}."),
        (true, false) => format!("{about} takes {used} of {room} {unit} on each GPU."),
        (false, true) => format!("{about} needs {used} {unit}; the GPU has {room} {unit}."),
        (false, false) => {
            format!("{about} needs {used} {unit} on each GPU; each has {room} {unit}.")
        }
    };
    [Some(takes), at_once(scenario, estimate)].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The requests that run at once, where a server that starts lets further ones wait.
fn at_once(scenario: &Scenario, estimate: &Estimate) -> Option<String> {
    let (running, Value::Integer(most), Value::Integer(context)) = (
        estimate.at_once.filter(|_| estimate.runs())?,
        scenario.get(FieldId::ConcurrentSequences),
        scenario.get(FieldId::ContextLength),
    ) else {
        return None;
    };
    let of = format!("{} of {} tokens", requests(running), whole(context));
    let run = if running == 1 { "runs" } else { "run" };
    Some(if running < most {
        format!(
            "There is room for {of} at once; the server would run up to {}, and those without room \
             wait.",
            whole(most)
        )
    } else {
        format!("{of} {run} at once, as many as the server lets in; more wait.")
    })
}

/// The margin: number, and what it is.
pub fn margin(estimate: &Estimate, scale: Scale) -> (String, String) {
    let number = scale.gap(estimate.total(), estimate.capacity);
    let caption = match estimate.headroom() {
        Headroom::Free(gap) => format!("free on each GPU, {}", percent(gap, estimate.capacity)),
        Headroom::Short(gap) => {
            format!("short on each GPU, {} over", percent(gap, estimate.capacity))
        }
    };
    (number, caption)
}

/// Kinds in use as printed.
pub fn kinds(estimate: &Estimate, scale: Scale) -> Vec<(MemoryKind, u64)> {
    let printed = Printed::in_scale(&estimate.ledger, scale);
    let used = MemoryKind::ALL.into_iter().filter(|kind| estimate.ledger.of(*kind).0 > 0);
    used.map(|kind| (kind, printed.kind(kind))).collect()
}
