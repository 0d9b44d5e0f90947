//! Rows of PyTorch's memory tracker, to the byte: the bars of the tables would let a rule slip that
//! moves one row by a few bytes.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Rows that the tracker measured, beside those of [`FOLDER`].
const FILES: [&str; 5] = [
    "tests/data/truth/training_memory.jsonl",
    "tests/data/truth/lora.jsonl",
    "tests/data/tuning/adapters.jsonl",
    "tests/data/tuning/adapters_source.jsonl",
    "tests/data/tuning/qlora.jsonl",
];

/// Further rows, one file per family.
const FOLDER: &str = "tests/data/measured";

/// A figure that is not the measured one: the file's name, the row, the figure, and ours less the
/// measured one in bytes.
type Off = (&'static str, &'static str, &'static str, i128);

/// The figures that are off. A row leaves the list when it is exact; one that was exact enters it
/// only with a reason.
const OFF: [Off; 12] = [
    // The reason is not known.
    ("deberta_v2", "547b20b58e", "peak", -15_350),
    // A block that runs again holds one hidden state more here than there; the reason is not known.
    ("doge", "1be3f70740", "peak", 73_728),
    ("doge", "aee03fe5cf", "peak", 12_288),
    // Kinds without modules of their own, played as the usual block.
    ("generic", "26fe34a19f", "activations", -110_592),
    ("generic", "cdf68c2148", "activations", -8192),
    ("generic", "cdf68c2148", "peak", -8192),
    // The final norm under autocast keeps one more copy there than here; the reason is not known.
    ("nemotron", "ef060f966c", "activations", -132_096),
    // T5 beside its encoder under FSDP2; the reason is not known.
    ("parallel", "db81e22220", "peak", 1128),
    // The reason is not known.
    ("stablelm", "713359053e", "peak", -176),
    // A checkpoint within a checkpoint: a few hidden states are given back at moments that differ
    // from run to run.
    ("zamba", "9db6944ba1", "peak", 10_752),
    ("zamba2", "7d774dd3c9", "peak", -115_200),
    ("zamba2", "e6cc7edbe6", "peak", -49_920),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file of rows.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(FOLDER))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let rows = entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    FILES.iter().map(|file| root().join(file)).chain(rows).collect()
}

/// The files after the command has run their rows.
fn report() -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_accuracy"))
        .arg("--rows")
        .args(files())
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The figures of a row that are not the measured ones, with the difference; a row without figures
/// is off, too.
fn off(row: &Value) -> Vec<(String, Option<i128>)> {
    let Some(figures) = row["figures"].as_object() else {
        return vec![(row["unsupported"].to_string(), None)];
    };
    let whole = |figure: &Value, side: &str| figure[side].as_u64().map(i128::from);
    let difference = |figure: &Value| Some(whole(figure, "ours")? - whole(figure, "measured")?);
    let all = figures.iter().map(|(name, figure)| (name.clone(), difference(figure)));
    all.filter(|(_, difference)| *difference != Some(0)).collect()
}

#[test]
fn every_row_of_the_tracker_is_exact_but_those_of_the_list() {
    let report = report();
    let mut rows = 0;
    let mut found = BTreeSet::new();
    for file in report["files"].as_array().expect("a list of files") {
        let name = Path::new(file["file"].as_str().expect("a path"))
            .file_stem()
            .expect("a name")
            .to_string_lossy();
        for row in file["each"].as_array().expect("rows") {
            rows += 1;
            let id = row["id"].as_str().expect("an id");
            found.extend(
                off(row)
                    .into_iter()
                    .map(|(figure, by)| (name.to_string(), id.to_owned(), figure, by)),
            );
        }
    }
    let known: BTreeSet<_> =
        OFF.iter().map(|(file, id, name, by)| owned(file, id, name, *by)).collect();
    let newly: Vec<_> = found.difference(&known).collect();
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(
        newly.is_empty() && gone.is_empty(),
        "off and not of the list: {newly:?}\nof the list and not off so: {gone:?}"
    );
    assert!(rows >= 920, "{rows} rows were read");
}

fn owned(file: &str, id: &str, name: &str, by: i128) -> (String, String, String, Option<i128>) {
    (file.to_owned(), id.to_owned(), name.to_owned(), Some(by))
}
