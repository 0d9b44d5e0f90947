//! The house rules of the design: who may import whom, and where the browser and the chart library
//! are known.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms it may import.
const ROOMS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("sources", &[]),
    ("hardware", &[]),
    ("engines", &["units", "sources", "hardware"]),
    ("sharding", &["sources"]),
    ("optimizers", &["units", "sources"]),
    ("stacks", &["units", "sources", "sharding"]),
    ("config", &["units", "hardware", "engines", "optimizers", "sharding", "stacks"]),
    ("catalog", &["units", "sources", "hardware", "config", "models"]),
    ("models", &["units", "config"]),
    ("import", &["units", "config", "models"]),
    ("ops", &["units", "sources", "optimizers", "stacks", "config"]),
    (
        "estimator",
        &[
            "units",
            "sources",
            "hardware",
            "engines",
            "optimizers",
            "sharding",
            "stacks",
            "config",
            "ops",
        ],
    ),
    (
        "diagnosis",
        &["units", "sources", "hardware", "config", "engines", "import", "estimator", "planner"],
    ),
    ("methods", &["units", "sources", "optimizers", "stacks", "config", "estimator"]),
    ("planner", &["units", "config", "estimator"]),
    (
        "explain",
        &["units", "sources", "sharding", "config", "ops", "estimator", "planner", "methods"],
    ),
    (
        "scenario",
        &[
            "units", "engines", "sharding", "stacks", "config", "models", "catalog", "import",
            "planner",
        ],
    ),
    ("checkpoint", &["units", "config", "models", "import", "ops", "estimator", "scenario"]),
    (
        "launch",
        &[
            "units",
            "engines",
            "sharding",
            "stacks",
            "optimizers",
            "config",
            "catalog",
            "import",
            "scenario",
            "estimator",
        ],
    ),
    ("charts", &["units", "estimator", "planner"]),
    (
        "lessons",
        &["units", "sources", "config", "catalog", "scenario", "estimator", "planner", "methods"],
    ),
    (
        "view",
        &[
            "catalog",
            "charts",
            "checkpoint",
            "config",
            "diagnosis",
            "engines",
            "estimator",
            "explain",
            "hardware",
            "import",
            "launch",
            "lessons",
            "methods",
            "models",
            "ops",
            "optimizers",
            "planner",
            "scenario",
            "sharding",
            "sources",
            "stacks",
            "units",
        ],
    ),
    (
        "worker",
        &[
            "catalog",
            "charts",
            "checkpoint",
            "config",
            "diagnosis",
            "engines",
            "estimator",
            "explain",
            "hardware",
            "import",
            "launch",
            "lessons",
            "methods",
            "models",
            "ops",
            "optimizers",
            "planner",
            "scenario",
            "sharding",
            "sources",
            "stacks",
            "units",
            "view",
        ],
    ),
];

/// Rooms whose members are one file each.
const LISTS: &[&str] = &["engines", "sharding", "stacks"];

/// Lists among `LISTS` whose keys in links are words with no second meaning, so that a key in
/// quotes always names a member.
const KEYS_ARE_WORDS: &[&str] = &["stacks"];

/// Names of members that also mean something else, with the places that may use them: two rooms
/// carry out Megatron-LM's schedule and are called after it, an optimizer can be fused as well as a
/// stack, and programs print messages when memory runs out.
const NAMES_WITH_OTHER_MEANINGS: &[(&str, &[&str])] = &[
    ("megatron::", &["src/ops/", "src/estimator/"]),
    ("::megatron", &["src/ops/", "src/estimator/"]),
    ("::Vllm", &["src/import/oom/", "src/diagnosis/"]),
    ("\"vLLM\"", &["src/import/oom/"]),
    ("::Sglang", &["src/import/oom/", "src/diagnosis/"]),
    ("\"SGLang\"", &["src/import/oom/"]),
    ("::LlamaCpp", &["src/import/oom/", "src/diagnosis/"]),
    ("llama_cpp::", &["src/import/oom/"]),
    ("::llama_cpp", &["src/import/oom/"]),
    ("\"llama.cpp\"", &["src/import/oom/"]),
    (
        "::Fused",
        &[
            "src/config/run.rs",
            "src/estimator/time/fixed.rs",
            "src/estimator/timeline/optimizer.rs",
            "src/optimizers/",
        ],
    ),
    ("\"Fused\"", &["src/scenario/fields/table/precision.rs"]),
    ("\"fused\"", &["src/scenario/fields/table/precision.rs", "src/scenario/words.rs"]),
];

/// Places that may name members: the bibliography names programs as authors, and the readers of
/// commands and files hold each tool's own words for the members.
const MAY_NAME_MEMBERS: &[&str] =
    &["src/sources/", "src/launch/formats/", "src/launch/shared/", "src/launch/logs/programs/"];

