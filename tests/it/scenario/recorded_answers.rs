//! A net under changes of the engine's structure: the answers to 2,904 links of version 1, as they were when they were recorded.
//!
//! The links go over all modes, families, stacks, shardings, formats and engines. Memory must stay the same to the byte, sentences to
//! the letter; times may move by 0.1 %. `cargo test --release --test it recorded_answers -- --ignored` draws the links from a fixed seed
//! and records the answers of the present program anew: do that only for a change that is told under *Estimates* in the changelog.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};

use headroom::app::report::{Report, json};
use headroom::catalog;
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{Field, FieldKind, Mode, Scenario, Word, field, field_of_key, fields};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json as object};

/// The seed that the links are drawn from.
const SEED: [u8; 32] = [22; 32];
/// How many links are recorded, by what comes of them: an estimate, an estimate that a rule forbids, a problem of an input.
const WANTED: [(&str, usize); 3] = [("runs or not", 1600), ("forbidden", 600), ("input", 200)];

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/links/answers/answers.jsonl.zz")
}

/// The recorded answers, one JSON object a line.
fn recorded() -> String {
    String::from_utf8(decompress_to_vec_zlib(&fs::read(file()).unwrap()).unwrap()).unwrap()
}

/// Values that are worth asking for, of inputs whose range is wide.
const NUMBERS: [(&str, &[&str]); 44] = [
    ("h", &["1024", "2048", "3072", "4096", "5120"]),
    ("l", &["2", "8", "24", "36", "61"]),
    ("a", &["8", "16", "32", "40"]),
    ("kv", &["1", "2", "4", "8", "16"]),
    ("hd", &["64", "96", "128", "256"]),
    ("ff", &["2816", "8192", "14336"]),
    ("v", &["32000", "50257", "128256", "262144"]),
    ("sw", &["512", "4096"]),
    ("rd", &["32", "64"]),
    ("ex", &["8", "64", "128"]),
    ("ept", &["1", "2", "8"]),
    ("exf", &["768", "1408", "4096"]),
    ("exs", &["0", "1408"]),
    ("nb", &["0", "1", "2", "4"]),
    ("s", &["512", "1024", "2048", "4096", "16384", "32768", "131072"]),
    ("gb", &["8", "32", "64", "256", "512", "1024"]),
    ("b", &["1", "2", "4", "8"]),
    ("n", &["1", "2", "4", "16", "32", "64", "128", "512", "1024"]),
    ("tp", &["1", "2", "4", "8"]),
    ("pp", &["1", "2", "4", "8"]),
    ("cp", &["1", "2", "4"]),
    ("ep", &["1", "2", "4", "8"]),
    ("etp", &["1", "2"]),
    ("vp", &["1", "2", "4"]),
    ("rep", &["1", "2", "4"]),
    ("lf", &["1", "4", "7"]),
    ("ll", &["1", "4", "7"]),
    ("ctx", &["1024", "4096", "32768", "131072"]),
    ("seqs", &["1", "4", "64", "256"]),
    ("pf", &["512", "2048", "8192"]),
    ("in", &["128", "1024", "4096"]),
    ("pre", &["0", "512"]),
    ("len", &["512", "2048"]),
    ("lenp", &["4096", "8000"]),
    ("usr", &["10", "200", "1000"]),
    ("bs", &["16", "32"]),
    ("grp", &["32", "64", "128"]),
    ("r", &["4", "8", "64"]),
    ("nvt", &["8", "100"]),
    ("fzl", &["0", "8"]),
    ("ron", &["8", "256"]),
    ("txt", &["300", "1000"]),
    ("rn", &["1", "2", "4"]),
    ("rb", &["2e8", "5e8"]),
];

