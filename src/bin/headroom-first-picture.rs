//! Writes the page's first picture into its HTML: the file that is named, or else the one that
//! Trunk has just built. Trunk.toml calls it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use headroom::view::first_picture::{PLACE, first_picture};

fn main() -> ExitCode {
    let built = || Some(PathBuf::from(env::var_os("TRUNK_STAGING_DIR")?).join("index.html"));
    let Some(file) = env::args_os().nth(1).map(PathBuf::from).or_else(built) else {
        eprintln!("Name the file that the first picture goes into.");
        return ExitCode::FAILURE;
    };
    match write(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{}: the first picture cannot be written: {reason}.", file.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes it into that file.
fn write(file: &Path) -> Result<(), String> {
    let page = fs::read_to_string(file).map_err(|error| error.to_string())?;
    if !page.contains(PLACE) {
        return Err(format!("there is no `{PLACE}`"));
    }
    fs::write(file, page.replace(PLACE, first_picture().as_str()))
        .map_err(|error| error.to_string())
}
