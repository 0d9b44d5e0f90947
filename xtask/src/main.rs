//! The project's commands: `cargo xtask serve`, `cargo xtask build`, `cargo xtask test` and `cargo
//! xtask accuracy`.
//!
//! Each brings the tools it needs, says what it does while it does it, and stops at the first thing
//! that fails.

mod accuracy;
mod apart;
mod browser;
mod checks;
mod offline;
mod package;
mod page;
mod program;
mod serve;
mod shell;
mod short_names;
mod single;
mod sizes;
mod sorted;
mod streams;
mod styles;
mod tools;
mod unpack;

use std::process::ExitCode;

use shell::Outcome;

const HELP: &str = "\
cargo xtask serve [--port N]   build the page and serve it on 127.0.0.1
cargo xtask build              build the page into dist/ and check its size
cargo xtask build --single-file   build dist/headroom.html: the whole page in one file, which needs no server
cargo xtask build --package    build dist-package/: the engine for browsers, bundlers and Node, ready for `npm pack`
cargo xtask accuracy FILE...   compare the estimates with files of measured rows (--json, --rows, --markdown)
cargo xtask accuracy --write   the same over tests/data, written into README.md and the page's table
cargo xtask test               run every check: format, lints, tests, browser tests

What is missing (wasm target, trunk, wasm-bindgen, npm packages, a browser for the tests) is installed first;
tools are kept in ${XDG_CACHE_HOME:-~/.cache}/headroom/tools, one folder per version.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Outcome {
    match arguments {
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ["serve"] => build_and_serve(None),
        ["serve", "--port", port] => match port.parse() {
            Ok(port) => build_and_serve(Some(port)),
            Err(_) => Err(format!(
                "`{port}` is no port: give a number from 1 to 65535, for example `--port 8080`."
            )),
        },
        ["build"] => page::build(&tools::for_the_page()?),
        ["build", "--single-file"] => single::build(&tools::for_the_page()?),
        ["build", "--package"] => package::build(&tools::for_the_page()?),
        ["accuracy", "--write"] => accuracy::write(),
        ["accuracy", arguments @ ..] => accuracy::run(arguments),
        ["test"] => checks::run_all(),
        other => Err(format!("there is no command `{}`. There are:\n\n{HELP}", other.join(" "))),
    }
}

fn build_and_serve(port: Option<u16>) -> Outcome {
    // Before the build: nobody should wait for it only to learn that the port is taken.
    let listener = serve::listen(port)?;
    page::build(&tools::for_the_page()?)?;
    serve::serve(&shell::root().join("dist"), &listener)
}
