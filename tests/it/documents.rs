//! The documents beside the code, README.md, CONTRIBUTING.md and `docs/`: each file, test and
//! command that they name exists.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Each document with its text.
fn documents() -> Vec<(String, String)> {
    let mut names: Vec<String> = fs::read_dir(root().join("docs"))
        .expect("docs")
        .map(|file| format!("docs/{}", file.expect("a file").file_name().to_string_lossy()))
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "md"))
        .collect();
    names.sort();
    names.extend(["README.md", "CONTRIBUTING.md", "tests/data/README.md"].map(str::to_owned));
    let read = |name: String| {
        let text = fs::read_to_string(root().join(&name)).expect("readable");
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// The texts between back quotes, without blocks of code.
fn quoted(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect()
}

/// Every line of shell that a document shows: in blocks, and in back quotes.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).chain(quoted(text));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    for (name, text) in documents() {
        let folder = Path::new(&name).parent().expect("a folder").to_owned();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with("http") && !link.starts_with('#')) {
            let path = link.split('#').next().unwrap_or(link);
            assert!(root().join(&folder).join(path).exists(), "{name} links {link}");
        }
    }
}

/// A word in capitals, such as NAME, stands for any name, and a star for several: the folder before
/// it must exist.
#[test]
fn every_path_that_is_named_exists() {
    let folders = ["src/", "tests/", "docs/", "xtask/", "tools/", ".github/"];
    for (name, text) in documents() {
        for path in quoted(&text) {
            let is_path = folders.iter().any(|folder| path.starts_with(folder));
            if !is_path || path.contains(' ') {
                continue;
            }
            let stands_for_any = |part: &&str| {
                part.contains('*')
                    || part.contains('{')
                    || part.contains("NAME")
                    || part.contains("ID")
                    || part.contains("MODEL_TYPE")
            };
            let known: PathBuf = path.split('/').take_while(|part| !stands_for_any(part)).collect();
            let beside = root().join(&name).parent().expect("a folder").join(&known);
            assert!(root().join(known).exists() || beside.exists(), "{name} names {path}");
        }
    }
}

/// Names of modules and functions of the integration tests.
fn tests() -> BTreeSet<String> {
    fn collect(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                found.insert(entry.file_name().to_string_lossy().into_owned());
                collect(&path, found);
                continue;
            }
            found.insert(path.file_stem().expect("a name").to_string_lossy().into_owned());
            let text = fs::read_to_string(&path).expect("readable");
            let names = text.lines().filter_map(|line| line.trim().strip_prefix("fn "));
            found.extend(names.filter_map(|rest| rest.split('(').next()).map(str::to_owned));
        }
    }
    let mut found = BTreeSet::new();
    collect(&root().join("tests/it"), &mut found);
    found
}

/// A filter that fits no test runs none and passes.
#[test]
fn every_test_that_is_asked_for_exists() {
    let tests = tests();
    for (name, text) in documents() {
        for command in commands(&text) {
            let Some(rest) = command.strip_prefix("cargo test --test it ") else { continue };
            let filter = rest.split(' ').find(|word| !word.starts_with('-'));
            for part in
                filter.filter(|word| *word != "NAME").into_iter().flat_map(|f| f.split("::"))
            {
                assert!(tests.contains(part), "{name}: {command}: there is no test {part}");
            }
        }
    }
}

#[test]
fn every_command_of_the_project_exists() {
    let help = fs::read_to_string(root().join("xtask/src/main.rs")).expect("xtask");
    let mut shown = 0;
    for (name, text) in documents() {
        for command in commands(&text) {
            let Some(rest) = command.strip_prefix("cargo xtask ") else { continue };
            let words: Vec<_> = rest.split(' ').take_while(|word| *word != "#").collect();
            let verb = words.first().expect("a verb");
            let flag = words.iter().find(|word| word.starts_with("--"));
            let is_said = |line: &&str| {
                let said: BTreeSet<_> = line.split([' ', '[', ']', '(', ')', ',']).collect();
                said.contains("xtask")
                    && said.contains(verb)
                    && flag.is_none_or(|flag| said.contains(flag))
            };
            assert!(help.lines().any(|line| is_said(&line)), "{name}: {command}");
            shown += 1;
        }
    }
    assert!(shown > 10, "{shown}");
}

/// The README's figure is that of the table that the importer's answers are written into.
#[test]
fn the_readme_counts_the_kinds_as_their_table_does() {
    let kinds = fs::read_to_string(root().join("docs/kinds.md")).expect("a table");
    let said = kinds.split("Of ").nth(1).and_then(|rest| rest.split(" to the last").next());
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
    };
    let [all, exact] = numbers(said.expect("a sentence"))[..] else { panic!("two numbers") };
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let wanted =
        format!("Of {all} kinds that transformers 5.23 builds, {exact} are read to the last");
    assert!(readme.replace('\n', " ").contains(&wanted), "README.md should say: {wanted}");
}

#[test]
fn the_readme_names_every_room() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let house = readme.split("## ").find(|part| part.starts_with("The house")).expect("the house");
    let named: BTreeSet<&str> = quoted(house).into_iter().collect();
    for entry in fs::read_dir(root().join("src")).expect("src").flatten() {
        let room = entry.file_name().to_string_lossy().into_owned();
        assert!(!entry.path().is_dir() || named.contains(room.as_str()), "README.md omits {room}");
    }
}
