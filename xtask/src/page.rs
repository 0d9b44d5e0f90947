//! Building the page into `dist/`.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::browser::Browser;
use crate::program::{self, Linked, Parts};
use crate::shell::{self, Outcome, root, run, say};
use crate::{names, offline, sizes, split, styles};

/// Builds the release page with the tools on `path`, and checks its size.
///
/// # Errors
/// When the build fails or the page is larger than its budget.
pub fn build(path: &OsStr) -> Outcome {
    let dist = whole(path)?;
    let linked = Linked::find(&dist)?;
    say("Splitting the program: what a first visit runs, and the rest");
    let later = fs::read_to_string(root().join(LATER)).map_err(|error| format!("{LATER} cannot be read: {error}."))?;
    let (first, rest) = split::in_two(&linked.program, &later, &split::Objects::read(&as_linked()?)?)?;
    let (first, rest) = (program::optimized(path, &first)?, program::optimized(path, &rest)?);
    let (first, bindings) = names::shortened(&first, &linked.bindings)?;
    linked.put(&dist, &Parts { first: &first, later: Some(&rest), bindings: &bindings }, |script| script)?;
    offline::keep(&dist)?;
    sizes::check(&dist)
}

/// Finds anew which functions a first visit runs: builds the page with a program that counts, opens it in a browser, changes the plain
/// inputs, and writes down what did not run.
///
/// # Errors
/// When the build or the visit fails.
pub fn find_later(path: &OsStr, browser: &Browser) -> Outcome {
    let dist = whole(path)?;
    let linked = Linked::find(&dist)?;
    let counting = split::counting(&linked.program)?;
    let parts = Parts { first: &counting, later: None, bindings: &linked.bindings };
    linked.put(&dist, &parts, |script| script.replace(program::PARTS, program::COUNTING_PARTS))?;
    say("Visiting the page to see which functions run");
    let ran = first_visit(browser)?;
    let later = split::what_did_not_run(&linked.program, &ran)?;
    fs::write(root().join(LATER), later).map_err(|error| format!("{LATER} cannot be written: {error}."))?;
    fs::remove_dir_all(&dist).map_err(|error| format!("dist/ cannot be removed: {error}."))?;
    say(&format!("{LATER} is written; build the page again."));
    Ok(())
}

/// The page's program as the linker left it for Trunk.
fn as_linked() -> Outcome<Vec<u8>> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder));
    let file = target.join("wasm32-unknown-unknown/release/headroom-page.wasm");
    fs::read(&file).map_err(|error| format!("{} cannot be read: {error}.", file.display()))
}

/// What a first visit does not run, one function per line.
const LATER: &str = "xtask/later.txt";

