//! Building the page into `dist/`.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::shell::{Outcome, program, root, run, say};
use crate::sizes;

/// Builds the release page with the tools on `path`, and checks its size.
///
/// # Errors
/// When the build fails or the page is larger than its budget.
pub fn build(path: &OsStr) -> Outcome {
    say("Fetching the locked crates");
    run(&mut program("cargo", &["fetch", "--locked", "--quiet", "--target", "wasm32-unknown-unknown"]))?;
    say("Building the page into dist/ (release; the first time takes some minutes)");
    // Trunk wants `true` or `false` in NO_COLOR, where the convention is any value.
    // Its backtraces hold no names and bury the compiler's message.
    let mut trunk = program("trunk", &["build", "--release"]);
    run(trunk.env("PATH", path).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0"))?;
    let dist = root().join("dist");
    move_scripts_to_files(&dist)?;
    name_the_worker(&dist)?;
    sizes::check(&dist)
}

/// The second program as Trunk names it.
const WORKER: &str = "headroom-more";

/// Gives the worker's two files names with a hash, as the page's have: a page never meets a worker of another version. The script
/// then starts its program, or tells the page why it cannot.
fn name_the_worker(dist: &Path) -> Outcome {
    let read = |name: &str| fs::read(dist.join(name)).map_err(|error| format!("dist/{name} cannot be read: {error}."));
    let (old_script, old_program) = (format!("{WORKER}.js"), format!("{WORKER}_bg.wasm"));
    let program = read(&old_program)?;
    let program_name = format!("{WORKER}-{:016x}_bg.wasm", hash_of(&program));
    let script = String::from_utf8_lossy(&read(&old_script)?).into_owned() + &worker_start(&program_name);
    let script_name = format!("{WORKER}-{:016x}.js", hash_of(&script));
    let html =
        String::from_utf8_lossy(&read("index.html")?).replace(&format!("\"./{old_script}\""), &format!("\"./{script_name}\""));
    if !html.contains(&script_name) {
        return Err(format!("index.html does not say where the worker is: it needs a `<meta>` with `./{old_script}`."));
    }
    let written = fs::write(dist.join("index.html"), html)
        .and_then(|()| fs::write(dist.join(&script_name), script))
        .and_then(|()| fs::write(dist.join(&program_name), program))
        .and_then(|()| fs::remove_file(dist.join(old_script)))
        .and_then(|()| fs::remove_file(dist.join(old_program)));
    written.map_err(|error| format!("dist/ cannot be written: {error}."))
}

/// What the worker's script does last.
fn worker_start(program: &str) -> String {
    format!("\nwasm_bindgen({{ module_or_path: \"./{program}\" }}).catch((error) => postMessage(`failed: ${{error}}`));\n")
}

/// Moves inline scripts into files of their own, Trunk's start script among them: the page's content security policy allows
/// scripts from its own address only.
fn move_scripts_to_files(dist: &Path) -> Outcome {
    let index = dist.join("index.html");
    let html = fs::read_to_string(&index).map_err(|error| format!("dist/index.html cannot be read: {error}."))?;
    let (html, scripts) = without_inline_scripts(&without_preloads(&html));
    for (name, script) in scripts {
        fs::write(dist.join(&name), script).map_err(|error| format!("dist/{name} cannot be written: {error}."))?;
    }
    fs::write(index, html).map_err(|error| format!("dist/index.html cannot be written: {error}."))
}

/// The page with each inline script replaced by a reference, and the scripts as (file name, text).
fn without_inline_scripts(html: &str) -> (String, Vec<(String, String)>) {
    let mut page = String::with_capacity(html.len());
    let mut scripts = Vec::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once("<script") {
        let Some((attributes, (script, after))) =
            tag.split_once('>').and_then(|(attributes, tail)| Some((attributes, tail.split_once("</script>")?)))
        else {
            break;
        };
        page.push_str(before);
        if script.trim().is_empty() || attributes.contains("json") {
            page.extend(["<script", attributes, ">", script, "</script>"]);
        } else {
            let script = after_first_picture(script.trim());
            let name = format!("start-{:016x}.js", hash_of(script.as_str()));
            page.extend(["<script", attributes, " src=\"./", &name, "\"></script>"]);
            scripts.push((name, script));
        }
        rest = after;
    }
    page.push_str(rest);
    (page, scripts)
}

/// The start of Trunk's script, which loads the program at once.
const IMPORT: &str = "import init, * as bindings from ";

/// Waits for the first picture before the program is loaded: the answer stands in the HTML, so the program comes second and does
/// not compete with it. A page in the background paints nothing; it starts after a second.
const WAIT: &str = "await Promise.race([
  new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))),
  new Promise((late) => setTimeout(late, 1000)),
]);
const { default: init, ...bindings } = await import(";

/// Trunk's start script, made to wait; any other script as it is.
fn after_first_picture(script: &str) -> String {
    match script.strip_prefix(IMPORT).and_then(|rest| rest.split_once(';')) {
        Some((file, rest)) => format!("{WAIT}{file});{rest}"),
        None => script.to_owned(),
    }
}

/// The page without the hints that make the browser load the program before it paints.
fn without_preloads(html: &str) -> String {
    let hint = |line: &&str| line.contains("rel=\"modulepreload\"") || line.contains("rel=\"preload\"");
    html.split_inclusive('>').filter(|tag| !hint(tag)).collect()
}

fn hash_of(content: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{after_first_picture, name_the_worker, without_inline_scripts, without_preloads};

    #[test]
    fn the_program_waits_for_the_first_picture() {
        let script = after_first_picture("import init, * as bindings from './page.js';\nconst wasm = await init();");
        assert!(script.starts_with("await Promise.race(["), "{script}");
        assert!(
            script.ends_with("const { default: init, ...bindings } = await import('./page.js');\nconst wasm = await init();")
        );
        assert_eq!(after_first_picture("other()"), "other()");
    }

    #[test]
    fn hints_to_load_early_are_dropped() {
        let html = "<head><link rel=\"modulepreload\" href=\"./a.js\"><link rel=\"stylesheet\" href=\"./a.css\">\n<link rel=\"preload\" href=\"./a.wasm\"></head>";
        assert_eq!(without_preloads(html), "<head><link rel=\"stylesheet\" href=\"./a.css\"></head>");
    }

    #[test]
    fn inline_scripts_become_files() {
        let html = "<head><script src=\"./a.js\"></script></head><script type=\"module\">\nstart()</script><p>end";
        let (page, scripts) = without_inline_scripts(html);
        let [(name, text)] = scripts.as_slice() else { panic!("one script expected, found {scripts:?}") };
        assert_eq!(text, "start()");
        assert_eq!(
            page,
            format!("<head><script src=\"./a.js\"></script></head><script type=\"module\" src=\"./{name}\"></script><p>end")
        );
    }

    #[test]
    fn data_and_pages_without_scripts_stay_as_they_are() {
        for html in ["<p>none", "<script type=\"application/ld+json\">{}</script>", "<script>never closed"] {
            assert_eq!(without_inline_scripts(html), (html.to_owned(), vec![]));
        }
    }

    #[test]
    fn the_worker_is_named_after_its_content_and_starts_itself() {
        let dist = std::env::temp_dir().join(format!("headroom-worker-{}", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        for (name, text) in [
            ("index.html", "<meta name=\"headroom-more\" content=\"./headroom-more.js\">"),
            ("headroom-more.js", "let wasm_bindgen;"),
            ("headroom-more_bg.wasm", "program"),
        ] {
            fs::write(dist.join(name), text).unwrap();
        }
        let outcome = name_the_worker(&dist);
        let html = fs::read_to_string(dist.join("index.html")).unwrap();
        let names: Vec<String> =
            fs::read_dir(&dist).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let script =
            names.iter().find(|name| name.starts_with("headroom-more-") && !name.contains("_bg")).cloned().unwrap_or_default();
        let text = fs::read_to_string(dist.join(&script)).unwrap_or_default();
        let again = name_the_worker(&dist);
        fs::remove_dir_all(&dist).unwrap();
        assert_eq!(outcome, Ok(()));
        assert_eq!(html, format!("<meta name=\"headroom-more\" content=\"./{script}\">"));
        assert_eq!(names.len(), 3, "{names:?}");
        let program = names.iter().find(|name| name.contains("_bg")).unwrap();
        assert!(text.starts_with("let wasm_bindgen;\n") && text.contains(&format!("\"./{program}\"")), "{text}");
        assert!(again.is_err(), "there is nothing left to name");
    }
}
