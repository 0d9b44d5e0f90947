//! `docs/kinds.md` lists transformers' kinds that are refused or read in part, each with the
//! reason.
//!
//! The page is generated from the library's default file of every kind
//! (`tests/data/kinds.jsonl.zz`, written by `tools/kinds.py`), and a test compares it with the
//! importer's present answers.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use headroom::import::{ImportError, Imported, config_json};
use headroom::ops::parameters_of;
use serde::Deserialize;

/// The default file of one kind.
#[derive(Clone, Deserialize)]
struct Kind {
    task: String,
    #[serde(rename = "kind")]
    model_type: String,
    text: Option<u64>,
    whole: Option<u64>,
    config: serde_json::Value,
}

/// The folders of tasks, with the words for each task.
const TASKS: [(&str, &str); 5] = [
    ("causal", "text"),
    ("image", "images and text"),
    ("masked", "masked text"),
    ("seq2seq", "text to text"),
    ("speech", "speech to text"),
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn kinds() -> Vec<Kind> {
    let mut text = String::new();
    let packed = fs::read(path("tests/data/kinds.jsonl.zz")).expect("a file");
    flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("a text");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// Each kind once: a decoder that is part of a larger model is listed as that model and not by
/// itself.
fn kinds_of_whole_models() -> Vec<Kind> {
    let (text, others): (Vec<_>, Vec<_>) =
        kinds().into_iter().partition(|kind| kind.task == "causal");
    let is_part = |kind: &Kind| others.iter().any(|other| other.model_type == kind.model_type);
    text.into_iter().filter(|kind| !is_part(kind)).chain(others.iter().map(Kind::clone)).collect()
}

/// The reason for refusing a kind, in a few words.
fn reason(problem: &ImportError) -> String {
    match problem {
        ImportError::NotModelled { what, .. } => format!("has {what}"),
        ImportError::UnknownKind { model_type } => {
            format!("no family describes the modules of `{model_type}`")
        }
        // Some default files of the library lack a key that files on the hub have.
        other => other.to_string().split(';').next().unwrap_or_default().to_owned(),
    }
}

/// The parts and keys that the count of a read kind leaves out.
fn doubts(imported: &Imported) -> Vec<String> {
    let parts = imported
        .left_out
        .iter()
        .filter(|left| !left.of_checkpoint)
        .map(|left| format!("without its {}", left.part));
    let keys = imported.not_counted.iter().map(|key| format!("`{key}` is not understood"));
    parts.chain(keys).chain(imported.upper_bounds.iter().cloned()).collect()
}

/// One table of the page, with a row for each kind and task.
fn table(rows: &[(String, String, String)]) -> String {
    let mut text = String::from("| kind | for | why |\n|---|---|---|\n");
    for (task, kind, why) in rows {
        let task = TASKS.iter().find(|(word, _)| word == task).map_or("", |(_, words)| *words);
        writeln!(text, "| `{kind}` | {task} | {} |", why.replace('|', "\\|"))
            .expect("a text takes everything");
    }
    text
}

/// The text of the page, and the number of kinds that are read exactly.
fn page() -> (String, usize) {
    let (mut refused, mut in_part, mut exact) = (Vec::new(), Vec::new(), 0);
    for kind in kinds_of_whole_models() {
        match config_json(&kind.config.to_string()) {
            Err(problem) => refused.push((kind.task, kind.model_type, reason(&problem))),
            Ok(imported) => match doubts(&imported) {
                doubts if doubts.is_empty() => {
                    let expected =
                        if imported.config.tower.is_some() { kind.whole } else { kind.text };
                    assert_eq!(
                        Some(parameters_of(&imported.config)),
                        expected,
                        "{} {} is off without a word",
                        kind.task,
                        kind.model_type
                    );
                    exact += 1;
                }
                doubts => in_part.push((kind.task, kind.model_type, doubts.join("; "))),
            },
        }
    }
    let text = format!(
        "# Kinds that are refused or read in part\n\nWritten by `cargo test --test it -- --ignored \
         record_kinds_anew`, from the default file that transformers 5.23 has for each kind; a \
         test holds it to what `headroom import` says. Of {} kinds {exact} are read to the last \
         parameter.\n\n## Refused ({})\n\n{}\n## Read in part ({})\n\n{}",
        exact + refused.len() + in_part.len(),
        refused.len(),
        table(&refused),
        in_part.len(),
        table(&in_part)
    );
    (text, exact)
}

#[test]
fn the_table_of_refused_kinds_says_what_the_importer_says() {
    let (text, exact) = page();
    assert!(exact > 0);
    let written = fs::read_to_string(path("docs/kinds.md")).expect("a page");
    let differs = written.lines().zip(text.lines()).find(|(written, now)| written != now);
    assert!(
        written == text,
        "docs/kinds.md is old ({differs:?}): run cargo test --test it -- --ignored \
         record_kinds_anew, and say why in the changelog"
    );
}

#[test]
#[ignore = "writes docs/kinds.md"]
fn record_kinds_anew() {
    fs::create_dir_all(path("docs")).expect("a folder");
    fs::write(path("docs/kinds.md"), page().0).expect("a page");
}
