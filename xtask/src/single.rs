//! The page as one file: program, bindings, styles and scripts inside, opened without a server.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base91::codemap::XmlFriendly;
use base91::iter::EncodeGenericIterator;

use crate::offline::integrity;
use crate::program::{bare, optimized, read_source};
use crate::shell::{Outcome, program, root, run, say};
use crate::short_names::{Script, minified_alone, with_short_names};
use crate::{page, sizes, styles, unpack};

/// Where it lies.
pub const FILE: &str = "headroom.html";
/// The program that holds all others.
const NAME: &str = "headroom-single";
/// The command that writes the answer to the default scenario into the page.
const FIRST_PICTURE: &str = "headroom-first-picture";

/// Builds dist/headroom.html with the tools on `path`, and checks its size.
///
/// # Errors
/// When the build fails or the file is larger than its budget.
pub fn build(path: &OsStr) -> Outcome {
    page::fetch_crates()?;
    say("Building the program that holds all others (release; the first time takes some minutes)");
    let target = "wasm32-unknown-unknown";
    run(&mut program(
        "cargo",
        &["build", "--release", "--locked", "--offline", "--target", target, "--bin", NAME],
    ))?;
    let folder =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let linked = folder.join(target).join("release").join(format!("{NAME}.wasm"));
    let (bindings, wasm) = bound(path, &linked)?;
    let (bindings, wasm) =
        with_short_names(path, (&bare(&bindings), Script::Plain), &optimized(path, &wasm)?)?;
    let packed = unpack::tightly_packed(&wasm)?;
    let unpacker =
        format!("const unlzma = (() => {{\n{}return unlzma;\n}})();\n", unpack::script()?);
    let unpacker = minified_alone(path, &unpacker, Script::Plain)?;
    let html = assembled(&read_source("index.html")?, [&unpacker, &bindings], &packed)?;
    let dist = root().join("dist");
    let failed = |error| format!("dist/{FILE} cannot be written: {error}.");
    let file = dist.join(FILE);
    fs::create_dir_all(&dist).and_then(|()| fs::write(&file, &html)).map_err(failed)?;
    run(program("cargo", &["run", "--quiet", "--locked", "--bin", FIRST_PICTURE, "--"]).arg(&file))?;
    let size = fs::metadata(&file).map_err(failed)?.len();
    sizes::check_single(packed.len(), usize::try_from(size).unwrap_or(usize::MAX))
}

/// wasm-bindgen's script and program, as a script without modules runs them: here and in a worker.
fn bound(path: &OsStr, linked: &Path) -> Outcome<(String, Vec<u8>)> {
    let folder = env::temp_dir().join(format!("headroom-bound-{}", std::process::id()));
    let mut command = program(
        "wasm-bindgen",
        &["--target", "no-modules", "--no-typescript", "--out-name", "single", "--out-dir"],
    );
    run(command.arg(&folder).arg(linked).env("PATH", path))?;
    let read = fs::read_to_string(folder.join("single.js"))
        .and_then(|script| Ok((script, fs::read(folder.join("single_bg.wasm"))?)))
        .map_err(|error| format!("wasm-bindgen left nothing to read: {error}."));
    let _ = fs::remove_dir_all(folder); // a leftover in the temporary folder harms nobody
    read
}

/// The whole file. The content security policy names each script and the style sheet by its hash.
fn assembled(page: &str, [unpack, bindings]: [&str; 2], packed: &[u8]) -> Outcome<String> {
    let (head, sheets, icon) = without_files(page);
    let mut style = String::new();
    for sheet in sheets {
        style.push_str(&styles::pressed(&read_source(&sheet)?));
    }
    // One file has no other beside it.
    style.push_str("a[href^=\"./README.md\"], a[href^=\"./docs/\"] {\ndisplay: none;\n}\n");
    let icon = STANDARD.encode(read_source(icon.as_deref().unwrap_or("style/icon.svg"))?);
    let guard = bare(&read_source("src/app/guard.js")?);
    let pictures = bare(&read_source("src/app/pictures.js")?)
        .replace("export async function", "async function");
    let embed = bare(&read_source("src/app/embed.js")?);
    let start = format!(
        "{pictures}if (\"embed\" in document.documentElement.dataset) {{\n{embed}}}\n{}",
        bare(&read_source("src/app/single.js")?)
    );
    for text in [guard.as_str(), unpack, bindings, &start, &style] {
        if text.contains("</") {
            return Err("a script or style sheet holds `</`, which would end it inside the page."
                .to_owned());
        }
    }
    let policy = format!(
        "default-src 'none'; script-src '{}' '{}' '{}' '{}' 'wasm-unsafe-eval'; style-src '{}'; \
         img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'",
        integrity(guard.as_bytes()),
        integrity(unpack.as_bytes()),
        integrity(bindings.as_bytes()),
        integrity(start.as_bytes()),
        integrity(style.as_bytes())
    );
    let mut above = format!(
        "<link rel=\"icon\" type=\"image/svg+xml\" href=\"data:image/svg+xml;base64,{icon}\">"
    );
    let _ = write!(above, "<style>{style}</style><script>{guard}</script></head>");
    let below = format!(
        "<script id=\"unpack\">{unpack}</script><script id=\"bindings\">{bindings}</script><script \
         id=\"program\" type=\"text/plain\">{}</script><script>{start}</script></body>",
        as_text(packed)
    );
    let html = with_policy(&head, &policy)?;
    if !html.contains("</head>") || !html.contains("</body>") {
        return Err("index.html has no end of head or body.".to_owned());
    }
    Ok(html.replacen("</head>", &above, 1).replacen("</body>", &below, 1))
}

