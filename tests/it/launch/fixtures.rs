//! Real commands and files. Beside each is its expected reading (`NAME.read`), which a person has
//! reviewed against the tool's own definitions of its arguments. Sources:
//! `tests/data/launch/SOURCES.md`.
//!
//! `NAME.with.FILE` is a file that the command `NAME.sh` finds beside it under the name FILE. After
//! a change, review the differences and rewrite all readings with `cargo test --test it --
//! --ignored record_launches_anew`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use headroom::launch::{Format, Pasted, Way, read};
use headroom::scenario::{Scenario, codec};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/launch")
}

/// The name of a file without its folder.
fn name_of(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Commands and files that are started, by format, without the files beside them.
fn fixtures() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder())
        .expect("tests/data/launch")
        .flatten()
        .filter(|entry| entry.path().is_dir())
    {
        for file in fs::read_dir(entry.path()).expect("a format's folder").flatten() {
            let name = name_of(&file.path());
            if !name.ends_with(".read") && !name.contains(".with.") {
                found.push((name_of(&entry.path()), file.path()));
            }
        }
    }
    found.sort();
    found
}

/// The reading of a fixture: its link, then every row of the report.
fn said(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a text");
    let stem = path.file_stem().expect("a stem").to_string_lossy().into_owned();
    let mark = format!("{stem}.with.");
    let beside: Vec<(String, String)> = fs::read_dir(path.parent().expect("a folder"))
        .expect("a folder")
        .flatten()
        .filter_map(|file| {
            Some((
                name_of(&file.path()).strip_prefix(&mark)?.to_owned(),
                fs::read_to_string(file.path()).ok()?,
            ))
        })
        .collect();
    let beside = beside.iter().map(|(name, text)| Pasted { name, text });
    let pasted: Vec<Pasted<'_>> =
        [Pasted { name: "", text: &text }].into_iter().chain(beside).collect();
    let launched = match read(&pasted, &Scenario::default()) {
        Ok(launched) => launched,
        Err(error) => return format!("{error}\n"),
    };
    let mut out = format!("{}\n{}\n", launched.format.key, codec::encode(&launched.scenario));
    for row in launched.report.iter().filter(|row| row.way != Way::NoEffect) {
        let _ = writeln!(
            out,
            "{}: {} = {} | {}",
            row.way.word(),
            row.flag,
            row.value.replace('\n', " "),
            row.note
        );
    }
    out
}

fn answer_of(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}.read", name_of(path)))
}

#[test]
fn real_commands_are_read_as_reviewed() {
    for (format, path) in fixtures() {
        let said = said(&path);
        assert_eq!(said.lines().next(), Some(format.as_str()), "{}: {said}", path.display());
        let reviewed = fs::read_to_string(answer_of(&path)).unwrap_or_default();
        assert_eq!(said, reviewed, "{}", path.display());
    }
}

#[test]
fn every_format_has_six_real_files_with_their_sources() {
    let fixtures = fixtures();
    let sources = fs::read_to_string(folder().join("SOURCES.md")).expect("SOURCES.md");
    for format in Format::ALL {
        let count = fixtures.iter().filter(|(key, _)| key == format.key).count();
        assert!(count >= 6, "{} has {count} fixtures", format.label);
    }
    for (format, path) in fixtures {
        let file = format!("{format}/{}", name_of(&path));
        assert!(sources.contains(&file), "{file} has no source in SOURCES.md");
    }
}

#[test]
#[ignore = "writes what is read now"]
fn record_launches_anew() {
    for (_, path) in fixtures() {
        fs::write(answer_of(&path), said(&path)).expect("written");
    }
}
