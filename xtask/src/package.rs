//! The engine as a package for npm: the same program for browsers, bundlers and Node, with types.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Outcome, program, root, run, say};
use crate::{page, sizes};

/// The folder that npm packs.
const FOLDER: &str = "dist-package";

/// One kind of wasm-bindgen's scripts: its target and the folder that it fills.
const TARGETS: [(&str, &str); 3] = [("bundler", "bundler"), ("web", "web"), ("nodejs", "node")];

/// Builds `dist-package/`, and says how large it is.
///
/// # Errors
/// When the build fails or a file cannot be written.
pub fn build(path: &OsStr) -> Outcome {
    page::fetch_crates()?;
    say("Building the engine as a package (release; the first time takes some minutes)");
    let target = "wasm32-unknown-unknown";
    run(&mut program(
        "cargo",
        &[
            "build",
            "--release",
            "--locked",
            "--offline",
            "--target",
            target,
            "-p",
            "headroom-package",
        ],
    ))?;
    let built =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let linked = built.join(target).join("release/headroom_package.wasm");
    let folder = root().join(FOLDER);
    let _ = fs::remove_dir_all(&folder); // the first time there is none
    // The program is mostly the same for all kinds: it is made smaller once.
    let mut made: Option<(Vec<u8>, Vec<u8>)> = None;
    for (kind, name) in TARGETS {
        let mut command =
            program("wasm-bindgen", &["--target", kind, "--out-name", "headroom", "--out-dir"]);
        run(command.arg(folder.join(name)).arg(&linked).env("PATH", path))?;
        let wasm = folder.join(name).join("headroom_bg.wasm");
        let linked = read(&wasm)?;
        if let Some((_, after)) = made.as_ref().filter(|(before, _)| *before == linked) {
            fs::write(&wasm, after)
                .map_err(|error| format!("{} cannot be written: {error}.", wasm.display()))?;
        } else {
            smaller(path, &wasm)?;
            made = Some((linked, read(&wasm)?));
        }
    }
    write(&folder.join("package.json"), &description())?;
    write(&folder.join("node/package.json"), "{ \"type\": \"commonjs\" }\n")?;
    write(&folder.join("README.md"), include_str!("package.md"))?;
    let wasm = fs::read(folder.join("web/headroom_bg.wasm"))
        .map_err(|error| format!("the package's program cannot be read: {error}."))?;
    let packed = sizes::gzipped(&wasm)
        .map_err(|error| format!("the package's program cannot be packed: {error}."))?;
    say(&format!(
        "{FOLDER}/ is ready for `npm pack`: its program has {}, {} with gzip",
        sizes::kilobytes(wasm.len()),
        sizes::kilobytes(packed.len())
    ));
    Ok(())
}

fn smaller(path: &OsStr, wasm: &Path) -> Outcome {
    run(program("wasm-opt", &["-Oz"]).arg(wasm).arg("-o").arg(wasm).env("PATH", path))
}

fn read(file: &Path) -> Outcome<Vec<u8>> {
    fs::read(file).map_err(|error| format!("{} cannot be read: {error}.", file.display()))
}

fn write(file: &Path, text: &str) -> Outcome {
    fs::write(file, text).map_err(|error| format!("{} cannot be written: {error}.", file.display()))
}

/// The description for npm: one name, and the folder for each place that it is used in.
fn description() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{{
  \"name\": \"headroom-engine\",
  \"version\": \"{version}\",
  \"description\": \"Does this transformer fit, what takes the memory, how many GPUs, how long, and how do I know?\",
  \"license\": \"MIT OR Apache-2.0\",
  \"type\": \"module\",
  \"exports\": {{
    \".\": {{
      \"types\": \"./bundler/headroom.d.ts\",
      \"node\": \"./node/headroom.js\",
      \"default\": \"./bundler/headroom.js\"
    }},
    \"./web\": {{ \"types\": \"./web/headroom.d.ts\", \"default\": \"./web/headroom.js\" }}
  }},
  \"types\": \"./bundler/headroom.d.ts\",
  \"files\": [\"bundler\", \"node\", \"web\"],
  \"sideEffects\": [\"./bundler/headroom.js\"]
}}
"
    )
}
