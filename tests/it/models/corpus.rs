//! 295 real `config.json` files: each is counted exactly, or named as partly counted, or refused.
//! No count is wrong without a remark.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use headroom::config::ModelConfig;
use headroom::import::{Imported, config_json};
use headroom::ops::parameters_of;
use serde_json::Value as Json;

const INDEX: &str = include_str!("../../data/configs/corpus/index.jsonl");
/// Counts of the models that transformers 5.23 builds of them (`data/tools/corpus.py`).
const COUNTS: &str = include_str!("../../data/truth/parameters_corpus.jsonl");

fn rows(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn text(row: &Json) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/configs/corpus");
    fs::read_to_string(folder.join(row["file"].as_str().expect("a file")))
        .expect("a file of the corpus")
}

fn counts() -> BTreeMap<String, Json> {
    rows(COUNTS)
        .into_iter()
        .map(|row| (row["file"].as_str().expect("a file").to_owned(), row))
        .collect()
}

/// True if the reading names parts that its count leaves out.
fn is_flagged(imported: &Imported) -> bool {
    !imported.not_counted.is_empty()
        || imported.left_out.iter().any(|left| !left.of_checkpoint)
        || !imported.upper_bounds.is_empty()
}

#[test]
fn no_file_is_off_without_a_word() {
    let (counts, index) = (counts(), rows(INDEX));
    let [mut exact, mut flagged, mut refused, mut read] = [0; 4];
    for row in &index {
        let Ok(imported) = config_json(&text(row)) else {
            refused += 1;
            continue;
        };
        assert!(imported.known, "{row}");
        let truth = &counts[row["file"].as_str().expect("a file")]["text"];
        // Only the text part is compared here; towers are compared below.
        let count = support::parameters(&ModelConfig { tower: None, ..imported.config.clone() });
        match truth.as_u64() {
            _ if is_flagged(&imported) => flagged += 1,
            None => read += 1,
            Some(truth) => {
                let off = count.abs_diff(truth);
                assert!(
                    off.saturating_mul(1000) <= truth,
                    "{} has {truth} parameters, not {count}",
                    row["file"]
                );
                exact += 1;
            }
        }
    }
    assert_eq!((index.len(), counts.len()), (295, 295));
    // `read` counts the files that transformers cannot build, which have no count to compare with.
    assert_eq!([exact, flagged, refused, read], [EXACT, FLAGGED, REFUSED, READ]);
}

const EXACT: i32 = 199;
const FLAGGED: i32 = 48;
const REFUSED: i32 = 5;
const READ: i32 = 43;
const TOWERS: i32 = 33;

/// Nearly all files that look unedited are of a known kind; two are refused.
#[test]
fn files_as_published_are_read() {
    let published = |row: &&Json| {
        ["verbatim", "complete"].contains(&row["fidelity"].as_str().unwrap_or_default())
    };
    let index = rows(INDEX);
    let refused: Vec<_> =
        index.iter().filter(published).filter(|row| config_json(&text(row)).is_err()).collect();
    assert_eq!((index.iter().filter(published).count(), refused.len()), (187, 2), "{refused:?}");
}

/// A file of an ordinary decoder, as its makers published it, gets no warning.
#[test]
fn ordinary_files_are_not_flagged() {
    let kinds = [
        "llama",
        "qwen2",
        "qwen3",
        "qwen3_moe",
        "mistral",
        "mixtral",
        "gemma2",
        "phi3",
        "gpt2",
        "opt",
        "gpt_neox",
        "falcon",
    ];
    let mut seen = 0;
    for row in rows(INDEX) {
        let (kind, fidelity) = (
            row["model_type"].as_str().unwrap_or_default(),
            row["fidelity"].as_str().unwrap_or_default(),
        );
        // Draft models and demonstrations use the name of a kind without having its structure.
        let borrowed = ["EAGLE3", "AFMTextV7"]
            .iter()
            .any(|part| row["file"].as_str().is_some_and(|file| file.contains(part)));
        if !kinds.contains(&kind) || !["verbatim", "complete"].contains(&fidelity) || borrowed {
            continue;
        }
        let imported = config_json(&text(&row)).expect("a known kind");
        assert!(
            !is_flagged(&imported),
            "{row}: {:?} {:?}",
            imported.not_counted,
            imported.left_out
        );
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

/// The parameters of a tower and its projector are those that transformers builds.
#[test]
fn towers_are_counted_exactly_or_left_out() {
    let counts = counts();
    let mut exact = 0;
    for row in rows(INDEX) {
        let Ok(imported) = config_json(&text(&row)) else { continue };
        // An encoder beside a decoder is part of the count that the first test of this file
        // compares.
        if imported.config.tower.is_none() || imported.config.encoder.is_some() {
            continue;
        }
        let parts =
            counts[row["file"].as_str().expect("a file")]["left_out"].as_object().expect("parts");
        let truth: u64 = parts.values().filter_map(Json::as_u64).sum();
        let of_text = parameters_of(&ModelConfig { tower: None, ..imported.config.clone() });
        assert_eq!(parameters_of(&imported.config) - of_text, truth, "{row}");
        exact += 1;
    }
    assert_eq!(exact, TOWERS);
}

/// Every model has a name: its own, or that of its kind.
#[test]
fn no_file_is_without_a_name() {
    let mut read = 0;
    for row in rows(INDEX) {
        let Ok(imported) = config_json(&text(&row)) else { continue };
        read += 1;
        let label = headroom::import::kind_label(&imported.model_type);
        assert!(
            !label.is_empty()
                && label.starts_with(|sign: char| sign.is_alphabetic())
                && !label.contains('_'),
            "{label}"
        );
        assert!(
            imported.name.is_none_or(|name| !name.contains('/') && !name.starts_with('.')),
            "{row}"
        );
    }
    assert!(read > rows(INDEX).len() / 2, "{read} files are read");
}
