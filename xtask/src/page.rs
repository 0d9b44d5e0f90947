//! Building the page into `dist/`.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::shell::{self, Outcome, root, run, say};
use crate::short_names::{Script, minified};
use crate::{offline, program, sizes, styles};

/// Builds the release page with the tools on `path`, and checks its size.
///
/// # Errors
/// When the build fails or the page is larger than its budget.
pub fn build(path: &OsStr) -> Outcome {
    fetch_crates()?;
    say("Building the page into dist/ (release; the first time takes some minutes)");
    // Trunk wants `true` or `false` in NO_COLOR, where the convention is any value.
    // Its backtraces hold no names and bury the compiler's message.
    let mut trunk = shell::program("trunk", &["build", "--release"]);
    run(trunk.env("PATH", path).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0"))?;
    let dist = root().join("dist");
    name_the_worker(&dist, WORKER)?;
    styles::join(&dist)?;
    // Trunk copies it as it is written, with its comments.
    fs::write(
        dist.join("guard.js"),
        minified(path, &program::read_source("src/app/guard.js")?, Script::Plain)?,
    )
    .map_err(|error| format!("dist/guard.js cannot be written: {error}."))?;
    program::name_the_page(path, &dist)?;
    offline::keep(&dist)?;
    sizes::check(&dist)
}

/// Brings the crates that a build needs, so that it can do without a network.
///
/// # Errors
/// When they cannot be fetched.
pub fn fetch_crates() -> Outcome {
    say("Fetching the locked crates");
    run(&mut shell::program(
        "cargo",
        &["fetch", "--locked", "--quiet", "--target", "wasm32-unknown-unknown"],
    ))
}

/// The program of the workers, as Trunk names it.
pub const WORKER: &str = "headroom-worker";

/// Gives a worker's two files names with a hash, as the page's have: a page never meets a worker of
/// another version. The script then starts its program, or tells the page why it cannot.
fn name_the_worker(dist: &Path, worker: &str) -> Outcome {
    let read = |name: &str| {
        fs::read(dist.join(name)).map_err(|error| format!("dist/{name} cannot be read: {error}."))
    };
    let (old_script, old_program) = (format!("{worker}.js"), format!("{worker}_bg.wasm"));
    let program = read(&old_program)?;
    let program_name = format!("{worker}-{:016x}_bg.wasm", hash_of(&program));
    let script =
        String::from_utf8_lossy(&read(&old_script)?).into_owned() + &worker_start(&program_name);
    let script_name = format!("{worker}-{:016x}.js", hash_of(&script));
    let html = String::from_utf8_lossy(&read("index.html")?)
        .replace(&format!("\"./{old_script}\""), &format!("\"./{script_name}\""));
    if !html.contains(&script_name) {
        return Err(format!(
            "index.html does not say where the worker is: it needs a `<meta>` with \
             `./{old_script}`."
        ));
    }
    let written = fs::write(dist.join("index.html"), html)
        .and_then(|()| fs::write(dist.join(&script_name), script))
        .and_then(|()| fs::write(dist.join(&program_name), program))
        .and_then(|()| fs::remove_file(dist.join(old_script)))
        .and_then(|()| fs::remove_file(dist.join(old_program)));
    written.map_err(|error| format!("dist/ cannot be written: {error}."))
}

/// The last statement of the worker's script.
fn worker_start(program: &str) -> String {
    format!(
        "\nwasm_bindgen({{ module_or_path: \"./{program}\" }}).catch((error) => \
         postMessage(`failed: ${{error}}`));\n"
    )
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
            ("index.html", "<meta name=\"headroom-worker\" content=\"./headroom-worker.js\">"),
            ("headroom-worker.js", "let wasm_bindgen;"),
            ("headroom-worker_bg.wasm", "program"),
        ] {
            fs::write(dist.join(name), text).unwrap();
        }
        let outcome = name_the_worker(&dist, "headroom-worker");
        let html = fs::read_to_string(dist.join("index.html")).unwrap();
        let names: Vec<String> = fs::read_dir(&dist)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let script = names
            .iter()
            .find(|name| name.starts_with("headroom-worker-") && !name.contains("_bg"))
            .cloned()
            .unwrap_or_default();
        let text = fs::read_to_string(dist.join(&script)).unwrap_or_default();
        let again = name_the_worker(&dist, "headroom-worker");
        fs::remove_dir_all(&dist).unwrap();
        assert_eq!(outcome, Ok(()));
        assert_eq!(html, format!("<meta name=\"headroom-worker\" content=\"./{script}\">"));
        assert_eq!(names.len(), 3, "{names:?}");
        let program = names.iter().find(|name| name.contains("_bg")).unwrap();
        assert!(
            text.starts_with("let wasm_bindgen;\n") && text.contains(&format!("\"./{program}\"")),
            "{text}"
        );
        assert!(again.is_err(), "there is nothing left to name");
    }
}
