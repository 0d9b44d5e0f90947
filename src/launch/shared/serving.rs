//! Code that formats of servers share: parallel degrees, lengths, and the format of weights.

use super::{weights, whole};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Way, Writing};
use crate::scenario::{FieldId, Mode, Scenario, Value, parse};

/// The shortest abbreviation of a flag that is expanded to its full name.
const SHORTEST: usize = 5;

/// Expands abbreviated flags: Python's `argparse` accepts the beginning of a name where only one
/// flag begins so.
pub fn in_full(mut stated: Stated, tables: &[&'static [Flag]]) -> Stated {
    let flags = || tables.iter().copied().flatten();
    for given in stated.given.iter_mut().filter(|given| given.key.len() >= SHORTEST) {
        if flags().any(|flag| flag.is_called(&given.key)) {
            continue;
        }
        let beginning = given.key.replace('_', "-");
        let mut names = flags()
            .flat_map(|flag| flag.names)
            .filter(|name| name.replace('_', "-").starts_with(&beginning));
        if let (Some(name), None) = (names.next(), names.next()) {
            (*name).clone_into(&mut given.key);
        }
    }
    stated
}

/// The last stated flag with one of these names, as a whole number; an unknown variable counts as
/// not stated.
///
/// # Errors
/// [`LaunchError`] where its value is none.
pub fn stated_whole(reading: &Reading<'_>, names: &[&str]) -> Result<Option<u64>, LaunchError> {
    reading.stated(names).filter(|given| !given.is_unknown()).map(Given::whole_or_wrong).transpose()
}

/// Begins a server's scenario, with its engine and parallel degrees of 1.
pub fn begin(reading: &mut Reading<'_>, engine: &'static str, tensor: &str, pipeline: &str) {
    reading.scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
    reading.scenario.set(FieldId::Server, Value::Choice(engine));
    reading.scenario.set(FieldId::Gpus, Value::Integer(1));
    reading.default(tensor, FieldId::TensorParallel, Value::Integer(1));
    reading.default(pipeline, FieldId::PipelineParallel, Value::Integer(1));
    reading.scenario.set(FieldId::ConcurrentSequences, Value::Integer(1));
}

/// The most requests at a time where the text states none. A server starts where one of the whole
/// length fits, and lets those wait that find no room.
pub fn most_requests(reading: &mut Reading<'_>, flag: &str, requests: u64) {
    reading.scenario.set(FieldId::OthersWait, Value::Flag(true));
    reading.default(flag, FieldId::ConcurrentSequences, Value::Integer(requests));
}

/// Sets the number of GPUs: tensor × pipeline ranks × replicas.
pub fn gpus(reading: &mut Reading<'_>, replicas: u64) {
    let each = whole(&reading.scenario, FieldId::TensorParallel);
    let gpus = each
        .saturating_mul(whole(&reading.scenario, FieldId::PipelineParallel))
        .saturating_mul(replicas.max(1));
    reading.follows(
        "GPUs",
        FieldId::Gpus,
        Value::Integer(gpus),
        "Tensor × pipeline × data parallel.",
    );
}

/// The number of replicas of a scenario.
pub fn replicas(scenario: &Scenario) -> u64 {
    let each = whole(scenario, FieldId::TensorParallel)
        .saturating_mul(whole(scenario, FieldId::PipelineParallel));
    whole(scenario, FieldId::Gpus) / each.max(1)
}

/// Sets the context to the model's longest sequence where the text states none.
pub fn longest_context(reading: &mut Reading<'_>, flag: &str, names: &[&str]) {
    let given = reading.stated(names).filter(|given| !given.is_unknown());
    if given.is_some_and(|given| !matches!(given.text().as_str(), "0" | "-1" | "auto")) {
        return;
    }
    if let Value::Integer(longest) = reading.scenario.get(FieldId::MaxPositionEmbeddings)
        && longest > 0
    {
        reading.follows(
            flag,
            FieldId::ContextLength,
            Value::Integer(longest),
            "The longest sequence of the model.",
        );
    }
}

/// Sets the weights' format that the model's name states, or that the model is published in.
pub fn weights_of_model(reading: &mut Reading<'_>, given: Option<&Given>) {
    let told =
        given.filter(|given| !given.is_unknown()).and_then(|given| weights::of_name(&given.text()));
    match (told, given) {
        (Some(Ok((word, why))), Some(given)) => set_weights(reading, given, word, why),
        (Some(Err(part)), Some(given)) => {
            let given = given.clone();
            reading.not_modelled(
                &given,
                &format!("Weights in {part}, as the name tells, are not modelled."),
            );
        }
        _ => {
            let row = reading
                .scenario
                .model()
                .filter(|_| !reading.scenario.is_pasted() && given.is_some());
            if let Some(format) = row.and_then(weights::as_published) {
                reading.follows(
                    "weights",
                    FieldId::WeightDType,
                    Value::choice(format),
                    "The model is published in it.",
                );
            }
        }
    }
}

/// Sets the weights' format to one of the input's words.
pub fn set_weights(reading: &mut Reading<'_>, given: &Given, word: &str, why: &str) {
    let given = given.clone();
    match parse(FieldId::WeightDType, word) {
        Ok(value) => reading.derive(&given, FieldId::WeightDType, value, why),
        Err(why) => reading.tell(&given, Way::NotModelled, why),
    }
}

/// Memory of the scenario's accelerator in GiB; 0 where it is unknown.
pub fn gibibytes(scenario: &Scenario) -> f64 {
    match scenario.get(FieldId::AcceleratorMemory) {
        Value::Decimal(memory) => memory,
        _ => 0.0,
    }
}

/// Memory of the scenario's accelerator in MiB; 0 where it is unknown.
pub fn mebibytes(scenario: &Scenario) -> f64 {
    gibibytes(scenario) * 1024.0
}

/// True if the id of the scenario's accelerator begins with `start`.
pub fn is_accelerator(scenario: &Scenario, start: &str) -> bool {
    scenario.accelerator().is_some_and(|row| row.id.starts_with(start))
}

/// Writes the number of replicas, if there are several.
pub fn say_replicas(writing: &mut Writing<'_>, key: &str) {
    let replicas = replicas(writing.scenario);
    if replicas > 1 {
        writing.say(key, Some(replicas.to_string()), &[]);
    }
    writing.is_said(&[FieldId::Server, FieldId::Gpus]);
}

/// Writes a whole number.
pub fn say_whole(writing: &mut Writing<'_>, key: &str, id: FieldId) {
    let number = whole(writing.scenario, id);
    writing.say(key, Some(number.to_string()), &[id]);
}

/// A server's flag and value for the format of the weights, where it is not the model's own. A
/// model that is published in few bits has its format in its files, which no flag changes.
pub fn other_weights(
    writing: &mut Writing<'_>,
    words: fn(&str) -> Option<(&'static str, &'static str)>,
) -> Option<(&'static str, &'static str)> {
    let Value::Choice(format) = writing.scenario.get(FieldId::WeightDType) else { return None };
    if writing.scenario.start(FieldId::WeightDType) == Value::Choice(format) {
        writing.is_said(&[FieldId::WeightDType]);
        return None;
    }
    let row = writing.scenario.model();
    words(format).filter(|_| row.is_none_or(|row| weights::as_published(row).is_none()))
}

/// Sets whole experts on each rank where there are as many expert ranks as tensor ranks.
///
/// # Errors
/// [`LaunchError`] where the flag's value is no whole number.
pub fn whole_experts(reading: &mut Reading<'_>, names: &[&str]) -> Result<(), LaunchError> {
    let (Some(size), Some(given)) = (stated_whole(reading, names)?, reading.stated(names).cloned())
    else {
        return Ok(());
    };
    let ranks = whole(&reading.scenario, FieldId::TensorParallel);
    if size == 1 || size == ranks {
        reading.read(&given, FieldId::WholeExperts, Value::Flag(size > 1));
    } else {
        reading
            .not_modelled(&given, "Experts are split over another number of ranks than attention.");
    }
    Ok(())
}