/// One field's part of a link, or nothing for a field that is left alone.
fn part(field: &Field, seed: u64) -> Option<String> {
    let pick = |count: usize| usize::try_from(seed >> 8).unwrap_or_default() % count.max(1);
    let value = match field.kind {
        FieldKind::Choice(options) => options[pick(options.len())].value.to_owned(),
        FieldKind::Flag => (seed >> 8 & 1).to_string(),
        FieldKind::Layers => ["none", "all", "every-4"][pick(3)].to_owned(),
        FieldKind::Integer { .. } | FieldKind::Decimal { .. } => {
            let (_, values) = NUMBERS.iter().find(|(key, _)| *key == field.key)?;
            values[pick(values.len())].to_owned()
        }
        FieldKind::Model | FieldKind::Accelerator | FieldKind::Text { .. } | FieldKind::Keys { .. } => return None,
    };
    Some(format!("&{}={value}", field.key))
}

/// Choices that decide most of an answer: each link states about half of those that count in its mode.
const DECISIVE: [&str; 13] = ["ker", "z", "opt", "prec", "rc", "att", "tp", "n", "ft", "obj", "srv", "w", "kvd"];

/// A link of that seed: a mode, a model, an accelerator, and some inputs that count in that mode.
fn link([mode, model, card, few]: [u64; 4], changes: &[(usize, u64)]) -> String {
    let modes = [Mode::Train, Mode::Train, Mode::Train, Mode::Tune, Mode::Serve];
    let at = |number: u64, count: usize| usize::try_from(number).unwrap_or_default() % count;
    let mode = modes[at(mode >> 3, modes.len())];
    let models = catalog::models();
    let mut text = format!("v1&do={}&m={}", mode.word(), models[at(model, models.len())].id);
    if card.is_multiple_of(3) {
        let cards = catalog::accelerators();
        text.extend(["&gpu=", cards[at(card >> 4, cards.len())].id]);
    }
    let mut known: Vec<&Field> = fields().iter().filter(|field| field.applies.in_mode(mode)).collect();
    let decisive = known.iter().filter(|field| DECISIVE.contains(&field.key)).zip(0_u32..);
    let mut wanted: Vec<(&Field, u64)> = decisive
        .filter(|(_, at)| few.rotate_right(*at).is_multiple_of(2))
        .map(|(field, at)| (*field, few.rotate_left(5 * at + 7)))
        .collect();
    // Most scenarios start from a model as it is; some have the modules of another family.
    known.retain(|field| few.is_multiple_of(3) || !field.group.is_architecture());
    wanted.extend(field_of_key("fam").filter(|_| few.is_multiple_of(5)).map(|family| (family, card)));
    wanted.extend(changes.iter().map(|(index, seed)| (known[index % known.len()], *seed)));
    let mut seen = Vec::new();
    for (field, seed) in wanted {
        if !seen.contains(&field.id)
            && let Some(part) = part(field, seed)
        {
            seen.push(field.id);
            text += &part;
        }
    }
    text
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

fn class(answer: &Value) -> usize {
    match (answer.get("input"), answer["blockers"].as_array()) {
        (Some(_), _) => 2,
        (None, Some(blockers)) if !blockers.is_empty() => 1,
        _ => 0,
    }
}

/// A link for every choice of every input, in the first mode where it counts.
fn links_of_choices() -> Vec<String> {
    let mut links = Vec::new();
    for field in fields() {
        let mode = [Mode::Train, Mode::Tune, Mode::Serve].into_iter().find(|mode| field.applies.in_mode(*mode));
        if let (FieldKind::Choice(options), Some(mode)) = (field.kind, mode) {
            let link = |word: &str| format!("v1&do={}&m=llama3-8b&n=8&{}={word}", mode.word(), field.key);
            links.extend(options.iter().map(|option| link(option.value)));
        }
    }
    links
}

/// Links of models that only a `config.json` brings, such as layers that keep a state: each trained, served, and served with a rule.
fn imported_links() -> Vec<String> {
    let mut links = Vec::new();
    for file in ["states", "parameters_families"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/truth/{file}.jsonl"));
        for line in fs::read_to_string(path).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let imported = headroom::import::config_json(&row["config"].to_string()).unwrap();
            let mut scenario = Scenario::default();
            scenario.apply_imported(&imported);
            let link = encode(&scenario);
            let shape = link.split_once("&m=").map_or(String::new(), |(_, shape)| format!("&m={shape}"));
            links.extend(["v1", "v1&do=serve", "v1&do=serve&srv=vllm&n=1&ctx=2048"].map(|start| format!("{start}{shape}")));
        }
    }
    links
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

#[test]
#[ignore = "records the answers anew"]
fn record() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &SEED));
    let seeds = (any::<[u64; 4]>(), prop::collection::vec((0..1000_usize, any::<u64>()), 0..6));
    let mut left = WANTED.map(|(_, count)| count);
    let mut rows = Vec::new();
    while left.iter().any(|count| *count > 0) {
        let (start, changes) = seeds.new_tree(&mut runner).unwrap().current();
        let link = link(start, &changes);
        let answer = answer(&link);
        let class = class(&answer);
        if left[class] > 0 {
            left[class] -= 1;
            rows.push(object!({ "link": link, "answer": answer }).to_string());
        }
    }
    let listed = links_of_choices().into_iter().chain(imported_links());
    rows.extend(listed.map(|link| object!({ "answer": answer(&link), "link": link }).to_string()));
    let text = rows.join("\n");
    fs::write(file(), compress_to_vec_zlib(text.as_bytes(), 9)).unwrap();
}

