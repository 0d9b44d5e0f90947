//! How much a first visit downloads, and whether that is too much.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::apart::PART;
use crate::page::WORKER;
use crate::program::{PACKED, RARE};
use crate::shell::{Outcome, say};
use crate::styles::LATER;

/// Most bytes of WebAssembly that a first visit loads, after gzip (1 kB = 1000 bytes).
const WASM_BAR: usize = 480_000;
/// Most bytes of everything that the page requests when it opens, after gzip.
const FIRST_LOAD_BAR: usize = 480_000;

/// Most bytes of the page that is one file. It was 1.4 MB before the readers of other tools'
/// commands, with every argument of each, came in.
const SINGLE_BAR: usize = 1_700_000;

/// One file as it lies on disk and as it travels.
struct Size {
    name: String,
    raw: usize,
    gzip: usize,
}

/// Prints the size of every file of the first load, and of those that are fetched when they are
/// needed.
///
/// # Errors
/// When a budget is exceeded or a file cannot be read.
pub fn check(dist: &Path) -> Outcome {
    let files = first_load(dist).map_err(|error| format!("dist/ cannot be read: {error}."))?;
    say("Size of the first load");
    println!("{:>12} {:>12}", "raw", "gzip -9");
    for file in &files {
        println!("{:>12} {:>12}  {}", kilobytes(file.raw), kilobytes(file.gzip), file.name);
    }
    say("Fetched when it is needed: the workers' program, parts of the page's, and rare scripts");
    let later = later_files(dist).map_err(|error| format!("dist/ cannot be read: {error}."))?;
    for file in &later {
        println!("{:>12} {:>12}  {}", kilobytes(file.raw), kilobytes(file.gzip), file.name);
    }
    let wasm = gzip_total(&files, PACKED);
    let all = gzip_total(&files, "");
    for (what, size, bar) in [("WebAssembly", wasm, WASM_BAR), ("First load", all, FIRST_LOAD_BAR)]
    {
        let verdict = if size <= bar { "within" } else { "ABOVE" };
        println!("{what}: {}, {verdict} its budget of {}.", kilobytes(size), kilobytes(bar));
    }
    judge(wasm, all)
}

/// Checks that the page's two sizes after gzip are within their budgets.
fn judge(wasm: usize, all: usize) -> Outcome {
    if wasm == 0 {
        return Err(
            "dist/ holds no WebAssembly: index.html needs a `<link data-trunk rel=\"rust\">`."
                .to_owned(),
        );
    }
    if wasm > WASM_BAR || all > FIRST_LOAD_BAR {
        return Err("the page is larger than its budget: see the sizes above.".to_owned());
    }
    Ok(())
}

/// Prints the size of the page that is one file.
///
/// # Errors
/// When it is above its budget.
pub fn check_single(program: usize, file: usize) -> Outcome {
    say("Size of the single file");
    println!("{:>12}  program, packed", kilobytes(program));
    println!("{:>12}  dist/headroom.html", kilobytes(file));
    if file > SINGLE_BAR {
        return Err(format!(
            "the single file is larger than its budget of {}.",
            kilobytes(SINGLE_BAR)
        ));
    }
    println!("Single file: within its budget of {}.", kilobytes(SINGLE_BAR));
    Ok(())
}

/// Files that index.html names for those who unfurl a link or install the page; browsers that only
/// show it leave them.
const ASIDE: [&str; 4] = ["og.png", "touch.png", "icon-512.png", "manifest.webmanifest"];

/// True if the file is fetched only when it is needed: index.html and the start script name it, but
/// nothing asks for it at the start.
fn comes_later(name: &str) -> bool {
    let rare = RARE.into_iter().map(|(script, _)| script);
    [WORKER, LATER, PART]
        .into_iter()
        .chain(rare)
        .chain(ASIDE)
        .any(|second| name.starts_with(second))
}

