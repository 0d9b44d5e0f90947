//! “What fits this card?”: every model of the catalog on the accelerators of a scenario, served in several formats or fine-tuned in several
//! ways. No browser in here.

use serde_json::{Value as Json, json as object};

use super::words::whole;
use crate::catalog::{self, ModelRow};
use crate::config::Run;
use crate::estimator::time::serving as times_of;
use crate::estimator::{Lengths, estimate};
use crate::planner::inverse;
use crate::scenario::{FieldId, Mode, Scenario, Value, codec, field, show};
use crate::units::{WeightFormat, to_f64};

/// Tokens in the cache of the one request whose speed is told; where fewer fit, as many as fit.
pub const SPEED_AT: u64 = 4096;

/// One model in one format, or fine-tuned in one way.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model.
    pub model: &'static ModelRow,
    /// Its parameters.
    pub parameters: u64,
    /// The format of its weights, or what learns: the word of the input that differs between rows of a model.
    pub way: &'static str,
    /// The same for people.
    pub way_label: String,
    /// Served: the longest context of one request, at most the model's own. Fine-tuned: the longest sequence of one text. Nothing where not
    /// one token fits.
    pub longest: Option<u64>,
    /// Served: tokens per second of one request with [`SPEED_AT`] tokens in the cache; nothing where the accelerator's rates are unknown.
    pub tokens_per_second: Option<f64>,
    /// The scenario, at the longest length that fits.
    pub scenario: Scenario,
}

/// Ways to fine-tune: the word in links, and the name.
const WAYS: [&str; 3] = ["full", "lora", "qlora"];

/// Formats that a server is asked about: as published, and those with fewer bits that its engine offers.
fn formats(scenario: &Scenario) -> Vec<WeightFormat> {
    let engine = scenario.resolve().ok().and_then(|job| match job.run() {
        Run::Serving(run) => Some(run.engine),
        Run::Training(_) => None,
    });
    engine.map(|engine| engine.smaller_weights.iter().map(|(format, _)| *format).collect()).unwrap_or_default()
}

/// Every model that fits the scenario's accelerators in some way: those served, or those fine-tuned, by the scenario's mode. A row for each
/// format or way in which at least one token fits; models in the order of the catalog.
pub fn what_fits(scenario: &Scenario) -> Vec<Fit> {
    let serves = scenario.mode() == Mode::Serve;
    catalog::models().iter().flat_map(|row| if serves { served(scenario, row) } else { tuned(scenario, row) }).collect()
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
    let longest = longest_of(&scenario)?;
    let context = longest.min(row.config.max_position_embeddings).max(1);
    scenario.set(FieldId::ContextLength, Value::Integer(context));
    let mut at = scenario.clone();
    at.set(FieldId::ContextLength, Value::Integer(SPEED_AT.min(context)));
    let speed = at.resolve().ok().and_then(|job| times_of(&job)).map(|time| time.tokens_per_second);
    fit(row, FieldId::WeightDType, way, (context, speed), scenario)
}

fn tuned(scenario: &Scenario, row: &'static ModelRow) -> Vec<Fit> {
    let mut plain = with_model(scenario, row);
    plain.set(FieldId::Mode, Value::Choice("tune"));
    plain.set(FieldId::MicroBatchSize, Value::Integer(1));
    plain.set(FieldId::Recompute, Value::Choice("full"));
    let way = |way: &'static str| {
        let mut changed = plain.clone();
        let value = Value::Choice(way);
        changed.set(FieldId::Method, value.clone());
        let longest = longest_of(&changed)?.min(row.config.max_position_embeddings).max(1);
        changed.set(FieldId::SeqLength, Value::Integer(longest));
        fit(row, FieldId::Method, &value, (longest, None), changed)
    };
    WAYS.into_iter().filter_map(way).collect()
}

/// The longest length that fits; nothing where the job may not run, or not one token fits.
fn longest_of(scenario: &Scenario) -> Option<u64> {
    let mut shortest = scenario.clone();
    let length = if scenario.mode() == Mode::Serve { FieldId::ContextLength } else { FieldId::SeqLength };
    shortest.set(length, Value::Integer(128));
    let job = shortest.resolve().ok()?;
    estimate(&job).blockers.is_empty().then_some(())?;
    inverse(&Lengths::of(&job)).longest_seq
}

fn fit(
    model: &'static ModelRow,
    input: FieldId,
    way: &Value,
    (longest, tokens_per_second): (u64, Option<f64>),
    scenario: Scenario,
) -> Option<Fit> {
    let Value::Choice(word) = *way else { return None };
    let counted = || scenario.resolve().ok().map(|job| estimate(&job).parameters.total);
    let parameters = model.published_parameters.or_else(counted)?;
    let way_label = show(input, way);
    Some(Fit { model, parameters, way: word, way_label, longest: Some(longest), tokens_per_second, scenario })
}

/// The rows with the largest models first; of one model those with more bits first.
pub fn by_size(mut fits: Vec<Fit>) -> Vec<Fit> {
    fits.sort_by_key(|fit| std::cmp::Reverse(fit.parameters));
    fits
}

/// The rows as lines of text: model, parameters, format or way, longest length, speed.
pub fn as_text(fits: &[Fit], scenario: &Scenario) -> String {
    let serves = scenario.mode() == Mode::Serve;
    let (way, longest) = if serves { ("weights", "longest context") } else { ("what learns", "longest sequence") };
    let head =
        format!("{:<34} {:>9}  {:<26} {:>15}  {:>10}", "model", "billions", way, longest, if serves { "tokens/s" } else { "" });
    let line = |fit: &Fit| {
        let speed = fit.tokens_per_second.map_or_else(String::new, |speed| format!("{speed:.1}"));
        let length = fit.longest.map_or_else(String::new, whole);
        let billions = format!("{:.2}", to_f64(fit.parameters) / 1e9);
        format!("{:<34} {billions:>9}  {:<26} {length:>15}  {speed:>10}", fit.model.name, fit.way_label).trim_end().to_owned()
    };
    [head.trim_end().to_owned()].into_iter().chain(fits.iter().map(line)).collect::<Vec<_>>().join("\n")
}

/// The rows as JSON, each with its link.
pub fn as_json(fits: &[Fit], scenario: &Scenario) -> Json {
    let input = if scenario.mode() == Mode::Serve { FieldId::WeightDType } else { FieldId::Method };
    let row = |fit: &Fit| {
        object!({
            "model": fit.model.id,
            "name": fit.model.name,
            "parameters": fit.parameters,
            field(input).name: fit.way,
            "longest": fit.longest,
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

    #[test]
    fn every_row_fits_and_one_token_more_than_it_says_does_not() {
        let scenario = decode("v2&do=serve&gpu=rtx4090&n=1").scenario;
        let fits = by_size(what_fits(&scenario));
        assert!(fits.len() > 100, "{}", fits.len());
        let largest = fits.first().expect("a row");
        assert!(largest.parameters > 30_000_000_000, "{}", largest.model.name);
        for fit in fits.iter().step_by(7) {
            let job = fit.scenario.resolve().expect("a job");
            assert!(estimate(&job).runs(), "{} {}", fit.model.name, fit.way);
        }
    }

    #[test]
    fn adapters_let_larger_models_learn_than_all_weights_do() {
        let scenario = decode("v2&do=tune&gpu=rtx4090&n=1").scenario;
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
