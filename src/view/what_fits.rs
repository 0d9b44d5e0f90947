//! “What fits this card?”: every model of the catalog on the accelerators of a scenario, served in
//! several formats or fine-tuned in several ways. No browser in here.

use serde_json::{Value as Json, json as object};

use super::words::whole;
use crate::catalog::{self, ModelRow};
use crate::config::Run;
use crate::estimator::time::serving as times_of;
use crate::estimator::{Lengths, estimate};
use crate::planner::inverse;
use crate::scenario::{FieldId, Mode, Scenario, Value, codec, field, show};
use crate::units::{Bytes, WeightFormat, to_f64};

/// Tokens in the cache of the one request whose speed is told; where fewer fit, as many as fit.
pub const SPEED_AT: u64 = 4096;

/// One model in one format, or fine-tuned in one way.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model.
    pub model: &'static ModelRow,
    /// Its parameters.
    pub parameters: u64,
    /// The format of its weights, or what learns: the word of the input that differs between rows
    /// of a model.
    pub way: &'static str,
    /// The way in words for people.
    pub way_label: String,
    /// Served: the longest context of one request that fits, at most the model's own. Fine-tuned:
    /// the scenario's sequence length.
    pub length: u64,
    /// Memory on one accelerator at that length.
    pub memory: Bytes,
    /// Served: tokens per second of one request with [`SPEED_AT`] tokens in the cache; nothing
    /// where the accelerator's rates are unknown.
    pub tokens_per_second: Option<f64>,
    /// The scenario, at that length.
    pub scenario: Scenario,
}

/// Ways to fine-tune: the word in links, and the name.
const WAYS: [&str; 3] = ["full", "lora", "qlora"];

/// Formats that a server is asked about: as published, and those with fewer bits that its engine
/// offers.
fn formats(scenario: &Scenario) -> Vec<WeightFormat> {
    let engine = scenario.resolve().ok().and_then(|job| match job.run() {
        Run::Serving(run) => Some(run.engine),
        Run::Training(_) => None,
    });
    engine
        .map(|engine| engine.smaller_weights.iter().map(|(format, _)| *format).collect())
        .unwrap_or_default()
}

/// Every model that fits the scenario's accelerators in some way: served, or fine-tuned with the
/// scenario's texts, by the scenario's mode. A row for each format or way in which it fits; models
/// in the order of the catalog. Fine-tuning takes one text at a time and recomputes blocks.
pub fn what_fits(scenario: &Scenario) -> Vec<Fit> {
    let serves = scenario.mode() == Mode::Serve;
    catalog::models()
        .iter()
        .flat_map(|row| if serves { served(scenario, row) } else { tuned(scenario, row) })
        .collect()
}

/// The scenario's accelerators with another model.
fn with_model(scenario: &Scenario, row: &ModelRow) -> Scenario {
    let mut changed = scenario.clone();
    changed.set_model(row.id);
    changed
}

fn served(scenario: &Scenario, row: &'static ModelRow) -> Vec<Fit> {
    let mut plain = with_model(scenario, row);
    plain.set(FieldId::ConcurrentSequences, Value::Integer(1));
    plain.clear(FieldId::WeightDType);
    let stored = plain.get(FieldId::WeightDType);
    let smaller = formats(&plain).into_iter().map(Value::choice);
    let is_wide = |value: &Value| matches!(value, Value::Choice("bf16" | "fp16" | "fp32"));
    // Weights that are published in few bits are not packed again.
    let ways = [stored.clone()].into_iter().chain(smaller.filter(|_| is_wide(&stored)));
    ways.filter_map(|way| in_format(&plain, row, &way)).collect()
}

fn in_format(plain: &Scenario, row: &'static ModelRow, way: &Value) -> Option<Fit> {
    let mut scenario = plain.clone();
    scenario.set(FieldId::WeightDType, way.clone());
    let context = longest_of(&scenario)?.min(row.config.max_position_embeddings).max(1);
    scenario.set(FieldId::ContextLength, Value::Integer(context));
    let mut at = scenario.clone();
    at.set(FieldId::ContextLength, Value::Integer(SPEED_AT.min(context)));
    let speed = at.resolve().ok().and_then(|job| times_of(&job)).map(|time| time.tokens_per_second);
    fit(row, way, (context, speed), scenario)
}

fn tuned(scenario: &Scenario, row: &'static ModelRow) -> Vec<Fit> {
    let mut plain = with_model(scenario, row);
    plain.set(FieldId::Mode, Value::Choice("tune"));
    plain.set(FieldId::MicroBatchSize, Value::Integer(1));
    plain.set(FieldId::Recompute, Value::Choice("full"));
    let Value::Integer(length) = plain.get(FieldId::SeqLength) else { return Vec::new() };
    let way = |way: &'static str| {
        let mut changed = plain.clone();
        let value = Value::Choice(way);
        changed.set(FieldId::Method, value.clone());
        fit(row, &value, (length, None), changed)
    };
    WAYS.into_iter().filter_map(way).collect()
}