/// The files that come later.
fn later_files(dist: &Path) -> std::io::Result<Vec<Size>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dist)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if comes_later(&name) {
            let content = fs::read(entry.path())?;
            files.push(Size { name, raw: content.len(), gzip: gzip_length(&content)? });
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.gzip));
    Ok(files)
}

/// The files that the page asks for when it opens: index.html, every file that it names, and every
/// file that its start script names.
fn first_load(dist: &Path) -> std::io::Result<Vec<Size>> {
    let mut html = fs::read_to_string(dist.join("index.html"))?;
    for entry in fs::read_dir(dist)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("start-") && html.contains(&name) {
            html += &fs::read_to_string(entry.path())?;
        }
    }
    let mut files = Vec::new();
    let mut folders = vec![dist.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name =
                path.strip_prefix(dist).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if name == "index.html" || html.contains(&name) && !comes_later(&name) {
                let content = fs::read(&path)?;
                files.push(Size { name, raw: content.len(), gzip: gzip_length(&content)? });
            }
        }
    }
    files.sort_by(|a, b| b.gzip.cmp(&a.gzip).then_with(|| a.name.cmp(&b.name)));
    Ok(files)
}

/// The content as servers pack it.
///
/// # Errors
/// None that are known: memory takes every byte.
pub fn gzipped(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

fn gzip_length(content: &[u8]) -> std::io::Result<usize> {
    Ok(gzipped(content)?.len())
}

fn gzip_total(files: &[Size], ending: &str) -> usize {
    files.iter().filter(|file| file.name.ends_with(ending)).map(|file| file.gzip).sum()
}

/// `277.3 kB`, with 1 kB = 1000 bytes.
pub fn kilobytes(bytes: usize) -> String {
    let tenths = bytes.div_ceil(100);
    format!("{}.{} kB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FIRST_LOAD_BAR, WASM_BAR, first_load, gzip_length, judge, kilobytes, later_files};

    #[test]
    fn a_page_above_either_budget_fails() {
        assert_eq!(judge(WASM_BAR, FIRST_LOAD_BAR), Ok(()));
        assert!(judge(WASM_BAR + 1, FIRST_LOAD_BAR).is_err());
        assert!(judge(WASM_BAR, FIRST_LOAD_BAR + 1).is_err());
        assert!(judge(0, 10).is_err());
    }

    #[test]
    fn the_first_load_is_what_the_page_names() {
        let dist = std::env::temp_dir().join(format!("headroom-sizes-{}", std::process::id()));
        fs::create_dir_all(dist.join("art")).unwrap();
        for (name, text) in [
            ("index.html", "./a.js ./start-1.js ./art/icon.svg ./headroom-worker-1.js"),
            ("headroom-worker-1.js", "e"),
            ("headroom-part-later-1.wasm", "h"),
            ("headroom-worker-1_bg.wasm", "f"),
            ("a.js", "a"),
            ("start-1.js", "./b.packed"),
            ("b.packed", "d"),
            ("later.js", "b"),
            ("art/icon.svg", "c"),
        ] {
            fs::write(dist.join(name), text).unwrap();
        }
        let mut names: Vec<String> =
            first_load(&dist).unwrap().into_iter().map(|file| file.name).collect();
        names.sort();
        let mut later: Vec<String> =
            later_files(&dist).unwrap().into_iter().map(|file| file.name).collect();
        later.sort();
        fs::remove_dir_all(&dist).unwrap();
        assert_eq!(names, ["a.js", "art/icon.svg", "b.packed", "index.html", "start-1.js"]);
        assert_eq!(
            later,
            ["headroom-part-later-1.wasm", "headroom-worker-1.js", "headroom-worker-1_bg.wasm"]
        );
    }

    #[test]
    fn sizes_are_decimal_and_never_rounded_down() {
        assert_eq!(kilobytes(250_000), "250.0 kB");
        assert_eq!(kilobytes(250_001), "250.1 kB");
    }

    #[test]
    fn gzip_shrinks_what_repeats() {
        assert!(gzip_length(&[b'a'; 10_000]).unwrap() < 100);
    }
}
