//! Every check of the project, from cheap to dear.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::browser::Browser;
use crate::shell::{Outcome, program, root, run, say};
use crate::{package, page, single, tools};

const WASM: &str = "wasm32-unknown-unknown";

/// The steps done so far and how long each took.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        say(&format!("Step: {name}"));
        let start = Instant::now();
        let result = work();
        self.0.push((name, start.elapsed()));
        result.map_err(|reason| {
            self.print_times();
            println!("steps: {} passed, 1 failed", self.0.len() - 1);
            format!("the step \"{name}\" failed: {reason}")
        })
    }

    fn print_times(&self) {
        println!();
        for (name, time) in &self.0 {
            println!("{:>8.1} s  {name}", time.as_secs_f64());
        }
        let total: Duration = self.0.iter().map(|(_, time)| *time).sum();
        println!("{:>8.1} s  in all", total.as_secs_f64());
    }
}

/// Runs everything and stops at the first step that fails.
///
/// # Errors
/// When a step fails.
pub fn run_all() -> Outcome {
    let mut steps = Steps::default();
    let browser = steps.step("prerequisites", || {
        tools::rust_components()?;
        tools::prerequisites()?;
        Browser::bring()
    })?;
    steps.step("format", || {
        cargo(&["fmt", "--all", "--check"])?;
        run(program("rustfmt", &["--edition", "2024", "--check"]).args(files_of_lists()?))
    })?;
    steps.step("lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
    })?;
    steps.step("tests", || cargo(&["test", "--workspace", "--locked"]))?;
    let path = steps.step("tools", tools::for_the_page)?;
    steps.step("lints for wasm", || {
        cargo(&[
            "clippy", "--locked", "--target", WASM, "--lib", "--bins", "--test", "web", "--", "-D",
            "warnings",
        ])?;
        cargo(&[
            "clippy",
            "--locked",
            "--target",
            WASM,
            "--lib",
            "--features",
            "apart",
            "--",
            "-D",
            "warnings",
        ])
    })?;
    steps.step("documentation", || {
        // For wasm: only there is the room `app` part of the library.
        let arguments = ["doc", "--no-deps", "--locked", "--lib", "--target", WASM];
        run(program("cargo", &arguments).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    steps.step("tests in WebAssembly", || wasm_tests(&path, &browser))?;
    steps.step("release build", || page::build(&path))?;
    steps.step("end-to-end tests", || end_to_end_tests(&browser))?;
    steps.step("single-file build", || single::build(&path))?;
    steps.step("package build", || package::build(&path))?;
    steps.step("tests of the package", || {
        run(node_tests(&browser, vec!["package.test.mjs".to_owned()], 1)
            .env("HEADROOM_PACKAGE", "1"))
    })?;
    steps.step("end-to-end tests of the single file", || {
        run(node_tests(&browser, OF_THE_SINGLE_FILE.map(str::to_owned).to_vec(), 1)
            .env("HEADROOM_SINGLE", "1"))
    })?;
    steps.print_times();
    println!("steps: {} passed, 0 failed", steps.0.len());
    Ok(())
}

/// The files that `members::of_folder!` declares, which `cargo fmt` does not find.
fn files_of_lists() -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for folder in [
        "engines",
        "launch/formats",
        "launch/logs/programs",
        "models/families",
        "models/projectors",
        "models/towers",
        "optimizers",
        "scenario/fields/table",
        "sharding",
        "stacks",
    ] {
        let folder = root().join("src").join(folder);
        let entries = fs::read_dir(&folder)
            .map_err(|error| format!("{} cannot be read: {error}.", folder.display()))?;
        let paths = entries.flatten().map(|entry| entry.path());
        files.extend(
            paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs")),
        );
    }
    Ok(files)
}

fn cargo(arguments: &[&str]) -> Outcome {
    run(&mut program("cargo", arguments))
}

fn wasm_tests(path: &OsStr, browser: &Browser) -> Outcome {
    // webdriver.json names no browser, because each machine has its own; the driver gets a copy
    // that does.
    let settings = fs::read_to_string(root().join("webdriver.json"))
        .map_err(|error| format!("webdriver.json: {error}."))?;
    let with_browser = settings.replacen(
        "\"args\"",
        &format!("\"binary\": \"{}\", \"args\"", browser.chrome.display()),
        1,
    );
    let copy = std::env::temp_dir().join(format!("headroom-webdriver-{}.json", std::process::id()));
    fs::write(&copy, with_browser)
        .map_err(|error| format!("{} cannot be written: {error}.", copy.display()))?;

    let mut test = program("cargo", &["test", "--locked", "--target", WASM, "--test", "web"]);
    test.env("PATH", path).env("CHROMEDRIVER", &browser.driver);
    test.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &copy).env("WASM_BINDGEN_TEST_TIMEOUT", "120");
    let result = run(&mut test);
    let _ = fs::remove_file(copy); // a leftover in the temporary folder harms nobody
    result
}

fn end_to_end_tests(browser: &Browser) -> Outcome {
    let folder = root().join("tests/e2e");
    let entries = fs::read_dir(&folder)
        .map_err(|error| format!("{} cannot be read: {error}.", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<String> = names.filter(|name| name.ends_with(".test.mjs")).collect();
    files.sort();
    if files.is_empty() {
        return Err("tests/e2e holds no *.test.mjs.".to_owned());
    }
    let (timed, others): (Vec<String>, Vec<String>) =
        files.into_iter().partition(|name| TIMED.contains(&name.as_str()));
    run(&mut node_tests(browser, others, 2))?;
    run(&mut node_tests(browser, timed, 1))
}

/// Files that hold the page to a time: each runs alone.
const TIMED: [&str; 5] = [
    "planner.test.mjs",
    "speed.test.mjs",
    "stories.test.mjs",
    "walkthroughs.test.mjs",
    "walkthroughs-2.test.mjs",
];

/// Tests that stand for all where the page is one file.
const OF_THE_SINGLE_FILE: [&str; 2] = ["storage.test.mjs", "walkthroughs.test.mjs"];

/// Browser tests, so many files at a time.
fn node_tests(browser: &Browser, files: Vec<String>, at_a_time: usize) -> Command {
    let mut node = program("node", &["--test", "--test-timeout=600000", "--test-reporter=spec"]);
    node.arg(format!("--test-concurrency={at_a_time}"))
        .args(files)
        .current_dir(root().join("tests/e2e"))
        .env("CHROME_PATH", &browser.chrome);
    node
}