/// Crates with the only place that may name them.
const CRATES: &[(&str, &[&str])] = &[
    ("leptos", &["src/app"]),
    ("web_sys", &["src/app/browser"]),
    ("gloo_storage", &["src/app/browser"]),
    ("gloo_timers", &["src/app/browser"]),
    ("gloo_events", &["src/app/browser"]),
    ("plotters", &["src/charts"]),
    ("json5", &["src/import"]),
    ("saphyr", &["src/launch/notation"]),
    ("toml", &["src/launch/notation"]),
    ("qrcodegen", &["src/view"]),
    ("base64", &["src/lessons", "src/worker"]),
    ("miniz_oxide", &["src/lessons"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Each source file of the library and its programs, relative to the root with forward slashes, and
/// its code without comments.
fn sources() -> Vec<(String, String)> {
    sources_in("src")
}

/// Each source file below a folder, relative to the root, and its code without comments.
fn sources_in(folder: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    rust_files(&root().join(folder), &mut files);
    files
        .into_iter()
        .map(|path| {
            let name = path
                .strip_prefix(root())
                .expect("below the root")
                .to_string_lossy()
                .replace('\\', "/");
            let text = fs::read_to_string(&path).expect("readable");
            let code: Vec<_> =
                text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            (name, code.join("\n"))
        })
        .collect()
}

/// The rooms that some code imports, also from braces: `crate::{a, b::c}` gives `a` and `b`.
fn imported_rooms(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let list = rest.strip_prefix('{').map_or_else(|| vec![rest], |list| top_level_items(list));
        for item in list {
            let word: String =
                item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !word.is_empty() {
                rooms.insert(word);
            }
        }
    }
    rooms
}

fn top_level_items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0_i32, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

#[test]
fn rooms_import_only_what_the_design_allows() {
    let known: BTreeSet<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    for (file, code) in sources() {
        let Some(room) = file.strip_prefix("src/").and_then(|rest| rest.split('/').next()) else {
            continue;
        };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else { continue };
        for import in imported_rooms(&code) {
            let fine = import == room
                || allowed.contains(&import.as_str())
                || !(known.contains(import.as_str()) || import == "app");
            assert!(fine, "{file}: room `{room}` may not import `{import}`");
        }
    }
}

/// Names by which code could refer to a member: its module, a variant of the same name, its name in
/// the form, and, for the lists in `KEYS_ARE_WORDS`, its key in links.
fn names_of_member(file: &str, code: &str) -> Vec<String> {
    let stem =
        file.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    let part = |part: &str| {
        part.chars()
            .take(1)
            .flat_map(char::to_uppercase)
            .chain(part.chars().skip(1))
            .collect::<String>()
    };
    let variant: String = stem.split('_').map(part).collect();
    let label = text_constant(code, "label");
    let mut names = vec![
        format!("{stem}::"),
        format!("::{stem}"),
        format!("::{variant}"),
        format!("\"{label}\""),
    ];
    if KEYS_ARE_WORDS.iter().any(|list| file.starts_with(&format!("src/{list}/"))) {
        names.push(format!("\"{}\"", text_constant(code, "key")));
    }
    names
}

#[test]
fn a_member_of_a_list_is_named_in_its_own_file_only() {
    let sources = sources();
    for list in LISTS {
        let members = sources.iter().filter(|(file, _)| {
            file.strip_prefix(&format!("src/{list}/"))
                .is_some_and(|name| !name.contains('/') && name != "mod.rs")
        });
        for (own, code) in members {
            for name in names_of_member(own, code) {
                let word = |at: usize, code: &str| {
                    let next = code[at + name.len()..].chars().next().unwrap_or(' ');
                    let before = code[..at].chars().next_back().unwrap_or(' ');
                    let joins = |c: char| c.is_alphanumeric() || c == '_';
                    (name.ends_with(':') || !joins(next))
                        && (name.starts_with(':') || !joins(before))
                };
                let others = NAMES_WITH_OTHER_MEANINGS
                    .iter()
                    .find(|(other, _)| *other == name)
                    .map_or(&[][..], |(_, places)| places);
                let may_name = |file: &str| {
                    MAY_NAME_MEMBERS.iter().chain(others).any(|place| file.starts_with(place))
                };
                let mut elsewhere =
                    sources.iter().filter(|(file, _)| file != own && !may_name(file));
                let namer = elsewhere
                    .find(|(_, code)| code.match_indices(&name).any(|(at, _)| word(at, code)));
                assert!(
                    namer.is_none(),
                    "{} names {name}, a member of src/{list}",
                    namer.map_or("", |(file, _)| file)
                );
            }
        }
    }
}

#[test]
fn only_their_rooms_know_the_browser_and_the_chart_library() {
    for (file, code) in sources() {
        for (name, places) in CRATES {
            let named =
                code.contains(&format!("{name}::")) || code.contains(&format!("use {name}"));
            let entry = file == "src/main.rs" && *name == "leptos";
            let may = entry || places.iter().any(|place| file.starts_with(place));
            assert!(!named || may, "{file} names {name}, which only {places:?} may");
        }
    }
}

/// Folders whose files are each a member of a list, with the files that may hold a member's key as
/// data, such as the tables of documents.
const LISTS_WITH_KEYS: &[(&str, &[&str])] =
    &[("src/optimizers", &["src/methods/", "src/launch/formats/", "src/launch/shared/"])];

/// The names of a list's members: the files of its folder.
fn members(folder: &str) -> BTreeSet<String> {
    let files = fs::read_dir(root().join(folder))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let names = files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

/// The text of the constant `name` in a member's specification, read from its source.
fn text_constant(code: &str, name: &str) -> String {
    let rest = code.split(&format!("{name}: \"")).nth(1).expect("the constant");
    rest.split('"').next().expect("its text").to_owned()
}

/// Words of some code: identifiers, and whole texts in quotes.
fn words(code: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut names, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for line in code.lines() {
        for (place, part) in line.split('"').enumerate() {
            if place % 2 == 1 {
                texts.insert(part);
            } else {
                names.extend(part.split(|c: char| !(c.is_alphanumeric() || c == '_')));
            }
        }
    }
    (names, texts)
}

#[test]
fn a_member_is_named_in_its_own_folder_only() {
    let files = sources();
    for (folder, data) in LISTS_WITH_KEYS {
        let members = members(folder);
        assert!(!members.is_empty(), "{folder}");
        let code_of = |name: &String| {
            let path = format!("{folder}/{name}.rs");
            &files.iter().find(|(file, _)| *file == path).expect("the member's file").1
        };
        let keys: BTreeSet<String> =
            members.iter().map(|name| text_constant(code_of(name), "key")).collect();
        for name in &members {
            assert_eq!(text_constant(code_of(name), "name"), *name, "{folder}/{name}.rs");
        }
        for (file, code) in files.iter().filter(|(file, _)| !file.starts_with(folder)) {
            let (names, texts) = words(code.split("#[cfg(test)]").next().unwrap_or_default());
            let named = members.iter().find(|member| names.contains(member.as_str()));
            assert_eq!(named, None, "{file} names a member of {folder}");
            let as_data = data.iter().any(|place| file.starts_with(place));
            let quoted = members.iter().chain(&keys).find(|word| texts.contains(word.as_str()));
            assert!(
                as_data || quoted.is_none(),
                "{file} holds the key {quoted:?} of a member of {folder}"
            );
        }
    }
}

#[test]
fn every_room_exists_and_no_other() {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("src")).expect("src").flatten() {
        if entry.path().is_dir() {
            found.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    let expected: BTreeSet<String> = ROOMS
        .iter()
        .map(|(room, _)| (*room).to_owned())
        .chain(["app".to_owned(), "bin".to_owned()])
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn effects_live_only_at_the_leaf() {
    for (file, code) in sources() {
        let leaf = file.starts_with("src/app/browser");
        assert!(
            leaf || !code.contains("Effect::new"),
            "{file}: derive with a memo; the only effect writes link and storage"
        );
    }
}

#[test]
fn files_fit_in_the_head() {
    for (file, code) in sources().into_iter().chain(sources_in("tools")) {
        let table =
            file.contains("/table") || file.contains("sources/mod.rs") || file.contains("methods/");
        // Tests at a file's end are read apart from its code.
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().count();
        assert!(table || lines <= 450, "{file} has {lines} lines of code; split it");
    }
}

/// A tool that included the library's files by path would compile and judge another engine than the
/// one that users get.
#[test]
fn tools_see_the_library_from_outside() {
    for (file, code) in sources_in("tools") {
        assert!(
            !code.contains("#[path"),
            "{file} includes a file by its path: use the library's public items"
        );
    }
}

/// A name that two public types have makes readers ask which one is meant, and imports need another
/// word beside it.
#[test]
fn no_two_public_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, code) in sources() {
        let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines() {
            let Some(rest) = line.trim_start().strip_prefix("pub ") else { continue };
            let mut words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let kind = words.next().unwrap_or_default();
            if matches!(kind, "struct" | "enum" | "trait" | "type" | "union") {
                let name = words.next().unwrap_or_default().to_owned();
                // A macro's pattern has no name of its own.
                if !name.is_empty() {
                    places.entry(name).or_default().push(file.clone());
                }
            }
        }
    }
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "names that several public types have: {places:#?}");
}

/// Clippy refuses functions of more than 60 lines and the compiler refuses undocumented items; no
/// code may switch either off.
#[test]
fn no_code_is_excused_from_short_functions_and_documented_items() {
    let clippy = fs::read_to_string(root().join(".clippy.toml")).expect(".clippy.toml");
    assert!(
        clippy.lines().any(|line| line == "too-many-lines-threshold = 60"),
        ".clippy.toml allows longer functions"
    );
    for (file, code) in ["src", "tools", "xtask"].into_iter().flat_map(sources_in) {
        for lint in ["too_many_lines", "missing_docs"] {
            assert!(!code.contains(lint), "{file} excuses itself from {lint}");
        }
    }
}

/// Words in quotes that equal the `model_type` of a family but mean something else: kinds of layers
/// with a state are called after the models that introduced them, and the form has a field `opt`.
const OTHER_MEANINGS: &[(&str, &[&str])] = &[
    // These are torchtitan's own names of its models.
    ("src/launch/shared/torchtitan_written.rs", &["deepseek_v3", "gpt_oss", "llama4", "qwen3"]),
    ("src/scenario/words.rs", &["mamba", "mamba2", "jamba", "minimax", "lfm2"]),
    ("src/scenario/fields/table/hybrid.rs", &["mamba", "mamba2", "jamba", "minimax", "lfm2"]),
    ("src/scenario/fields/table/precision.rs", &["opt"]),
    ("src/import/hybrid.rs", &["mamba", "mamba2"]),
    // An id of the catalog.
    ("tools/accuracy/src/serving.rs", &["bloom"]),
];

/// The folder of families, and the name of each of its files.
fn families() -> (&'static str, BTreeSet<String>) {
    const FOLDER: &str = "src/models/families/";
    let names = sources().into_iter().filter_map(|(file, _)| {
        let name = file.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
        (name != "mod").then(|| name.to_owned())
    });
    (FOLDER, names.collect())
}

/// A family is described in its own file: nothing else of the program asks which family a model is
/// of.
#[test]
fn a_family_is_named_in_its_own_file_alone() {
    let (folder, names) = families();
    assert!(!names.is_empty());
    for (file, code) in sources() {
        // Tests may take models as examples.
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        let asks = code
            .match_indices("Family::")
            .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric()));
        assert!(
            file.starts_with(folder) || !asks,
            "{file}: ask a model's modules for a choice, not for their family"
        );
        let other = OTHER_MEANINGS
            .iter()
            .find(|(place, _)| *place == file)
            .map_or(&[][..], |(_, words)| words);
        for name in names.iter().filter(|name| !other.contains(&name.as_str())) {
            let quoted = code.contains(&format!("\"{name}\""))
                || code.contains(&format!("families::{name}"));
            // A tower or a projector may name the kinds of whole files that contain it.
            let names_whole_files = ["src/models/towers/", "src/models/projectors/"]
                .iter()
                .any(|list| file.starts_with(list));
            assert!(
                !quoted || file.starts_with(folder) || names_whole_files,
                "{file}: {name} belongs into {folder}{name}.rs"
            );
        }
    }
}

