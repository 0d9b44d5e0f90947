//! A scenario written as a command or file is read back unchanged, and a broken text ends in a
//! sentence.

use std::time::{Duration, Instant};

use headroom::launch::{Effect, Format, FormatRole, Pasted, defaults, read, write};
use headroom::scenario::{FieldId, FieldKind, Mode, Scenario, Value, field};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A source of random numbers that repeat in every run.
fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

fn below(runner: &mut TestRunner, end: u64) -> u64 {
    (0..end.max(1)).new_tree(runner).expect("a number").current()
}

/// The inputs that a format's tables set, each with the format's words where it is a choice.
fn inputs(format: Format) -> Vec<(FieldId, Option<Vec<&'static str>>)> {
    let of_flag = |effect: &Effect| match effect {
        Effect::Sets(id) | Effect::Switch(id) | Effect::SwitchOff(id) => Some((*id, None)),
        Effect::Words(id, words) => {
            Some((*id, Some(words.iter().map(|(_, ours)| *ours).collect())))
        }
        _ => None,
    };
    let in_table = format.flags.iter().copied().flatten().filter_map(|flag| of_flag(&flag.effect));
    // Inputs that code reads instead of a table depend on other inputs in formats for training, so
    // only those of servers are drawn by themselves.
    let stand_alone = defaults(format).mode() == Mode::Serve;
    let further = format
        .further
        .iter()
        .filter(|id| stand_alone && !matches!(id, FieldId::Model | FieldId::Gpus));
    let beside = further.map(|id| (*id, None));
    in_table.chain(beside).collect()
}

/// A random value that a field takes.
fn random(runner: &mut TestRunner, id: FieldId, words: Option<&[&'static str]>) -> Option<Value> {
    Some(match field(id).kind {
        FieldKind::Integer { min, max, .. } => {
            Value::Integer(min + below(runner, max.min(100_000) - min.min(99_999)))
        }
        FieldKind::Decimal { min, max, .. } => {
            let hundredths = below(runner, 100);
            Value::Decimal(
                (min + f64::from(u32::try_from(hundredths).expect("small")) / 100.0).min(max),
            )
        }
        FieldKind::Choice(options) => {
            let all: Vec<&'static str> = words
                .map_or_else(|| options.iter().map(|option| option.value).collect(), <[_]>::to_vec);
            let at = usize::try_from(below(runner, all.len() as u64)).expect("small");
            Value::Choice(all[at])
        }
        FieldKind::Flag => Value::Flag(below(runner, 2) == 1),
        _ => return None,
    })
}

/// The tool's own defaults, read from the shortest text that it accepts.
fn start(format: Format) -> Scenario {
    let text = write(&Scenario::default(), format).text;
    let read = read(&[Pasted { name: "", text: &text }], &Scenario::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    let mut scenario = read.scenario;
    // The reader may list settings of the shortest text as not counted, such as a weight file's
    // types that its name does not state. That list is no default of the tool.
    scenario.clear(FieldId::FlagsNotCounted);
    scenario
}

fn degrees(scenario: &Scenario) -> u64 {
    let degree = |id| match scenario.get(id) {
        Value::Integer(degree) => degree,
        _ => 1,
    };
    degree(FieldId::TensorParallel)
        * degree(FieldId::PipelineParallel)
        * degree(FieldId::ContextParallel)
}

/// A value of a field; degrees of a layout are small.
fn any_value(
    runner: &mut TestRunner,
    id: FieldId,
    words: Option<&[&'static str]>,
) -> Option<Value> {
    let limit = matches!(
        id,
        FieldId::TensorParallel
            | FieldId::PipelineParallel
            | FieldId::ContextParallel
            // More layers than the model has are all of them.
            | FieldId::GpuLayers
    );
    if limit { Some(Value::Integer(1 + below(runner, 8))) } else { random(runner, id, words) }
}

#[test]
fn what_is_written_is_read_back() {
    let mut runner = runner();
    // `HEADROOM_FORMAT=deepspeed` runs that format only.
    let wanted = std::env::var("HEADROOM_FORMAT").ok();
    let is_wanted = |format: &Format| wanted.as_ref().is_none_or(|key| key == format.key);
    for format in Format::writable().filter(is_wanted) {
        let inputs = inputs(format);
        let start = start(format);
        let mut whole = 0;
        for _ in 0..2_000 {
            let mut scenario = start.clone();
            for (id, words) in &inputs {
                if below(&mut runner, 3) == 0 {
                    let value = any_value(&mut runner, *id, words.as_deref());
                    if let Some(value) = value {
                        scenario.set(*id, value);
                    }
                }
            }
            if format.role == FormatRole::Whole || format.further.contains(&FieldId::Gpus) {
                scenario.set(
                    FieldId::Gpus,
                    Value::Integer(degrees(&scenario) * (1 + below(&mut runner, 4))),
                );
            }
            if let (Mode::Tune, Value::Integer(micro), Value::Integer(gpus)) = (
                scenario.mode(),
                scenario.get(FieldId::MicroBatchSize),
                scenario.get(FieldId::Gpus),
            ) {
                // Training tools state gradient accumulation, so the global batch must be a
                // multiple of the micro-batch and the GPUs.
                scenario.set(
                    FieldId::GlobalBatchSize,
                    Value::Integer(micro * gpus * (1 + below(&mut runner, 4))),
                );
            }
            let written = write(&scenario, format);
            let back = read(&[Pasted { name: "", text: &written.text }], &Scenario::default())
                .unwrap_or_else(|error| panic!("{}\n{error}", written.text));
            if written.missing.is_empty() {
                whole += 1;
                // Reading lists again the settings that the tool has no word for.
                let mut different = back.scenario.differences(&scenario);
                different.retain(|id| *id != FieldId::FlagsNotCounted);
                assert_eq!(
                    different,
                    [],
                    "{}: {}\n{:?}",
                    format.label,
                    written.text,
                    different.first().map(|id| (back.scenario.get(*id), scenario.get(*id)))
                );
            }
        }
        assert!(whole > 0, "{}: no text of 2000 says the whole scenario", format.label);
    }
}

#[test]
fn broken_texts_are_sentences_and_take_no_time() {
    let mut runner = runner();
    for format in Format::writable() {
        let text = write(&Scenario::default(), format).text;
        for _ in 0..500 {
            let mut letters: Vec<char> = text.chars().collect();
            for _ in 0..=below(&mut runner, 4) {
                let at = usize::try_from(below(&mut runner, letters.len() as u64)).expect("small");
                let odd =
                    ['"', '\'', '$', '{', '(', '\\', '\n', '9', '-', '=', ':', '[', ' ', 'é', '`'];
                let odd =
                    odd[usize::try_from(below(&mut runner, odd.len() as u64)).expect("small")];
                if below(&mut runner, 2) == 0 { letters.insert(at, odd) } else { letters[at] = odd }
            }
            let broken: String = letters.into_iter().collect();
            // On a busy machine other work may slow a run down, so one quick run of five is enough.
            let is_quick = (0..5).any(|_| {
                let begun = Instant::now();
                let found = read(&[Pasted { name: "", text: &broken }], &Scenario::default());
                let took = begun.elapsed();
                match found {
                    Ok(launched) => assert!(!launched.report.is_empty(), "{broken}"),
                    Err(error) => {
                        let sentence = error.to_string();
                        assert!(sentence.contains(' ') && sentence.len() > 10, "{sentence}");
                    }
                }
                took < Duration::from_millis(500)
            });
            assert!(is_quick, "{broken}");
        }
    }
}
