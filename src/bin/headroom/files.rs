//! Texts from files or from standard input.

use std::fs;
use std::io::Read as _;

/// A file's name as sentences use it.
pub fn name_of(file: &str) -> &str {
    if file == "-" { "what was piped in" } else { file }
}

/// The text of a file, or of standard input for `-`, up to `most` bytes. Bytes that are not UTF-8
/// are replaced, so that the rest is still read. `holds` names the expected content in sentences,
/// such as `the message`.
pub fn text_of(file: &str, most: u64, holds: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        fs::File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.map_err(|error| {
        format!(
            "{} cannot be read: {error}; name a file with {holds}, or pipe it in and write -",
            name_of(file)
        )
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