/// Every file below `tests/it` must be a module of this program. Without its `mod` line a file
/// would never run, and nothing would report that.
#[test]
fn every_test_file_is_a_module_of_this_program() {
    let files = sources_in("tests/it");
    let module_of = |line: &str| {
        line.trim()
            .trim_start_matches("pub ")
            .strip_prefix("mod ")?
            .strip_suffix(';')
            .map(str::to_owned)
    };
    let declared: BTreeSet<String> =
        files.iter().flat_map(|(_, code)| code.lines()).filter_map(module_of).collect();
    for (file, _) in &files {
        let module = file
            .trim_end_matches("/mod.rs")
            .trim_end_matches(".rs")
            .rsplit('/')
            .next()
            .expect("a name");
        assert!(
            module == "main" || declared.contains(module),
            "{file} is not declared in tests/it/main.rs"
        );
    }
    let beside =
        fs::read_dir(root().join("tests")).expect("tests").flatten().map(|entry| entry.path());
    let beside: Vec<_> =
        beside.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect();
    assert_eq!(
        beside,
        [root().join("tests/web.rs")],
        "a test file belongs into tests/it; web.rs is for browsers"
    );
}

/// To understand a family's file, a reader should need two other files at most.
#[test]
fn families_are_like_others_two_deep_at_most() {
    let (folder, names) = families();
    let files: BTreeMap<String, String> = sources().into_iter().collect();
    let like = |name: &String| -> BTreeSet<String> {
        let code = &files[&format!("{folder}{name}.rs")];
        let others = code.split("super::").skip(1).filter_map(|rest| rest.split_once("::FAMILY"));
        others.map(|(other, _)| other.to_owned()).collect()
    };
    for name in &names {
        let third = like(name).iter().flat_map(like).flat_map(|second| like(&second)).next();
        assert_eq!(
            third, None,
            "{name} is like a family that is like a family that is like another"
        );
    }
}
