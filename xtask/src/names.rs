//! Short names between the page's program and wasm-bindgen's script. What wasm-bindgen gives each, such as
//! `__wbg_querySelector_1555c239948f2bf0`, stands in both files, and its hash is what gzip cannot shorten.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{ExportSection, ImportSection, Module};
use wasmparser::{Export, ExportSectionReader, ImportSectionReader, Parser, Payload};

use crate::shell::Outcome;

/// What the program's own imports come from, afterwards.
const SCRIPT: &str = "_";

/// A program and its script with short names in both.
///
/// # Errors
/// When the program cannot be read, or the script uses a name that would be given.
pub fn shortened(program: &[u8], script: &str) -> Outcome<(Vec<u8>, String)> {
    let failed = |error: Error| format!("the program's names cannot be shortened: {error}.");
    let names = Names::of(program, script).map_err(|error| failed(error.into()))?;
    if let Some(taken) = tokens(script).find(|token| names.given.values().any(|given| given == token)) {
        return Err(format!("wasm-bindgen's script uses the name `{taken}` already: xtask/src/names.rs must give others."));
    }
    let (mut module, mut renaming) = (Module::new(), &names);
    renaming.parse_core_module(&mut module, Parser::new(0), program).map_err(failed)?;
    let mut short: String = tokens(script).map(|token| names.now(token)).collect();
    if let Some(from) = &names.from {
        short = short.replace(&format!("\"{from}\""), &format!("\"{SCRIPT}\""));
    }
    Ok((module.finish(), short))
}

/// What is called how from now on.
#[derive(Debug, Default)]
struct Names {
    given: BTreeMap<String, String>,
    /// What the program imports from its script as.
    from: Option<String>,
}

impl Names {
    /// Names for all that the script calls by a name of wasm-bindgen's: those alone hold underscores.
    fn of(program: &[u8], script: &str) -> wasmparser::Result<Self> {
        let mut names = Self::default();
        let mut all = Vec::new();
        for payload in Parser::new(0).parse_all(program) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        if script.contains(&format!("\"{}\"", import.module)) {
                            names.from = Some(import.module.to_owned());
                            all.push(import.name);
                        }
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        all.push(export?.name);
                    }
                }
                _ => {}
            }
        }
        let used: BTreeSet<&str> = tokens(script).collect();
        all.retain(|name| name.contains('_') && used.contains(name));
        names.given = all.into_iter().zip(0_u32..).map(|(name, at)| (name.to_owned(), format!("_{at}"))).collect();
        Ok(names)
    }

    fn now<'a>(&'a self, name: &'a str) -> &'a str {
        self.given.get(name).map_or(name, String::as_str)
    }
}

impl Reencode for &Names {
    type Error = Infallible;

    fn parse_import_section(&mut self, imports: &mut ImportSection, section: ImportSectionReader<'_>) -> Result<(), Error> {
        for import in section.into_imports() {
            let import = import?;
            let kind = self.entity_type(import.ty)?;
            let from = if self.from.as_deref() == Some(import.module) { SCRIPT } else { import.module };
            imports.import(from, self.now(import.name), kind);
        }
        Ok(())
    }

    fn parse_export_section(&mut self, exports: &mut ExportSection, section: ExportSectionReader<'_>) -> Result<(), Error> {
        for export in section {
            let export = export?;
            utils::parse_export(self, exports, Export { name: self.now(export.name), ..export })?;
        }
        Ok(())
    }
}

/// A script in pieces: its names and numbers, and what stands between them.
fn tokens(script: &str) -> impl Iterator<Item = &str> {
    let named = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let mut rest = script;
    std::iter::from_fn(move || {
        let inside = named(rest.chars().next()?);
        let end = rest.find(|character| named(character) != inside).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{EntityType, ExportKind, ExportSection, ImportSection, Module, TypeSection};
    use wasmparser::validate;

    use super::shortened;

    /// A program that imports two functions of its script and one of the start script, and exports what it imports.
    fn program() -> Vec<u8> {
        let (mut types, mut imports, mut exports) = (TypeSection::new(), ImportSection::new(), ExportSection::new());
        types.ty().function([], []);
        for (from, name) in [("./page_bg.js", "__wbg_log_12ab"), ("./page_bg.js", "__wbg_log_34cd"), ("later", "load")] {
            imports.import(from, name, EntityType::Function(0));
        }
        for (name, at) in [("main", 0), ("__wbindgen_start", 1), ("__not_in_the_script", 2)] {
            exports.export(name, ExportKind::Func, at);
        }
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&exports);
        module.finish()
    }

    const PAGE: &str = "const a = { __wbg_log_12ab: f(12), __wbg_log_34cd: f(34) };\n\
                        const all = { \"./page_bg.js\": a };\nwasm.__wbindgen_start(); __wbg_log_12ab_more; wasm.main();\n";

    #[test]
    fn both_files_say_the_same_short_names() {
        let (program, script) = shortened(&program(), PAGE).unwrap();
        validate(&program).unwrap();
        let text = String::from_utf8_lossy(&program).into_owned();
        for gone in ["__wbg_log", "page_bg", "__wbindgen_start"] {
            assert!(!text.contains(gone), "{gone} in the program");
        }
        for stays in ["later", "load", "main", "__not_in_the_script"] {
            assert!(text.contains(stays), "{stays} in the program");
        }
        assert_eq!(
            script,
            "const a = { _0: f(12), _1: f(34) };\nconst all = { \"_\": a };\nwasm._2(); __wbg_log_12ab_more; wasm.main();\n"
        );
    }

    #[test]
    fn a_name_that_is_taken_is_not_given() {
        let refused = shortened(&program(), &format!("{PAGE}let _1;")).unwrap_err();
        assert!(refused.contains("`_1`"), "{refused}");
    }

    #[test]
    fn what_is_no_program_says_so() {
        assert!(shortened(b"<html>", PAGE).is_err());
    }
}