/// Builds the page with its program in one part.
fn whole(path: &OsStr) -> Outcome<PathBuf> {
    fetch_crates()?;
    say("Building the page into dist/ (release; the first time takes some minutes)");
    // Trunk wants `true` or `false` in NO_COLOR, where the convention is any value.
    // Its backtraces hold no names and bury the compiler's message.
    let mut trunk = shell::program("trunk", &["build", "--release"]);
    run(trunk.env("PATH", path).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0"))?;
    let dist = root().join("dist");
    for worker in WORKERS {
        name_the_worker(&dist, worker)?;
    }
    styles::join(&dist)?;
    // Trunk copies it as it is written, with its comments.
    fs::write(dist.join("guard.js"), program::bare(&program::read_source("src/app/guard.js")?))
        .map_err(|error| format!("dist/guard.js cannot be written: {error}."))?;
    Ok(dist)
}

/// Brings the crates that a build needs, so that it can do without a network.
///
/// # Errors
/// When they cannot be fetched.
pub fn fetch_crates() -> Outcome {
    say("Fetching the locked crates");
    run(&mut shell::program("cargo", &["fetch", "--locked", "--quiet", "--target", "wasm32-unknown-unknown"]))
}

/// The programs that run in workers, as Trunk names them.
pub const WORKERS: [&str; 2] = ["headroom-more", "headroom-plan"];

/// Gives a worker's two files names with a hash, as the page's have: a page never meets a worker of another version. The script
/// then starts its program, or tells the page why it cannot.
fn name_the_worker(dist: &Path, worker: &str) -> Outcome {
    let read = |name: &str| fs::read(dist.join(name)).map_err(|error| format!("dist/{name} cannot be read: {error}."));
    let (old_script, old_program) = (format!("{worker}.js"), format!("{worker}_bg.wasm"));
    let program = read(&old_program)?;
    let program_name = format!("{worker}-{:016x}_bg.wasm", hash_of(&program));
    let script = String::from_utf8_lossy(&read(&old_script)?).into_owned() + &worker_start(&program_name);
    let script_name = format!("{worker}-{:016x}.js", hash_of(&script));
    let html =
        String::from_utf8_lossy(&read("index.html")?).replace(&format!("\"./{old_script}\""), &format!("\"./{script_name}\""));
    if !html.contains(&script_name) {
        return Err(format!("index.html does not say where the worker is: it needs a `<meta>` with `./{old_script}`."));
    }
    let written = fs::write(dist.join("index.html"), html)
        .and_then(|()| fs::write(dist.join(&script_name), script))
        .and_then(|()| fs::write(dist.join(&program_name), program))
        .and_then(|()| fs::remove_file(dist.join(old_script)))
        .and_then(|()| fs::remove_file(dist.join(old_program)));
    written.map_err(|error| format!("dist/ cannot be written: {error}."))
}

/// What the worker's script does last.
fn worker_start(program: &str) -> String {
    format!("\nwasm_bindgen({{ module_or_path: \"./{program}\" }}).catch((error) => postMessage(`failed: ${{error}}`));\n")
}

/// Opens the counting page in a browser and returns which functions ran, by their place among the program's own.
fn first_visit(browser: &Browser) -> Outcome<BTreeSet<u32>> {
    let mut node = shell::program("node", &["first-visit.mjs"]);
    node.current_dir(root().join("tests/e2e")).env("CHROME_PATH", &browser.chrome).stderr(Stdio::inherit());
    let output = node.output().map_err(|error| format!("node could not be started: {error}."))?;
    let ran: BTreeSet<u32> = String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect();
    if !output.status.success() || ran.is_empty() {
        return Err("tests/e2e/first-visit.mjs did not see a function run.".to_owned());
    }
    Ok(ran)
}

/// A number that differs where the content does.
pub fn hash_of(content: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::name_the_worker;

    #[test]
    fn the_worker_is_named_after_its_content_and_starts_itself() {
        let dist = std::env::temp_dir().join(format!("headroom-worker-{}", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        for (name, text) in [
            ("index.html", "<meta name=\"headroom-more\" content=\"./headroom-more.js\">"),
            ("headroom-more.js", "let wasm_bindgen;"),
            ("headroom-more_bg.wasm", "program"),
        ] {
            fs::write(dist.join(name), text).unwrap();
        }
        let outcome = name_the_worker(&dist, "headroom-more");
        let html = fs::read_to_string(dist.join("index.html")).unwrap();
        let names: Vec<String> =
            fs::read_dir(&dist).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let script =
            names.iter().find(|name| name.starts_with("headroom-more-") && !name.contains("_bg")).cloned().unwrap_or_default();
        let text = fs::read_to_string(dist.join(&script)).unwrap_or_default();
        let again = name_the_worker(&dist, "headroom-more");
        fs::remove_dir_all(&dist).unwrap();
        assert_eq!(outcome, Ok(()));
        assert_eq!(html, format!("<meta name=\"headroom-more\" content=\"./{script}\">"));
        assert_eq!(names.len(), 3, "{names:?}");
        let program = names.iter().find(|name| name.contains("_bg")).unwrap();
        assert!(text.starts_with("let wasm_bindgen;\n") && text.contains(&format!("\"./{program}\"")), "{text}");
        assert!(again.is_err(), "there is nothing left to name");
    }
}
