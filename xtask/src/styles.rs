//! One style sheet for the page: a dozen small ones travel larger than one, and each is a request
//! of its own. What lessons and the panels of the workers need is a second sheet, which the start
//! script asks for when the page is used.

use std::fs;
use std::path::Path;

use crate::page::hash_of;
use crate::shell::Outcome;

/// How the file's name of the sheet that comes later begins.
pub const LATER: &str = "later-";

/// The sheets that are joined in it. Its rules stand behind all others: none of the other sheets
/// may go against those of these.
const COME_LATER: [&str; 8] =
    ["methods-", "step-", "explain-", "planner-", "dialogs-", "lists-", "print-", "present-"];

/// Joins the style sheets that index.html names, in their order, but for the one that comes later,
/// which is named in a `<meta>`.
///
/// # Errors
/// When a file cannot be read or written, or when index.html names none.
pub fn join(dist: &Path) -> Outcome {
    let path = dist.join("index.html");
    let mut html = fs::read_to_string(&path)
        .map_err(|error| format!("dist/index.html cannot be read: {error}."))?;
    let names = taken_out(&mut html);
    let (Some((place, _)), unwritable) =
        (names.first(), |error| format!("dist/ cannot be written: {error}."))
    else {
        return Err("index.html names no style sheet.".to_owned());
    };
    let (mut all, mut rest) = (String::new(), String::new());
    for (_, name) in &names {
        let sheet = dist.join(name);
        let text = pressed(
            &fs::read_to_string(&sheet)
                .map_err(|error| format!("dist/{name} cannot be read: {error}."))?,
        );
        let joined = if COME_LATER.iter().any(|sheet| name.starts_with(sheet)) {
            &mut rest
        } else {
            &mut all
        };
        joined.push_str(&text);
        fs::remove_file(sheet).map_err(unwritable)?;
    }
    let name = format!("style-{:016x}.css", hash_of(all.as_str()));
    let later = format!("{LATER}{:016x}.css", hash_of(rest.as_str()));
    let mut links = format!("<link rel=\"stylesheet\" href=\"./{name}\">");
    if !rest.is_empty() {
        links.extend(["<meta name=\"later-style\" content=\"./", later.as_str(), "\">"]);
        fs::write(dist.join(later), rest).map_err(unwritable)?;
    }
    html.insert_str(*place, &links);
    fs::write(dist.join(name), all).and_then(|()| fs::write(path, html)).map_err(unwritable)
}

/// A sheet without comments, indentation and the ends of lines that nothing needs.
pub fn pressed(sheet: &str) -> String {
    let mut parts = sheet.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    let bare =
        parts.fold(first, |bare, part| bare + part.split_once("*/").map_or("", |(_, rest)| rest));
    let mut short = String::with_capacity(bare.len());
    for line in bare.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "}" && short.ends_with(';') {
            short.pop();
        }
        match (line.strip_suffix(" {"), line.ends_with(';')) {
            (Some(selector), _) => short.extend([selector, "{"]),
            (None, true) => short.push_str(&line.replacen(": ", ":", 1)),
            (None, false) => short.push_str(line),
        }
        if !short.ends_with(['{', '}', ';', ',']) {
            short.push('\n');
        }
    }
    short
}

/// Takes the links to style sheets out; the place of each and its file.
fn taken_out(html: &mut String) -> Vec<(usize, String)> {
    const LINK: &str = "<link rel=\"stylesheet\" href=\"./";
    let mut found = Vec::new();
    while let Some(from) = html.find(LINK) {
        let rest = &html[from + LINK.len()..];
        let (Some(end), Some((name, _))) = (rest.find('>'), rest.split_once('"')) else { break };
        found.push((from, name.to_owned()));
        html.replace_range(from..=from + LINK.len() + end, "");
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::join;

    #[test]
    fn sheets_are_one_in_their_order() {
        let dist = std::env::temp_dir().join(format!("headroom-styles-{}", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        let html = "<head><link rel=\"stylesheet\" href=\"./a-1.css\" \
            data-integrity=\"none\"/>\n<link rel=\"stylesheet\" href=\"./b-2.css\"><link \
            rel=\"stylesheet\" href=\"./present-3.css\">\n</head>";
        for (name, text) in [
            ("index.html", html),
            ("a-1.css", "/* first\n */\n  a{}"),
            ("b-2.css", "b{}"),
            ("present-3.css", "c{}"),
        ] {
            fs::write(dist.join(name), text).unwrap();
        }
        let outcome = join(&dist);
        let html = fs::read_to_string(dist.join("index.html")).unwrap();
        let sheets: Vec<_> = fs::read_dir(&dist)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("style-"))
            .collect();
        let text = sheets.first().map(|name| fs::read_to_string(dist.join(name)).unwrap());
        let again = join(&dist);
        let files = fs::read_dir(&dist).unwrap().count();
        fs::remove_dir_all(&dist).unwrap();
        assert_eq!(outcome, Ok(()));
        assert_eq!(text.as_deref(), Some("a{}b{}"));
        assert_eq!(html.matches("stylesheet").count(), 1);
        assert!(
            html.contains(&sheets[0]) && !html.contains("a-1.css") && !html.contains("b-2.css"),
            "{html}"
        );
        assert_eq!(again, Ok(()), "one is one");
        assert_eq!(html.matches("<meta name=\"later-style\" content=\"./later-").count(), 1);
        assert_eq!(files, 3);
    }
}
