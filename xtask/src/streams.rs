//! Takes streams of a server out of the page's program. Leptos brings them with its server
//! functions, which a page without a server never calls; but what a program exports, no compiler
//! takes away.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;

use crate::program::Scratch;
use crate::shell::{Outcome, program, run};

/// How the names of the classes begin, in wasm-bindgen's script.
const CLASSES: &str = "IntoUnderlying";

/// The bindings without the classes, and the program without the functions that only these call.
///
/// # Errors
/// When Binaryen's wasm-metadce fails.
pub fn without_streams(path: &OsStr, bindings: &str, wasm: &[u8]) -> Outcome<(String, Vec<u8>)> {
    let bindings = without_classes(bindings);
    let [from, to, graph] = ["from.wasm", "to.wasm", "graph.json"].map(Scratch::new);
    fs::write(&from.0, wasm)
        .and_then(|()| fs::write(&graph.0, graph_of(&called(&bindings))))
        .map_err(|error| format!("a temporary file cannot be written: {error}."))?;
    let mut metadce = program("wasm-metadce", &["--debuginfo", "--graph-file"]);
    // wasm-metadce lists everything that it takes out.
    metadce.arg(&graph.0).arg(&from.0).arg("-o").arg(&to.0).env("PATH", path).stdout(Stdio::null());
    run(&mut metadce)?;
    let wasm =
        fs::read(&to.0).map_err(|error| format!("wasm-metadce left nothing to read: {error}."))?;
    Ok((bindings, wasm))
}

/// The script without the statements that begin with one of the classes. What is inside a statement
/// is indented.
fn without_classes(bindings: &str) -> String {
    let mut cut = false;
    let mut kept = String::with_capacity(bindings.len());
    for line in bindings.lines() {
        if !line.starts_with([' ', '}']) {
            cut = line.contains(CLASSES);
        }
        if !cut {
            kept.push_str(line);
            kept.push('\n');
        }
        cut &= line != "}";
    }
    kept
}

/// The names of what the script calls in the program.
fn called(bindings: &str) -> Vec<&str> {
    let end = |text: &str| {
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .unwrap_or(text.len())
    };
    let mut names: Vec<&str> =
        bindings.split("wasm.").skip(1).map(|rest| &rest[..end(rest)]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The exports that wasm-metadce shall keep, by name, with all that they need.
fn graph_of(names: &[&str]) -> String {
    let mut graph = format!("[{{\"name\":\"page\",\"root\":true,\"reaches\":{names:?}}}");
    for name in names {
        let _ = write!(graph, ",{{\"name\":\"{name}\",\"export\":\"{name}\"}}");
    }
    graph.push(']');
    graph
}

#[cfg(test)]
mod tests {
    use super::{called, graph_of, without_classes};

    #[test]
    fn classes_of_streams_go_and_the_rest_stays() {
        let script = "function a() {\n    wasm.a_1(wasm.memory);\n}\nexport class \
            IntoUnderlyingSink {\n    close() {\n        wasm.sink_close();\n    }\n}\nif \
            (Symbol.dispose) IntoUnderlyingSink.prototype = 1;\nconst \
            IntoUnderlyingSinkFinalization = 1\n    ? wasm.sink_free\n    : 2;\nexport { a };\n";
        let kept = without_classes(script);
        assert_eq!(kept, "function a() {\n    wasm.a_1(wasm.memory);\n}\nexport { a };\n");
        assert_eq!(called(&kept), ["a_1", "memory"]);
        assert_eq!(
            graph_of(&["a_1"]),
            r#"[{"name":"page","root":true,"reaches":["a_1"]},{"name":"a_1","export":"a_1"}]"#
        );
    }
}
