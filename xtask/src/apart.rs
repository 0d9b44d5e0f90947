//! Cuts off the page's program what its `#[wasm_split]` functions alone lead to, with the tool that
//! Leptos has for its `#[lazy]` (`wasm_split_cli_support`). Trunk cannot do it: the cut comes after
//! the linker and before wasm-bindgen.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use wasm_split_cli_support::{Options, transform};

use crate::page::hash_of;
use crate::program::{Scratch, optimized};
use crate::shell::{Outcome, program, root, run};

/// How the names of parts begin.
pub const PART: &str = "headroom-part";

/// The name that both scripts know each other's module by, until they are one.
const LINK: &str = "./link.js";

/// The page's program without its parts, the script to both, and the parts.
#[derive(Debug)]
pub struct Parted {
    /// wasm-bindgen's script, which fetches parts.
    pub bindings: String,
    /// The program that comes first.
    pub wasm: Vec<u8>,
    /// Programs that come when they are needed, with the names that the script asks for.
    pub parts: Vec<(String, Vec<u8>)>,
}

/// Cuts the page's linked program and binds it.
///
/// # Errors
/// When a tool fails, or leaves a script of another form.
pub fn parted(path: &OsStr, bin: &str) -> Outcome<Parted> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let linked = target.join("wasm32-unknown-unknown").join("release").join(format!("{bin}.wasm"));
    let linked = fs::read(&linked)
        .map_err(|error| format!("the linked program cannot be read: {error}."))?;
    let folder = Scratch::new("parts");
    let parts = cut(&linked, &folder.0, bin);
    let bound = parts.and_then(|parts| bind(path, &folder.0, bin, &parts));
    let _ = fs::remove_dir_all(&folder.0); // a leftover in the temporary folder harms nobody
    bound
}

/// Writes the first program, the script that links, and the parts into a folder; returns the parts'
/// files.
fn cut(linked: &[u8], folder: &Path, bin: &str) -> Outcome<Vec<PathBuf>> {
    let (main, script) = (folder.join("main.wasm"), format!("./{bin}.js"));
    let mut options = Options::new(linked);
    options.output_dir = folder;
    options.main_out_path = &main;
    options.main_module = &script;
    options.link_name = LINK;
    let split = transform(options)
        .map_err(|error| format!("the page's program cannot be cut into parts: {error:#}."))?;
    if split.split_modules.is_empty() {
        return Err("the page's program has no parts to cut off.".to_owned());
    }
    Ok(split.split_modules)
}

fn bind(path: &OsStr, folder: &Path, bin: &str, files: &[PathBuf]) -> Outcome<Parted> {
    let mut command = program(
        "wasm-bindgen",
        &[
            "--target",
            "web",
            "--no-typescript",
            "--keep-lld-exports",
            "--out-name",
            bin,
            "--out-dir",
        ],
    );
    run(command.arg(folder).arg(folder.join("main.wasm")).env("PATH", path))?;
    let unread = |error| format!("wasm-bindgen left nothing to read: {error}.");
    let bindings = fs::read_to_string(folder.join(format!("{bin}.js"))).map_err(unread)?;
    let wasm = fs::read(folder.join(format!("{bin}_bg.wasm"))).map_err(unread)?;
    let mut link = fs::read_to_string(folder.join("link.js")).map_err(unread)?;
    let mut parts = Vec::new();
    for file in files {
        let part = optimized(path, &fs::read(file).map_err(unread)?)?;
        let old = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = old.trim_start_matches("split_").trim_end_matches(".wasm");
        let name = format!("{PART}-{stem}-{:016x}.wasm", hash_of(&part));
        link = link.replace(&format!("\"./{old}\""), &format!("\"./{name}\""));
        parts.push((name, part));
    }
    Ok(Parted { bindings: joined(&bindings, &link)?, wasm, parts })
}

/// wasm-bindgen's script and the one that links as one script, so that no visit asks for a second.
/// The program then gets the linking script's functions among wasm-bindgen's own imports.
fn joined(bindings: &str, link: &str) -> Outcome<String> {
    let (loaders, linking) = without_modules(&with_exports(link)?);
    let imports = "const import0 = {\n        __proto__: null,";
    // wasm-bindgen names the other module once for each function that it takes from there.
    let of_link = |line: &&str| !(line.contains(&format!("\"{LINK}\"")));
    if !bindings.contains(imports) || bindings.lines().all(|line| of_link(&line)) {
        return Err(unknown(if bindings.contains(imports) { LINK } else { imports }));
    }
    let mut bindings = bindings.lines().filter(of_link).collect::<Vec<_>>().join("\n");
    bindings = bindings.replacen(imports, &format!("{imports}{loaders}"), 1);
    Ok(format!("{bindings}\n{linking}"))
}

fn unknown(part: &str) -> String {
    format!("the script that links parts has another form: {part}.")
}

/// The script that links, which takes what parts share from wasm-bindgen's variable `wasm` in place
/// of its function.
fn with_exports(link: &str) -> Outcome<String> {
    let (before, behind) =
        link.split_once("= initSync(undefined, undefined)").ok_or_else(|| unknown("no exports"))?;
    let names = before
        .rsplit_once('{')
        .and_then(|(_, names)| names.split_once('}'))
        .ok_or_else(|| unknown("no names"))?
        .0;
    let mut shared = String::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let _ = write!(shared, "{name}: wasm.{name}, ");
    }
    Ok(format!("{before}= {{ {shared} }}{behind}"))
}

/// The entries under which the program finds the functions that load its parts, and the script
/// without imports and exports.
fn without_modules(link: &str) -> (String, String) {
    let (mut loaders, mut linking) = (String::new(), String::new());
    for line in link.lines().filter(|line| !line.starts_with("import ")) {
        let export = line
            .strip_prefix("export const __wasm_split_load_")
            .and_then(|rest| rest.split_once(' '));
        let _ = match export {
            Some((name, rest)) => {
                let _ = write!(loaders, "\n        __wasm_split_load_{name}: load_{name},");
                writeln!(linking, "const load_{name} {rest}")
            }
            None => writeln!(linking, "{line}"),
        };
    }
    (loaders, linking)
}

#[cfg(test)]
mod tests {
    use super::joined;

    const BINDINGS: &str = "import * as import1 from \"./link.js\"\nimport * as import2 from \
        \"./link.js\"\nlet wasm;\nfunction imports() {\n    const import0 = {\n        __proto__: \
        null,\n        a: b,\n    };\n    return {\n        \"./page_bg.js\": import0,\n        \
        \"./link.js\": import1,\n        \"./link.js\": import2,\n    };\n}\n";
    const LINK: &str = "import { initSync } from \"./page.js\";\nconst { memory, table,  } = \
        initSync(undefined, undefined);\nexport const __wasm_split_load_rare = wrap(load);\n";

    #[test]
    fn two_scripts_become_one() {
        let joined = joined(BINDINGS, LINK).unwrap();
        assert!(!joined.contains("import "), "{joined}");
        assert!(!joined.contains("link.js"), "{joined}");
        assert!(
            joined.contains(
                "__proto__: null,\n        __wasm_split_load_rare: load_rare,\n        a: b,"
            ),
            "{joined}"
        );
        assert!(
            joined.contains(
                "const { memory, table,  } = { memory: wasm.memory, table: wasm.table,  };"
            ),
            "{joined}"
        );
        assert!(joined.ends_with("const load_rare = wrap(load);\n"), "{joined}");
    }

    #[test]
    fn scripts_of_another_form_stop_the_build() {
        assert!(joined("", LINK).is_err());
        assert!(joined(BINDINGS, "").is_err());
    }
}
