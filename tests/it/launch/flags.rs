//! The page of flags in the documentation, which is written from the formats' own tables.
//!
//! After a change of a table: `cargo test --test it -- --ignored record_flags_anew`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use headroom::launch::{Effect, Flag, Format};
use headroom::scenario::field;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/flags.md")
}

/// Flags of a tool by their effect: those that are read, with what they set; names without effect;
/// those that are not modelled, with the reason.
#[derive(Default)]
struct Table {
    read: Vec<(Vec<&'static str>, String)>,
    without_effect: BTreeSet<&'static str>,
    not_modelled: Vec<(Vec<&'static str>, &'static str)>,
}

/// The names by which a flag is found: an earlier table of the format may have taken some.
fn own_names(format: Format, flag: &'static Flag) -> Vec<&'static str> {
    let is_own =
        |name: &&'static str| format.flag(name).is_some_and(|found| std::ptr::eq(found, flag));
    flag.names.iter().filter(|name| !name.is_empty()).filter(|name| is_own(name)).copied().collect()
}

fn table(format: Format) -> Table {
    let mut table = Table::default();
    for flag in format.flags.iter().copied().flatten() {
        let names = own_names(format, flag);
        if names.is_empty() {
            continue;
        }
        match flag.effect {
            Effect::Sets(id)
            | Effect::Words(id, _)
            | Effect::Switch(id)
            | Effect::SwitchOff(id) => {
                table.read.push((names, field(id).label.to_owned()));
            }
            Effect::By(_) => table.read.push((names, "by a rule of its own".to_owned())),
            Effect::Together => table.read.push((names, "together with others".to_owned())),
            Effect::NoEffect => table.without_effect.extend(names),
            Effect::NotModelled(_, why) => table.not_modelled.push((names, why)),
        }
    }
    table
}

fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn text() -> String {
    let mut out = String::from(
        "# Flags of the tools\n\nWhich settings of other tools' commands and files Headroom reads, \
         by the version whose definitions were read. `-` and `_` in names are alike; `name.*` \
         stands for every key inside `name`. A setting that is on no list is said to be not \
         understood, each time. This page is written from the tables in `src/launch` (`cargo test \
         --test it -- --ignored record_flags_anew`).\n\n- **read**: it becomes an input, or a part \
         of one.\n- **no effect**: it changes neither memory nor time of a step.\n- **not \
         modelled**: it changes memory or time, and Headroom says so beside the answer.\n\n| tool \
         | version | read | no effect | not modelled |\n|---|---|---|---|---|\n",
    );
    let count =
        |rows: &[(Vec<&str>, &str)]| rows.iter().map(|(names, _)| names.len()).sum::<usize>();
    for format in Format::ALL {
        let found = table(format);
        let read: usize = found.read.iter().map(|(names, _)| names.len()).sum();
        let (quiet, loud) = (found.without_effect.len(), count(&found.not_modelled));
        let _ =
            writeln!(out, "| {} | {} | {read} | {quiet} | {loud} |", format.label, format.version);
    }
    for format in Format::ALL {
        let found = table(format);
        let _ = write!(
            out,
            "\n## {}\n\n{} ([definitions]({}))\n\n",
            format.label, format.version, format.source
        );
        out.push_str("| read | sets |\n|---|---|\n");
        for (names, sets) in &found.read {
            let _ = writeln!(out, "| {} | {sets} |", code(names));
        }
        if !found.not_modelled.is_empty() {
            out.push_str("\n| not modelled | why |\n|---|---|\n");
        }
        for (names, why) in &found.not_modelled {
            let _ = writeln!(out, "| {} | {why} |", code(names));
        }
        let quiet: Vec<&str> = found.without_effect.into_iter().collect();
        if !quiet.is_empty() {
            let _ = write!(out, "\nNo effect: {}.\n", code(&quiet));
        }
    }
    out
}

#[test]
fn the_page_of_flags_says_what_the_tables_say() {
    let page = fs::read_to_string(page()).unwrap_or_default();
    assert!(
        page == text(),
        "docs/flags.md is not what the tables say: cargo test --test it -- --ignored \
         record_flags_anew"
    );
}

#[test]
#[ignore = "writes docs/flags.md"]
fn record_flags_anew() {
    fs::write(page(), text()).expect("written");
}