/// Parts of links whose answers were recorded anew where they had moved, and why; CHANGELOG says so under *Estimates*.
const RECORDED_ANEW: &[(&str, &str)] = &[
    ("&m=glm4.5", "modules of its own: the router's correction is a buffer in fp32 (23 kB); no longer assumed"),
    ("&m=glm4.6", "modules of its own: the router's correction is a buffer in fp32 (57 kB); no longer assumed"),
    ("&m=deepseek-v2", LATENT),
    ("&m=deepseek-v3", LATENT),
    ("&m=deepseek-r1", LATENT),
    ("&m=kimi-k2", LATENT),
    ("&m=kimi-linear-48b", LATENT),
    ("&m=moonlight-16b", LATENT),
    ("&m=qwen1.5-moe", GATE),
    ("&m=qwen2-57b", GATE),
    ("&m=qwen3-next-80b", GATE),
    ("&m=qwen3.5-35b-a3b", GATE),
    ("&m=opt-350m", "FLOPs: its head is 512 wide, with a product before and behind the blocks, in place of one of 1,024"),
    ("do=tune", "FLOPs: adapters' products are counted, and a score's head has one column in place of the vocabulary"),
];
const LATENT: &str = "FLOPs: values of latent attention are counted at their own width in place of the queries'";
const GATE: &str = "FLOPs: the shared experts' gate of one column is counted";

/// Whether the times of an answer were recorded anew: of stacks whose modules are played, they are read off what was played.
fn is_timed_anew(link: &str) -> bool {
    let job = decode(link).scenario.resolve();
    job.is_ok_and(|job| job.training().is_some_and(|run| run.stack.is_played()))
}

/// Records what moved in the answers to the links above anew, of others the times where these were, and leaves the rest as it is. Run it
/// once after an entry is added.
#[test]
#[ignore = "it writes what the others compare with"]
fn record_some_anew() {
    let text = recorded();
    let written = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let link = row["link"].as_str().unwrap();
        let anew = RECORDED_ANEW.iter().any(|(part, _)| link.contains(part));
        if !anew && !is_timed_anew(link) {
            return line.to_owned();
        }
        let mut now = answer(link);
        if !anew {
            let mut kept = row["answer"].clone();
            kept["time"] = now["time"].take();
            now = kept;
        }
        let moved = difference("", &row["answer"], &now).is_some();
        if moved { object!({ "link": link, "answer": now }).to_string() } else { line.to_owned() }
    });
    let rows: Vec<String> = written.collect();
    fs::write(file(), compress_to_vec_zlib(rows.join("\n").as_bytes(), 9)).unwrap();
}

/// Choices that did not exist when the answers were recorded; each has rows of PyTorch's memory tracker.
const CHOICES_SINCE: &[&str] =
    &["fam=olmoe", "fam=minimax-m2", "fam=glm4-moe", "fam=granite-swa", "fam=nanochat", "fam=apertus", "act=xielu", "opt=muon"];

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
    for field in fields() {
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
