//! Texts from files, or piped in.

use std::fs;
use std::io::Read as _;

/// A file's name in sentences.
pub fn name_of(file: &str) -> &str {
    if file == "-" { "what was piped in" } else { file }
}

/// The text of a file, or with `-` of what is piped in, up to so many bytes; bytes that are no UTF-8 hide nothing of the rest. `holds` says
/// what the file should hold: `the message`.
pub fn text_of(file: &str, most: u64, holds: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        fs::File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.map_err(|error| {
        format!("{} cannot be read: {error}; name a file with {holds}, or pipe it in and write -", name_of(file))
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