/// Bytes as letters, which `single.js` reads: basE91 with letters among which no tag begins.
fn as_text(bytes: &[u8]) -> String {
    EncodeGenericIterator::<XmlFriendly, _>::new(bytes.iter().copied()).as_char_iter().collect()
}

/// The page without the files that it names: style sheets and icon are returned, scripts and
/// programs come in other ways.
fn without_files(page: &str) -> (String, Vec<String>, Option<String>) {
    let (mut rest, mut sheets, mut icon) = (String::new(), Vec::new(), None);
    for line in page.lines() {
        let href = || {
            line.split_once("href=\"")
                .and_then(|(_, rest)| rest.split_once('"'))
                .map(|(href, _)| href.to_owned())
        };
        if line.contains("data-trunk") {
            if line.contains("rel=\"css\"") {
                sheets.extend(href());
            } else if line.contains("rel=\"icon\"") {
                icon = href();
            }
        } else if !["<script src=", "rel=\"manifest\"", "rel=\"apple-touch-icon\"", "og:image"]
            .iter()
            .any(|aside| line.contains(aside))
        {
            rest.push_str(line.trim());
            rest.push('\n');
        }
    }
    (rest, sheets, icon)
}

/// The page with another content security policy.
fn with_policy(page: &str, policy: &str) -> Outcome<String> {
    const START: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    let parts =
        page.split_once(START).and_then(|(before, rest)| Some((before, rest.split_once('"')?.1)));
    let (before, after) = parts.ok_or("index.html has no content security policy.")?;
    Ok(format!("{before}{START}{policy}\"{after}"))
}

#[cfg(test)]
mod tests {
    use base91::codemap::XmlFriendly;
    use base91::iter::DecodeGenericIterator;

    use super::{as_text, assembled, without_files};
    use crate::offline::integrity;
    use crate::program::read_source;

    #[test]
    fn the_file_names_no_other_file() {
        let page = read_source("index.html").unwrap();
        let (_, sheets, icon) = without_files(&page);
        assert!(sheets.len() > 10 && icon.is_some(), "{sheets:?}");
        let html = assembled(&page, ["let unlzma;\n", "let wasm_bindgen;\n"], b"program").unwrap();
        for outside in ["data-trunk", "href=\"./", "src=\"./", "stylesheet"] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert!(html.contains("<script id=\"program\" type=\"text/plain\">"));
        assert!(html.contains(&as_text(b"program")));
        assert!(html.contains("<!--first picture-->") && html.contains("name=\"headroom-worker\""));
    }

    #[test]
    fn the_program_is_text_that_no_tag_can_begin_in() {
        for length in 0..300_u16 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            let text = as_text(&bytes);
            assert!(!text.contains(['<', '"', '\n']));
            let read: Vec<u8> =
                DecodeGenericIterator::<XmlFriendly, _>::new(text.bytes()).collect();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn the_policy_allows_what_stands_there_and_nothing_else() {
        let html = assembled(
            &read_source("index.html").unwrap(),
            ["let unlzma;\n", "let wasm_bindgen;\n"],
            b"program",
        )
        .unwrap();
        let policy = html
            .split("Content-Security-Policy\" content=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned();
        let inside = |opening: &str, closing: &str| {
            html.split(opening).nth(1).unwrap().split(closing).next().unwrap().to_owned()
        };
        assert!(policy.contains(&integrity(inside("<style>", "</style>").as_bytes())));
        for script in
            html.split("<script").skip(1).filter(|script| !script.starts_with(" id=\"program\""))
        {
            let text = script.split_once('>').unwrap().1.split("</script>").next().unwrap();
            assert!(
                policy.contains(&integrity(text.as_bytes())),
                "{}",
                &text[..60.min(text.len())]
            );
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'self'"), "{policy}");
    }
}
