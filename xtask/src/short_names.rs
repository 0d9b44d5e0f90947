//! Short names between the page's program and its script. wasm-bindgen tells what they share by
//! long names with a hash, which no packer makes small; no one outside the two knows them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Scratch;
use crate::shell::{Outcome, program, run};

/// How a script is loaded, which decides the names that it must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// As a module: no one sees its own names.
    Module,
    /// As a plain script: others use the names that it declares outside functions.
    Plain,
}

/// The script and the program with short names for the items that they share; the script has short
/// names for its own as well.
///
/// # Errors
/// When Binaryen's wasm-opt or terser fails, or a name is left that the program no longer has.
pub fn with_short_names(
    path: &OsStr,
    (bindings, kind): (&str, Script),
    wasm: &[u8],
) -> Outcome<(String, Vec<u8>)> {
    let [from, to, map] = ["from.wasm", "to.wasm", "names.json"].map(Scratch::new);
    fs::write(&from.0, wasm)
        .map_err(|error| format!("a temporary file cannot be written: {error}."))?;
    let names = fs::File::create(&map.0)
        .map_err(|error| format!("a temporary file cannot be written: {error}."))?;
    let mut command = program("wasm-opt", &["--minify-imports-and-exports-and-modules"]);
    run(command.arg(&from.0).arg("-o").arg(&to.0).env("PATH", path).stdout(names))?;
    let unread = |error: std::io::Error| format!("wasm-opt left nothing to read: {error}.");
    let names = Names::read(&fs::read_to_string(&map.0).map_err(unread)?)?;
    let bindings = minified(path, &names.renamed(bindings)?, kind)?;
    Ok((bindings, fs::read(&to.0).map_err(unread)?))
}

/// The script with its own names short, by terser.
///
/// # Errors
/// When terser fails.
pub fn minified(path: &OsStr, script: &str, kind: Script) -> Outcome<String> {
    by_terser(path, script, kind, &[])
}

/// A script whose objects no other script looks into: the names of their members are short, too.
///
/// # Errors
/// When terser fails.
pub fn minified_alone(path: &OsStr, script: &str, kind: Script) -> Outcome<String> {
    by_terser(path, script, kind, &["--mangle-props"])
}

fn by_terser(path: &OsStr, script: &str, kind: Script, further: &[&str]) -> Outcome<String> {
    let [from, to] = ["from.js", "to.js"].map(Scratch::new);
    fs::write(&from.0, script)
        .map_err(|error| format!("a temporary file cannot be written: {error}."))?;
    let mut command = program("terser", &["--compress", "passes=3,ecma=2020", "--mangle"]);
    let command = if kind == Script::Module { command.arg("--module") } else { &mut command };
    let command = command.args(further).arg("--output");
    run(command.arg(&to.0).arg(&from.0).env("PATH", path).stdout(Stdio::null()))?;
    fs::read_to_string(&to.0).map_err(|error| format!("terser left nothing to read: {error}."))
}

/// The new names, by the old ones.
#[derive(Debug)]
struct Names {
    /// The modules that the program's imports come from.
    modules: HashMap<String, String>,
    /// Functions of the script that the program calls.
    imports: HashMap<String, String>,
    /// Functions of the program that the script calls.
    exports: HashMap<String, String>,
}

impl Names {
    /// Reads wasm-opt's list: `{"imports": [[module, old, new], …], "exports": [[old, new], …]}`.
    /// All modules become one, `a`, which the script hands over as one object.
    fn read(list: &str) -> Outcome<Self> {
        let unknown = || format!("wasm-opt lists new names in another form: {list:.200}");
        let list: Value = serde_json::from_str(list).map_err(|_| unknown())?;
        let (mut names, one) = (
            Self { modules: HashMap::new(), imports: HashMap::new(), exports: HashMap::new() },
            "a".to_owned(),
        );
        let rows = |key: &str| list.get(key).and_then(Value::as_array).ok_or_else(unknown);
        let word = |row: &Value, at: usize| {
            row.get(at).and_then(Value::as_str).map(str::to_owned).ok_or_else(unknown)
        };
        for row in rows("imports")? {
            names.modules.insert(word(row, 0)?, one.clone());
            names.imports.insert(word(row, 1)?, word(row, 2)?);
        }
        for row in rows("exports")? {
            names.exports.insert(word(row, 0)?, word(row, 1)?);
        }
        Ok(names)
    }

    /// The script with the new names: of its own functions where it hands them over (`name:
    /// function`), of the program's where it calls them (`wasm.name`), and of the module.
    fn renamed(&self, script: &str) -> Outcome<String> {
        let mut renamed = String::with_capacity(script.len());
        let mut rest = script;
        while let Some(at) = rest.find(is_of_name) {
            let (before, found) = rest.split_at(at);
            let end = found.find(|letter| !is_of_name(letter)).unwrap_or(found.len());
            let (name, behind) = found.split_at(end);
            renamed.push_str(before);
            let new = match (renamed.ends_with("wasm."), behind.starts_with(':')) {
                (true, _) => self.exports.get(name),
                (false, true) => self.imports.get(name),
                (false, false) => None,
            };
            renamed.push_str(new.map_or(name, String::as_str));
            rest = behind;
        }
        renamed.push_str(rest);
        for (old, new) in &self.modules {
            renamed = renamed.replace(&format!("\"{old}\""), &format!("\"{new}\""));
        }
        match self
            .imports
            .keys()
            .chain(self.modules.keys())
            .find(|old| renamed.contains(old.as_str()))
        {
            Some(old) => Err(format!(
                "the page's script still says {old}, which its program no longer does."
            )),
            None => Ok(renamed),
        }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::Names;

    const LIST: &str = r#"{"imports": [["./page_bg.js", "__wbg_set_12", "$"], ["./page_bg.js", "__wbindgen_cast_1", "b"]],
                           "exports": [["memory", "c"], ["start", "d"]]}"#;
    const SCRIPT: &str = "const memory = 1; const imports = {\n__wbg_set_12: function(a) { return \
        wasm.memory; },\n__wbindgen_cast_1: x\n};\nreturn { \"./page_bg.js\": imports }; \
        wasm.start(); wasm.other();";

    #[test]
    fn both_sides_get_the_same_names_and_the_rest_stays() {
        let renamed = Names::read(LIST).and_then(|names| names.renamed(SCRIPT));
        let expected = "const memory = 1; const imports = {\n$: function(a) { return wasm.c; \
            },\nb: x\n};\nreturn { \"a\": imports }; wasm.d(); wasm.other();";
        assert_eq!(renamed.as_deref(), Ok(expected));
    }

    #[test]
    fn a_name_that_is_left_stops_the_build() {
        let names = Names::read(LIST);
        assert!(names.is_ok_and(|names| names.renamed("imports.__wbg_set_12 = 1").is_err()));
        assert!(Names::read("{}").is_err());
    }
}