/// The longest context that fits; nothing where the job may not run, or not one token fits.
fn longest_of(scenario: &Scenario) -> Option<u64> {
    let mut shortest = scenario.clone();
    shortest.set(FieldId::ContextLength, Value::Integer(SHORTEST));
    let job = shortest.resolve().ok()?;
    estimate(&job).blockers.is_empty().then_some(())?;
    inverse(&Lengths::of(&job)).longest_seq
}

/// Tokens of a context at which rules are asked; any length does.
const SHORTEST: u64 = 128;

/// The row, where the scenario fits.
fn fit(
    model: &'static ModelRow,
    way: &Value,
    (length, tokens_per_second): (u64, Option<f64>),
    scenario: Scenario,
) -> Option<Fit> {
    let Value::Choice(word) = *way else { return None };
    let answer = estimate(&scenario.resolve().ok()?);
    answer.runs().then_some(())?;
    Some(Fit {
        model,
        parameters: model.published_parameters.unwrap_or(answer.parameters.total),
        way: word,
        way_label: show(way_input(&scenario), way),
        length,
        memory: answer.total(),
        tokens_per_second,
        scenario,
    })
}

/// The input in which the rows of one model differ.
fn way_input(scenario: &Scenario) -> FieldId {
    if scenario.mode() == Mode::Serve { FieldId::WeightDType } else { FieldId::Method }
}

/// The rows with the largest models first; of one model those with more bits first.
pub fn by_size(mut fits: Vec<Fit>) -> Vec<Fit> {
    fits.sort_by_key(|fit| std::cmp::Reverse(fit.parameters));
    fits
}

/// The rows as lines of text: model, parameters, format or way, length, memory, speed.
pub fn as_text(fits: &[Fit], scenario: &Scenario) -> String {
    let serves = scenario.mode() == Mode::Serve;
    let unit = scenario.memory_unit();
    let (way, length, speed) = if serves {
        ("weights", "longest context", "tokens/s")
    } else {
        ("what learns", "sequence", "")
    };
    let head = format!(
        "{:<34} {:>9}  {way:<26} {length:>15}  {:>9}  {speed:>9}",
        "model",
        "billions",
        unit.name()
    );
    let line = |fit: &Fit| {
        let speed = fit.tokens_per_second.map_or_else(String::new, |speed| format!("{speed:.1}"));
        let (billions, length) =
            (format!("{:.2}", to_f64(fit.parameters) / 1e9), whole(fit.length));
        let memory = unit.number(fit.memory, 1);
        format!(
            "{:<34} {billions:>9}  {:<26} {length:>15}  {memory:>9}  {speed:>9}",
            fit.model.name, fit.way_label
        )
        .trim_end()
        .to_owned()
    };
    [head.trim_end().to_owned()]
        .into_iter()
        .chain(fits.iter().map(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The rows as JSON, each with its link; memory in bytes.
pub fn as_json(fits: &[Fit]) -> Json {
    let row = |fit: &Fit| {
        object!({
            "model": fit.model.id,
            "name": fit.model.name,
            "parameters": fit.parameters,
            field(way_input(&fit.scenario)).name: fit.way,
            "length": fit.length,
            "bytes": fit.memory.0,
            "tokens_per_second": fit.tokens_per_second,
            "link": codec::encode(&fit.scenario),
        })
    };
    fits.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{by_size, tuned, what_fits};
    use crate::catalog;
    use crate::estimator::estimate;
    use crate::scenario::codec::decode;
    use crate::scenario::{FieldId, Value};

    #[test]
    fn every_context_is_the_longest_that_fits() {
        let scenario = decode("v2&do=serve&gpu=rtx4090&n=1").scenario;
        let fits = by_size(what_fits(&scenario));
        assert!(fits.len() > 100, "{}", fits.len());
        let largest = fits.first().expect("a row");
        assert!(largest.parameters > 30_000_000_000, "{}", largest.model.name);
        for fit in fits
            .iter()
            .step_by(7)
            .filter(|fit| fit.length < fit.model.config.max_position_embeddings)
        {
            let mut longer = fit.scenario.clone();
            longer.set(FieldId::ContextLength, Value::Integer(fit.length + fit.length / 8 + 512));
            let job = longer.resolve().expect("a job");
            assert!(!estimate(&job).runs(), "{} {}", fit.model.name, fit.way);
        }
    }

    #[test]
    fn adapters_let_larger_models_learn_than_all_weights_do() {
        let scenario = decode("v2&do=tune&gpu=rtx4090&n=1&s=1024").scenario;
        let ways = |id: &str| {
            let row = catalog::model(id).expect("a row");
            tuned(&scenario, row).iter().map(|fit| fit.way).collect::<Vec<_>>()
        };
        assert_eq!(ways("qwen3-0.6b"), ["full", "lora", "qlora"]);
        assert_eq!(ways("llama3-8b"), ["lora", "qlora"]);
        assert_eq!(ways("qwen2.5-32b"), ["qlora"]);
        assert_eq!(ways("llama3-70b"), [""; 0]);
    }
}
