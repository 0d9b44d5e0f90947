//! The page's program in dist/: made small, named after its content, with the script that starts
//! it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::apart::{Parted, parted};
use crate::page::hash_of;
use crate::shell::{Outcome, program, root, run};
use crate::short_names::{Script, minified, minified_alone, with_short_names};
use crate::streams::without_streams;
use crate::unpack;

/// Makes the page's program and its scripts small and gives them names after their content, as all
/// files of the page have: a page never meets a program of another version. Our start script takes
/// the place of Trunk's.
///
/// # Errors
/// When the program is not there, or a file cannot be read or written.
pub fn name_the_page(path: &OsStr, dist: &Path) -> Outcome {
    let of_trunk = files_of_trunk(dist)?;
    let Parted { bindings, wasm, parts } = parted(path, "headroom-page")?;
    let (bindings, wasm) = without_streams(path, &bindings, &wasm)?;
    let (bindings, wasm) =
        with_short_names(path, (&bare(&bindings), Script::Module), &optimized(path, &wasm)?)?;
    let packed = unpack::tightly_packed(&wasm)?;
    let unpacker = minified_alone(
        path,
        &format!("{}{}", unpack::script()?, unpack::IN_WORKER),
        Script::Module,
    )?;
    let later = parts
        .iter()
        .find(|(name, _)| name.starts_with(LATER))
        .ok_or("the page's program has no part for later.")?;
    let names = [
        format!("headroom-page-{:016x}.js", hash_of(bindings.as_str())),
        format!("headroom-page-{:016x}{PACKED}", hash_of(&wasm)),
        format!("unpack-{:016x}.js", hash_of(unpacker.as_str())),
        later.0.clone(),
    ];
    let mut script = start_script(&read_source(START)?, &names)?;
    let mut rare = Vec::new();
    for (name, path) in RARE {
        let text = bare(&read_source(path)?);
        let file = format!("{name}-{:016x}.js", hash_of(text.as_str()));
        script = named(&script, &format!("./{name}.js"), &file)?;
        rare.push((file, text));
    }
    let script = minified(path, &script, Script::Module)?;
    let script_name = format!("start-{:016x}.js", hash_of(script.as_str()));
    let html = read_source("dist/index.html")?;
    let html = with_start_script(&without_preloads(&html), &script_name)?;
    let [bindings_name, wasm_name, unpack_name, _] = names;
    let written = (of_trunk.iter().try_for_each(|name| fs::remove_file(dist.join(name))))
        .and_then(|()| fs::write(dist.join(bindings_name), bindings))
        .and_then(|()| fs::write(dist.join(wasm_name), packed))
        .and_then(|()| fs::write(dist.join(unpack_name), unpacker))
        .and_then(|()| {
            parts.into_iter().try_for_each(|(name, part)| fs::write(dist.join(name), part))
        })
        .and_then(|()| {
            rare.into_iter().try_for_each(|(name, text)| fs::write(dist.join(name), text))
        })
        .and_then(|()| fs::write(dist.join(script_name), script))
        .and_then(|()| fs::write(dist.join("index.html"), html));
    written.map_err(|error| format!("dist/ cannot be written: {error}."))
}

/// How the name of the packed program ends. Servers know no such ending: they send it as it is, and
/// neither unpack it nor pack it again.
pub const PACKED: &str = ".packed";

/// The names of the page's program and of wasm-bindgen's script to it, as Trunk leaves them.
fn files_of_trunk(dist: &Path) -> Outcome<[String; 2]> {
    let unreadable = |error| format!("dist/ cannot be read: {error}.");
    let files = fs::read_dir(dist)
        .map_err(unreadable)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    let names: Vec<String> =
        files.iter().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let of_the_page = |ending: &str| {
        let found =
            names.iter().find(|name| name.starts_with("headroom-page-") && name.ends_with(ending));
        found.cloned().ok_or_else(|| {
            format!(
                "dist/ holds no headroom-page{ending}: index.html needs its `<link data-trunk>`."
            )
        })
    };
    Ok([of_the_page("_bg.wasm")?, of_the_page(".js")?])
}

/// A script without lines of comment and without indentation; neither ours nor wasm-bindgen's has
/// text of several lines.
pub fn bare(script: &str) -> String {
    let mut inside = false;
    let mut bare = String::with_capacity(script.len());
    for line in script.lines().map(str::trim) {
        let begins = !inside && line.starts_with("/*");
        let comment = inside || begins || line.is_empty() || line.starts_with("//");
        inside = (inside || begins) && !line.contains("*/");
        if !comment {
            bare.push_str(line);
            bare.push('\n');
        }
    }
    bare
}

/// The text of a file of the checkout.
///
/// # Errors
/// When it cannot be read.
pub fn read_source(path: &str) -> Outcome<String> {
    fs::read_to_string(root().join(path))
        .map_err(|error| format!("{path} cannot be read: {error}."))
}

/// Scripts that few visits ask for: how their names begin, and where they are.
pub const RARE: [(&str, &str); 3] = [
    ("pictures", "src/app/pictures.js"),
    ("embed", "src/app/embed.js"),
    ("offline", "src/app/offline.js"),
];

/// The part that the start script asks for ahead of the program, where a link needs it.
const LATER: &str = "headroom-part-later-";

/// The script that starts the page's program.
const START: &str = "src/app/start.js";

