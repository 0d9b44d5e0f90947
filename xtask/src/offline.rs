//! Files that the page keeps for visits without a network: the list of one build's files, each with
//! its SHA-256.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::page::hash_of;
use crate::program::{bare, read_source};
use crate::shell::Outcome;

/// The service worker, and the script that takes its place on the server to switch it off.
const WORKER: &str = "src/app/sw.js";
const OFF: &str = "src/app/sw-off.js";

/// Writes the build's id into index.html, and the service worker with the build's files.
///
/// # Errors
/// When a file cannot be read or written.
pub fn keep(dist: &Path) -> Outcome {
    let build = format!("{:016x}", hash_of(&contents(dist)?));
    let path = dist.join("index.html");
    let html = fs::read_to_string(&path)
        .map_err(|error| format!("dist/index.html cannot be read: {error}."))?;
    let meta = format!("<meta name=\"headroom-build\" content=\"{build}\"></head>");
    let unwritable = |error| format!("dist/ cannot be written: {error}.");
    fs::write(&path, html.replacen("</head>", &meta, 1)).map_err(unwritable)?;
    let worker = worker(&read_source(WORKER)?, &build, &contents(dist)?)?;
    fs::write(dist.join("sw.js"), worker).map_err(unwritable)?;
    fs::write(dist.join("sw-off.js"), bare(&read_source(OFF)?)).map_err(unwritable)
}

/// The service worker of a build.
fn worker(script: &str, build: &str, files: &[(String, Vec<u8>)]) -> Outcome<String> {
    let mut list = String::from("{");
    for (name, content) in files {
        let name = if name == "index.html" { "" } else { name };
        let _ = write!(list, "\"./{name}\":\"{}\",", integrity(content));
    }
    list.push('}');
    let mut script = bare(script);
    for (place, value) in [
        ("const BUILD = \"\";", format!("const BUILD = \"{build}\";")),
        ("const FILES = {};", format!("const FILES = {list};")),
    ] {
        if !script.contains(place) {
            return Err(format!("{WORKER} has no line `{place}`."));
        }
        script = script.replacen(place, &value, 1);
    }
    Ok(script)
}

/// `sha256-…`, as browsers check it.
pub fn integrity(content: &[u8]) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}

/// The page's files with their names, in order, without those that it never asks for.
fn contents(dist: &Path) -> Outcome<Vec<(String, Vec<u8>)>> {
    let unreadable = |error| format!("dist/ cannot be read: {error}.");
    let mut files = Vec::new();
    for entry in fs::read_dir(dist).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file()
            && !["README.md", "sw.js", "sw-off.js", "headroom.html"].contains(&name.as_str())
        {
            files.push((name, fs::read(&path).map_err(unreadable)?));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{WORKER, integrity, keep, worker};
    use crate::program::read_source;

    #[test]
    fn the_worker_lists_every_file_with_its_hash() {
        let files = [("index.html".to_owned(), b"<p>".to_vec()), ("a-1.js".to_owned(), Vec::new())];
        let script = worker(&read_source(WORKER).unwrap(), "1f", &files).unwrap();
        assert!(script.contains("const BUILD = \"1f\";"));
        let empty = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(integrity(b""), empty);
        assert!(
            script.contains(&format!("\"./a-1.js\":\"{empty}\""))
                && script.contains("{\"./\":\"sha256-"),
            "{script}"
        );
        assert!(worker("", "1f", &files).is_err());
    }

    #[test]
    fn another_content_is_another_build() {
        let dist = std::env::temp_dir().join(format!("headroom-offline-{}", std::process::id()));
        let builds = ["a", "b", "a"].map(|content| {
            fs::create_dir_all(&dist).unwrap();
            fs::write(dist.join("index.html"), "<head></head>").unwrap();
            fs::write(dist.join("a.js"), content).unwrap();
            keep(&dist).unwrap();
            let html = fs::read_to_string(dist.join("index.html")).unwrap();
            let worker = fs::read_to_string(dist.join("sw.js")).unwrap();
            fs::remove_dir_all(&dist).unwrap();
            let build = html
                .split("content=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next())
                .unwrap()
                .to_owned();
            assert!(
                worker.contains(&build) && worker.contains(&integrity(html.as_bytes())),
                "the index is that of the build"
            );
            build
        });
        assert!(builds[0] == builds[2] && builds[0] != builds[1], "{builds:?}");
    }
}
