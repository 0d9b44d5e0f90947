//! Searches as people type them find the intended row. Each file under `tests/data/queries` holds
//! one search a line, with the row that must come first, or several rows one of which must.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use headroom::catalog::{Finder, accelerators, models};
use serde::Deserialize;

/// One line: the typed text and the row that it means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    row: Option<String>,
    #[serde(default)]
    rows: Vec<String>,
}

impl Search {
    fn means(&self, id: &str) -> bool {
        self.row.iter().chain(&self.rows).any(|row| row == id)
    }
}

/// The searches of all files of a list: `models.jsonl`, `models-by-hand.jsonl`.
fn queries(list: &str) -> Vec<Search> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries");
    let files =
        fs::read_dir(folder).expect("the folder of searches").flatten().map(|entry| entry.path());
    let of_list = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(list))
    };
    let text: String = files
        .filter(of_list)
        .map(|file| fs::read_to_string(file).expect("a file of searches"))
        .collect();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

/// Asserts that at least 95 of 100 searches find their row first, and that all name rows that
/// exist; prints the searches that miss.
fn check(list: &str, least: usize, finder: &Finder, ids: &[&str]) {
    let queries = queries(list);
    assert!(queries.len() >= least, "{list}: {} queries", queries.len());
    let mut missed = 0;
    for query in &queries {
        assert!(
            ids.iter().any(|id| query.means(id)),
            "“{}” names no row of the catalog",
            query.query
        );
        let found: Vec<&str> = finder
            .find(&query.query)
            .into_iter()
            .filter_map(|at| ids.get(at).copied())
            .take(4)
            .collect();
        if !found.first().is_some_and(|id| query.means(id)) {
            missed += 1;
            println!(
                "{list}: “{}” finds {found:?}, not {:?}{:?}",
                query.query, query.row, query.rows
            );
        }
    }
    println!("{list}: {} of {} find their row first", queries.len() - missed, queries.len());
    assert!(missed * 20 <= queries.len(), "{missed} of {} searches miss", queries.len());
}

#[test]
fn accelerators_are_found_as_people_type_them() {
    let ids: Vec<&str> = accelerators().iter().map(|row| row.id).collect();
    check("accelerators", 45, Finder::of_accelerators(), &ids);
}

#[test]
fn models_are_found_as_people_type_them() {
    let ids: Vec<&str> = models().iter().map(|row| row.id).collect();
    check("models", 75, Finder::of_models(), &ids);
}

/// Searches for models that people run in 2026: each finds its row in the first or the second
/// place.
#[test]
fn what_people_run_is_found_first_or_second() {
    let found = |typed: &str| {
        Finder::of_models()
            .find(typed)
            .into_iter()
            .filter_map(|at| models().get(at))
            .map(|row| row.id)
    };
    let asked = queries("models-2026");
    assert!(asked.len() >= 60);
    for search in &asked {
        let first: Vec<&str> = found(&search.query).take(2).collect();
        assert!(first.iter().any(|id| search.means(id)), "“{}” finds {first:?}", search.query);
    }
    // A size alone finds the first model of that size in the list's order.
    for (typed, size) in
        [("8b", 8_000_000_000_u64), ("70b", 70_000_000_000), ("32b", 32_000_000_000)]
    {
        let first = Finder::of_models()
            .find(typed)
            .first()
            .and_then(|at| models().get(*at))
            .expect("a row");
        let count = first.published_parameters.expect("a count");
        assert!(count.abs_diff(size) * 10 <= size, "“{typed}” finds {}", first.id);
    }
}
