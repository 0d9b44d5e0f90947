//! Rules that every style sheet follows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::Path;

/// A rule such as `.page:has(…) .answer` has the browser find the style of every element anew with
/// each change of an input: half of the time from a change to its picture was spent so. Paper is
/// printed once, so its sheet may.
#[test]
fn no_rule_asks_what_the_whole_page_has() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("style");
    let sheets = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut read = 0;
    for sheet in sheets.filter(|path| path.extension().is_some_and(|end| end == "css")) {
        let name = sheet.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&sheet).unwrap();
        read += 1;
        for whole in [":root:has(", "html:has(", "body:has(", "#app:has(", ".page:has("] {
            assert!(name == "print.css" || !text.contains(whole), "{name} has `{whole}…`");
        }
    }
    assert!(read > 10, "{read} sheets");
}
