//! A net under changes of the engine's structure: the answers to 2,904 links of version 1, as they were when they were recorded.
//!
//! The links go over all modes, families, stacks, shardings, formats and engines. Memory must stay the same to the byte, sentences to
//! the letter; times may move by 0.1 %. They were drawn from a fixed seed by the program that wrote version 1, this file at commit
//! 0418bbb; the archive holds each with its answer. An answer is recorded anew only for a change that is told under *Estimates* in the
//! changelog, by name ([`RECORDED_ANEW`]).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use headroom::app::report::{Report, json};
use headroom::scenario::codec::decode;
use headroom::scenario::{FieldDefault, FieldKind, Scenario, field, fields};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use serde_json::{Value, json as object};

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/links/answers/answers.jsonl.zz")
}

/// The recorded answers, one JSON object a line.
fn recorded() -> String {
    String::from_utf8(decompress_to_vec_zlib(&fs::read(file()).unwrap()).unwrap()).unwrap()
}

/// Everything that the program answers to a link.
fn answer(link: &str) -> Value {
    let decoded = decode(link);
    match decoded.scenario.resolve() {
        Err(errors) => {
            let sentences: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", field(error.field).key, error.message)).collect();
            object!({ "input": sentences })
        }
        Ok(job) => {
            let report = Report::of(&decoded.scenario, &job, None);
            let mut answer: Value = serde_json::from_str(&json(&report, &decoded.scenario, &[])).unwrap();
            let fields = answer.as_object_mut().unwrap();
            // Words about the scenario, and the link as it would be written today, are no part of the estimate.
            for words in ["about", "link", "notices"] {
                fields.remove(words);
            }
            answer
        }
    }
}

/// The first place where two answers differ by more than they may.
fn difference(path: &str, was: &Value, is: &Value) -> Option<String> {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            was.iter().find_map(|(key, value)| difference(&format!("{path}.{key}"), value, is.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            (was.iter().zip(is).enumerate()).find_map(|(at, (was, is))| difference(&format!("{path}[{at}]"), was, is))
        }
        // Bytes and counts are whole numbers; what is not whole is a time, a rate or a price.
        (Value::Number(was), Value::Number(is)) if was.is_f64() && is.is_f64() => {
            let (was, is) = (was.as_f64().unwrap(), is.as_f64().unwrap());
            ((was - is).abs() > 1e-3 * was.abs()).then(|| format!("{path}: {was} became {is}"))
        }
        _ => (was != is).then(|| format!("{path}: {was} became {is}")),
    }
}

/// A debug build asks every fourth link, always the same ones, so that the tests stay quick; a release build asks all.
fn is_asked(at: usize) -> bool {
    !cfg!(debug_assertions) || at.is_multiple_of(4)
}

#[test]
fn answers_stay_what_they_were() {
    let text = recorded();
    let (mut asked, mut wrong) = (0, Vec::new());
    for (_, line) in text.lines().enumerate().filter(|(at, _)| is_asked(*at)) {
        let row: Value = serde_json::from_str(line).unwrap();
        let link = row["link"].as_str().unwrap();
        asked += 1;
        wrong.extend(difference("", &row["answer"], &answer(link)).map(|what| format!("{link}\n    {what}")));
    }
    assert!(asked >= 600, "{asked}");
    assert!(wrong.is_empty(), "{} of {asked} answers moved:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

/// Models whose answers were recorded anew, with what had moved; CHANGELOG says so under *Estimates*.
const RECORDED_ANEW: &[(&str, &str)] = &[
    ("&m=glm4.5", "modules of its own: the router's correction is a buffer in fp32 (23 kB); no longer assumed"),
    ("&m=glm4.6", "modules of its own: the router's correction is a buffer in fp32 (57 kB); no longer assumed"),
];

/// Records the answers of the models above anew and leaves all others as they are. Run it once after an entry is added.
#[test]
#[ignore = "it writes what the others compare with"]
fn record_models_anew() {
    let text = recorded();
    let written = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let link = row["link"].as_str().unwrap();
        let anew = RECORDED_ANEW.iter().any(|(part, _)| link.contains(part));
        if anew { object!({ "link": link, "answer": answer(link) }).to_string() } else { line.to_owned() }
    });
    let rows: Vec<String> = written.collect();
    fs::write(file(), compress_to_vec_zlib(rows.join("\n").as_bytes(), 9)).unwrap();
}

/// Choices that did not exist when the answers were recorded; each has rows of PyTorch's memory tracker.
const CHOICES_SINCE: &[&str] = &[
    "fam=olmoe",
    "fam=minimax-m2",
    "fam=glm4-moe",
    "fam=granite-swa",
    "fam=nanochat",
    "fam=apertus",
    "fam=hunyuan-moe",
    "fam=ernie-moe",
    "fam=mimo-v2-flash",
    "fam=gemma3n",
    "act=xielu",
    "opt=muon",
];

/// Links that say what they say by words of the field table: every choice of that time occurs, so that no family, stack or format is left
/// out.
#[test]
fn the_links_go_over_every_choice() {
    let text = recorded();
    let scenarios: Vec<Scenario> = text
        .lines()
        .map(|line| decode(serde_json::from_str::<Value>(line).unwrap()["link"].as_str().unwrap()).scenario)
        .collect();
    let mut missing = Vec::new();
    // Keys of files came with version 2.
    for field in fields().iter().filter(|field| !matches!(field.default, FieldDefault::OfFile)) {
        if let FieldKind::Choice(options) = field.kind {
            let unused = options.iter().filter(|option| {
                !scenarios.iter().any(|scenario| scenario.get(field.id) == headroom::scenario::Value::Choice(option.value))
            });
            missing.extend(unused.map(|option| format!("{}={}", field.key, option.value)));
        }
    }
    missing.retain(|choice| !CHOICES_SINCE.contains(&choice.as_str()));
    assert!(missing.is_empty(), "{missing:?}");
}
