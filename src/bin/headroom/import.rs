//! `headroom import FILE…` reads the files of one model. With several `config.json` files it counts
//! how many are read, and compares their parameters with those that transformers builds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use headroom::checkpoint::{self, FileStart, MOST_BYTES, understood};
use headroom::import::{How, Imported, config_json};
use headroom::ops::parameters_of;
use serde_json::Value;

/// The largest deviation of a count that needs no remark, in thousandths.
const TOLERANCE: u64 = 1;

/// How one file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Read without a remark, and the count equals the list's.
    Exact,
    /// Read without a remark; no list has a count to compare with.
    Read,
    /// Read, and remarks name the parts that are not counted.
    Flagged,
    /// Refused by a sentence.
    Refused,
    /// Read without a remark, but the count differs from the list's.
    Off,
}

/// The table of the given files and folders; `counts` is a file of exact counts, lines of JSON with
/// `file` and `text`.
pub fn run(paths: &[String], counts: Option<&str>) -> Result<String, String> {
    if paths.is_empty() {
        return Err("name at least one config.json, or a folder of such files".to_owned());
    }
    if let ([path], None) = (paths, counts)
        && let Some(files) = of_one_model(Path::new(path))?
    {
        return one_model(&files);
    }
    let counts = counts.map_or_else(|| Ok(BTreeMap::new()), exact_counts)?;
    let mut found = BTreeMap::new();
    let mut text = String::new();
    for path in files(paths)? {
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let content = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let (outcome, line) = outcome(&content, counts.get(&name).copied());
        *found.entry(outcome).or_insert(0_u64) += 1;
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{}\t{name}\t{line}", word(outcome));
    }
    let of = |outcome| found.get(&outcome).copied().unwrap_or(0);
    let _ = write!(
        text,
        "{} exact, {} flagged, {} refused; {} read without a count to compare with; {} off by more \
         than 0.1 % without a word",
        of(Outcome::Exact),
        of(Outcome::Flagged),
        of(Outcome::Refused),
        of(Outcome::Read),
        of(Outcome::Off)
    );
    Ok(text)
}

/// The files of one model: a single file, or a folder's files where the folder holds a model;
/// `None` for any other folder.
fn of_one_model(path: &Path) -> Result<Option<Vec<PathBuf>>, String> {
    if !path.is_dir() {
        return Ok(Some(vec![path.to_path_buf()]));
    }
    let entries = fs::read_dir(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.retain(|file| file.is_file() && checkpoint::is_of_a_model(&name_of(file)));
    files.sort();
    Ok((!files.is_empty()).then_some(files))
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The sentence about a model, its parts that are left out, its stored tensors, and every key.
fn one_model(files: &[PathBuf]) -> Result<String, String> {
    let starts = files.iter().map(|path| beginning(path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = files.iter().map(|path| name_of(path)).collect();
    let parts: Vec<FileStart<'_>> =
        names.iter().zip(&starts).map(|(name, start)| FileStart { name, start }).collect();
    let found = checkpoint::read(&parts).map_err(|error| error.to_string())?;
    let mut lines = vec![understood(&found.imported)];
    lines.extend(
        found
            .imported
            .left_out
            .iter()
            .map(|left| format!("left out: {} ({})", left.part, left.key)),
    );
    lines.extend(
        found
            .imported
            .upper_bounds
            .iter()
            .map(|note| format!("counted as more than it is: {note}")),
    );
    lines.extend(found.compared());
    lines.push(String::new());
    lines.extend(found.imported.report.iter().map(|row| {
        let how = match row.how {
            How::Read => "read",
            How::Derived => "derived",
            How::Assumed => "assumed",
            How::Ignored => "ignored",
        };
        format!("{:<32}{:<24}{how:<10}{}", row.key, row.value, row.note).trim_end().to_owned()
    }));
    Ok(lines.join("\n"))
}

/// The beginning of a file, at most `MOST_BYTES`, because weights follow the header and are not
/// needed. Of a safetensors file only the header is read, whose size its first eight bytes state.
fn beginning(path: &Path) -> Result<Vec<u8>, String> {
    let unread = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let mut file = fs::File::open(path).map_err(unread)?;
    let mut bytes = Vec::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let mut rest = most;
    if name_of(path).ends_with(".safetensors") {
        file.by_ref().take(8).read_to_end(&mut bytes).map_err(unread)?;
        rest = bytes.as_slice().try_into().map_or(0, u64::from_le_bytes).min(most);
    }
    file.take(rest).read_to_end(&mut bytes).map_err(unread)?;
    Ok(bytes)
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Exact => "exact",
        Outcome::Read => "read",
        Outcome::Flagged => "flagged",
        Outcome::Refused => "refused",
        Outcome::Off => "OFF",
    }
}

/// All given files, and the files of given folders in the order of their names.
fn files(paths: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for path in paths.iter().map(Path::new) {
        if !path.is_dir() {
            all.push(path.to_path_buf());
            continue;
        }
        let entries = fs::read_dir(path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let mut inside: Vec<PathBuf> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        inside.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}

/// Parameters of the part for text, and of the whole model, by the file's name.
fn exact_counts(path: &str) -> Result<BTreeMap<String, [u64; 2]>, String> {
    let text =
        fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).map_err(|error| format!("{path}: {error}"))?;
        if let (Some(file), Some(count)) = (row["file"].as_str(), row["text"].as_u64()) {
            counts.insert(file.to_owned(), [count, row["whole"].as_u64().unwrap_or(count)]);
        }
    }
    Ok(counts)
}

/// Reads the text of one file, and returns how it was read with the line about it.
fn outcome(text: &str, exact: Option<[u64; 2]>) -> (Outcome, String) {
    let imported = match config_json(text) {
        Ok(imported) => imported,
        Err(problem) => return (Outcome::Refused, problem.to_string()),
    };
    let count = parameters_of(&imported.config);
    let exact =
        exact.map(|[text, whole]| if imported.config.tower.is_some() { whole } else { text });
    let doubts = doubts(&imported);
    let agrees = exact
        .map(|exact| count.abs_diff(exact).saturating_mul(1000) <= exact.saturating_mul(TOLERANCE));
    let outcome = match (doubts.is_empty(), agrees) {
        (false, _) => Outcome::Flagged,
        (true, Some(true)) => Outcome::Exact,
        (true, None) => Outcome::Read,
        (true, Some(false)) => Outcome::Off,
    };
    let mut line = format!("{}\t{count}", imported.model_type);
    if let Some(exact) = exact {
        let _ = write!(line, "\ttransformers: {exact}");
    }
    for doubt in doubts {
        let _ = write!(line, "\t{doubt}");
    }
    (outcome, line)
}

/// Remarks on parts that are not counted, or are only bounded.
fn doubts(imported: &Imported) -> Vec<String> {
    let keys = imported.not_counted.iter().map(|key| format!("not counted: {key}"));
    let left_out = imported.left_out.iter().filter(|left| !left.of_checkpoint);
    let parts = left_out.map(|left| format!("left out: {}", left.part));
    let bounds = imported.upper_bounds.iter().map(|note| format!("upper bound: {note}"));
    keys.chain(parts).chain(bounds).collect()
}