/// The start script with the names of the files it loads.
fn start_script(script: &str, names: &[String; 4]) -> Outcome<String> {
    let places = ["./bindings.js", "./program.packed", "./unpack.js", "./later.wasm"];
    places
        .into_iter()
        .zip(names)
        .try_fold(script.to_owned(), |script, (place, name)| named(&script, place, name))
}

/// The start script with one file's name in its place.
fn named(script: &str, place: &str, name: &str) -> Outcome<String> {
    if script.contains(place) {
        Ok(script.replace(place, &format!("./{name}")))
    } else {
        Err(format!("{START} names no `{place}`."))
    }
}

/// The page with our start script in place of Trunk's inline one, which the content security policy
/// would not run. A script before it waits for the style sheets, and the browser looks no further
/// meanwhile: so the script is asked for ahead of both.
fn with_start_script(html: &str, name: &str) -> Outcome<String> {
    let inline = html
        .split_once("<script type=\"module\">")
        .and_then(|(before, rest)| Some((before, rest.split_once("</script>")?.1)));
    let (before, after) = inline.ok_or("dist/index.html holds no start script of Trunk's.")?;
    let (above, below) =
        before.split_once("<link").ok_or("dist/index.html names no style sheet.")?;
    Ok(format!(
        "{above}<link rel=\"modulepreload\" href=\"./{name}\"><link{below}<script type=\"module\" \
         src=\"./{name}\"></script>{after}"
    ))
}

/// The page without the hints that make the browser load the program before it paints.
fn without_preloads(html: &str) -> String {
    let hint =
        |line: &&str| line.contains("rel=\"modulepreload\"") || line.contains("rel=\"preload\"");
    html.split_inclusive('>').filter(|tag| !hint(tag)).collect()
}

/// For size after gzip.
///
/// - `--flatten --rereloop` before the usual passes lets them find more, each time.
/// - Rust keeps the lowest addresses for the end of the stack, so nothing lies where an address
///   could wrap around.
/// - Constants stay in one piece: cut at their zeros, the places of the pieces take more than the
///   zeros, which gzip packs.
/// - A long function stays one even where it is called once: what is alike is then nearer.
/// - Functions of one module resemble each other, and gzip finds what is near.
const OPTIONS: [&str; 11] = [
    "--flatten",
    "--rereloop",
    "-Oz",
    "--flatten",
    "--rereloop",
    "-Oz",
    "-Oz",
    "--low-memory-unused",
    "--skip-pass=memory-packing",
    "--one-caller-inline-max-function-size=20",
    "--reorder-functions-by-name",
];

/// A program after wasm-opt, which takes the names out too.
///
/// # Errors
/// When wasm-opt fails.
pub fn optimized(path: &OsStr, wasm: &[u8]) -> Outcome<Vec<u8>> {
    let (from, to) = (Scratch::new("in.wasm"), Scratch::new("out.wasm"));
    fs::write(&from.0, wasm)
        .map_err(|error| format!("a temporary file cannot be written: {error}."))?;
    run(program("wasm-opt", &OPTIONS).arg(&from.0).arg("-o").arg(&to.0).env("PATH", path))?;
    fs::read(&to.0).map_err(|error| format!("wasm-opt left nothing to read: {error}."))
}

/// A temporary file, removed in the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// One with that ending, of this process alone.
    pub fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("headroom-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{RARE, START, bare, start_script, with_start_script, without_preloads};
    use crate::shell::root;

    #[test]
    fn hints_to_load_early_are_dropped() {
        let html = "<head><link rel=\"modulepreload\" href=\"./a.js\"><link rel=\"stylesheet\" \
            href=\"./a.css\">\n<link rel=\"preload\" href=\"./a.wasm\"></head>";
        assert_eq!(
            without_preloads(html),
            "<head><link rel=\"stylesheet\" href=\"./a.css\"></head>"
        );
    }

    #[test]
    fn a_bare_script_does_the_same() {
        let script = "// What it does.\nconst a = 1; // one\n/**\n * @param {number} b\n \
            */\nfunction f(b) {\n    /* short */\n    return a + b;\n}\n";
        assert_eq!(bare(script), "const a = 1; // one\nfunction f(b) {\nreturn a + b;\n}\n");
    }

    #[test]
    fn our_script_takes_the_place_of_trunks() {
        let html =
            "<head><link rel=\"icon\"></head><script type=\"module\">\nimport init</script><p>end";
        let page = "<head><link rel=\"modulepreload\" href=\"./start-1.js\"><link \
            rel=\"icon\"></head><script type=\"module\" src=\"./start-1.js\"></script><p>end";
        assert_eq!(with_start_script(html, "start-1.js").as_deref(), Ok(page));
        assert!(with_start_script("<p>none", "start-1.js").is_err());
    }

    #[test]
    fn the_start_script_names_its_files() {
        let script = std::fs::read_to_string(root().join(START)).unwrap();
        let names = ["b-1.js", "p-1.packed", "u-1.js", "l-1.wasm"].map(str::to_owned);
        let filled = start_script(&script, &names).unwrap();
        for name in &names {
            assert_eq!(filled.matches(&format!("\"./{name}\"")).count(), 1, "{name}");
        }
        for (name, path) in RARE {
            assert!(
                script.contains(&format!("\"./{name}.js\"")) && root().join(path).is_file(),
                "{name}"
            );
        }
        assert!(start_script("", &names).is_err());
    }
}
