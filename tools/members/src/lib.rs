//! A list whose members are the files of a folder.
//!
//! Families, optimizers and the other lists of the design keep one member in one file. This macro
//! declares those files as modules and collects the constant that each exports, so that adding a
//! member adds a file and touches no other one.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro::TokenStream;

/// Declares every file of a folder as a module and makes a table of the constant that each exports.
///
/// `members::of_folder!("src/optimizers", OPTIMIZER: OptimizerSpec);` in `src/optimizers/mod.rs`
/// declares `mod adamw;` and so on in the order of their names, and `pub(crate) static MEMBERS:
/// [&OptimizerSpec; N]`, which refers to `adamw::OPTIMIZER` and so on. The folder is relative to
/// the package; `mod.rs` and folders inside it are left out. Where a file is added, a build script
/// must ask cargo to build again (`cargo::rerun-if-changed=src/optimizers`), as the compiler looks
/// at known files only.
///
/// The compiler reports a folder that cannot be read, an argument of another form, and a file
/// without that constant.
#[proc_macro]
pub fn of_folder(arguments: TokenStream) -> TokenStream {
    let text = arguments.to_string();
    let code = match declarations(&text) {
        Ok(code) => code,
        Err(problem) => format!("compile_error!({problem:?});"),
    };
    code.parse().unwrap_or_default()
}

/// The modules and the table as source text.
fn declarations(arguments: &str) -> Result<String, String> {
    const FORM: &str = "write: members::of_folder!(\"src/folder\", CONSTANT: Type)";
    let (folder, exported) = arguments.split_once(',').ok_or(FORM)?;
    let (constant, kind) = exported.split_once(':').ok_or(FORM)?;
    let (constant, kind) = (constant.trim(), kind.trim());
    let folder = folder.trim().trim_matches('"');
    let mut names = files(&in_package(folder)?, "rs")
        .map_err(|error| format!("{folder} cannot be read: {error}"))?;
    names.retain(|name| name != "mod");
    let each =
        |write: &dyn Fn(&String) -> String| names.iter().map(write).collect::<Vec<_>>().concat();
    let declared = each(&|name| format!("mod {name};\n"));
    let table = each(&|name| format!("&{name}::{constant}, "));
    let count = names.len();
    Ok(format!(
        "{declared}/// Every member, in the order of their files' names.\npub(crate) static \
         MEMBERS: [&{kind}; {count}] = [{table}];"
    ))
}

/// Makes a table of the texts of a folder's files with that ending, in the order of their names.
///
/// `members::texts_of_folder!("src/lessons/stories", json);` declares `static TEXTS: [&str; N]`. As
/// for [`of_folder`], a build script must ask cargo to build again where a file is added.
#[proc_macro]
pub fn texts_of_folder(arguments: TokenStream) -> TokenStream {
    let text = arguments.to_string();
    let code = match texts(&text) {
        Ok(code) => code,
        Err(problem) => format!("compile_error!({problem:?});"),
    };
    code.parse().unwrap_or_default()
}

/// The table of texts as source text.
fn texts(arguments: &str) -> Result<String, String> {
    let (folder, ending) = arguments
        .split_once(',')
        .ok_or("write: members::texts_of_folder!(\"src/folder\", ending)")?;
    let (folder, ending) = (folder.trim().trim_matches('"'), ending.trim());
    let path = in_package(folder)?;
    let names =
        files(&path, ending).map_err(|error| format!("{folder} cannot be read: {error}"))?;
    let text = |name: &String| {
        let file = path.join(format!("{name}.{ending}"));
        format!("include_str!({:?}), ", file.to_string_lossy())
    };
    let texts = names.iter().map(text).collect::<Vec<_>>().concat();
    Ok(format!("static TEXTS: [&str; {}] = [{texts}];", names.len()))
}

/// A folder of the package that is being compiled.
fn in_package(folder: &str) -> Result<PathBuf, String> {
    let package = env::var("CARGO_MANIFEST_DIR")
        .map_err(|_| "cargo does not say where the package is".to_owned())?;
    Ok(Path::new(&package).join(folder))
}

/// The names of the files with that ending that lie in a folder, without it, in order.
fn files(folder: &Path, ending: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == ending) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
