//! Bringing the tools that build the page: the wasm target, trunk, wasm-bindgen and wasm-opt.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, ask, find, program, root, run, say};

/// Newer ones need a newer compiler than `rust-version` in Cargo.toml.
const TRUNK: &str = "0.21.14";

/// The oldest Node that runs the end-to-end tests.
const NODE_MAJOR: u32 = 20;

/// The tools are used for a second or two per build: compile them fast rather than compiling fast
/// tools. Set only for their own installation, because these would override the page's own release
/// profile as well.
const QUICK_RELEASE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];

/// Brings every tool that builds the page, and returns the `PATH` on which they are found.
///
/// # Errors
/// When a prerequisite is missing or an installation fails.
pub fn for_the_page() -> Outcome<OsString> {
    prerequisites()?;
    let cache = cache_folder()?;
    let trunk = installed(&cache, "trunk", "trunk", TRUNK, true)?;
    let wasm_bindgen = wasm_bindgen_version(&read(&root().join("Cargo.lock"))?)?;
    // Not --locked: the lock file published with 0.2.130 asks for a version that registries do not
    // all have.
    let wasm_bindgen = installed(&cache, "wasm-bindgen", "wasm-bindgen-cli", &wasm_bindgen, false)?;
    npm_packages()?;

    let ours = [trunk, wasm_bindgen, root().join("tests/e2e/node_modules/.bin")];
    let theirs = env::var_os("PATH").unwrap_or_default();
    env::join_paths(ours.into_iter().chain(env::split_paths(&theirs)))
        .map_err(|_| "a folder on PATH has a name that PATH cannot hold.".to_owned())
}

/// Checks for the programs that the other tools need: Node.js with npm, and Rust's wasm target.
///
/// # Errors
/// When one is missing and cannot be added.
pub fn prerequisites() -> Outcome {
    node_and_npm()?;
    wasm_target()
}

/// Checks for rustfmt and clippy, which a minimal installation of Rust lacks.
///
/// # Errors
/// When one is missing and cannot be added.
pub fn rust_components() -> Outcome {
    for (name, check) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if ask("cargo", &[check, "--version"]).is_none() {
            rustup(&format!("Adding {name}"), &["component", "add", name])?;
        }
    }
    Ok(())
}

fn node_and_npm() -> Outcome {
    const HOW: &str = "install Node.js 20 or newer, npm comes with it (nodejs.org, or `apt-get \
        install nodejs npm` from Debian 13 on)";
    let Some(node) = ask("node", &["--version"]) else {
        return Err(format!(
            "Node.js is missing (wasm-opt and the browser tests run on it): {HOW}."
        ));
    };
    if find(&["npm"]).is_none() {
        return Err(format!("npm is missing: {HOW}."));
    }
    let major =
        node.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < NODE_MAJOR) {
        return Err(format!("Node.js {node} is too old: {HOW}."));
    }
    Ok(())
}

fn wasm_target() -> Outcome {
    const TARGET: &str = "wasm32-unknown-unknown";
    let library = ask("rustc", &["--print", "target-libdir", "--target", TARGET]);
    if library.is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(());
    }
    rustup("Adding Rust's WebAssembly target", &["target", "add", TARGET])
}

fn rustup(what: &str, arguments: &[&str]) -> Outcome {
    if find(&["rustup"]).is_none() {
        let wanted = arguments.join(" ");
        return Err(format!(
            "rustup is missing: install it with `curl https://sh.rustup.rs -sSf | sh`, then run \
             `rustup {wanted}`."
        ));
    }
    say(what);
    run(&mut program("rustup", arguments))
}

/// Where tools live between checkouts: `${XDG_CACHE_HOME:-~/.cache}/headroom/tools`.
fn cache_folder() -> Outcome<PathBuf> {
    let given = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    given("XDG_CACHE_HOME")
        .or_else(|| given("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("headroom").join("tools"))
        .ok_or_else(|| "no place for tools: set HOME or XDG_CACHE_HOME to a folder.".to_owned())
}

/// The folder with the tool's programs; installs that version of the crate when the folder does not
/// have it yet.
fn installed(
    cache: &Path,
    tool: &str,
    krate: &str,
    version: &str,
    locked: bool,
) -> Outcome<PathBuf> {
    let folder = cache.join(format!("{tool}-{version}"));
    let programs = folder.join("bin");
    if programs.join(tool).is_file() {
        return Ok(programs);
    }
    say(&format!("Installing {tool} {version} into {} (once; some minutes)", folder.display()));
    let mut install = program(
        "cargo",
        &["install", krate, "--version", version, "--no-default-features", "--root"],
    );
    install
        .arg(&folder)
        .envs(QUICK_RELEASE)
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(env::temp_dir());
    if locked {
        install.arg("--locked");
    }
    run(&mut install)?;
    Ok(programs)
}

/// The version of wasm-bindgen in the lock file: the command must be exactly that one.
fn wasm_bindgen_version(lock: &str) -> Outcome<String> {
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"wasm-bindgen\"").skip(1);
    let version =
        lines.next().and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.lock names no version of wasm-bindgen.".to_owned())
}

/// Installs the packages of tests/e2e when they are missing or the lock file has changed since.
fn npm_packages() -> Outcome {
    let folder = root().join("tests/e2e");
    let lock = read(&folder.join("package-lock.json"))?;
    let stamp = folder.join("node_modules/.installed-lock.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    say(
        "Installing the npm packages of tests/e2e (wasm-opt, terser, lzma1, the browser's driver, \
         axe)",
    );
    run(program("npm", &["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    fs::write(&stamp, lock)
        .map_err(|error| format!("{} cannot be written: {error}.", stamp.display()))
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}.", path.display()))
}

#[cfg(test)]
mod tests {
    use super::wasm_bindgen_version;

    #[test]
    fn reads_the_version_of_the_package_itself() {
        let lock = "[[package]]\nname = \"wasm-bindgen-shared\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(wasm_bindgen_version(lock).as_deref(), Ok("0.2.130"));
        assert!(wasm_bindgen_version("[[package]]\n").is_err());
    }
}
