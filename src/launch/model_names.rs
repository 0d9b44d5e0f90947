//! Finds models by the names that commands use: repositories on the hub, copies of them, folders.

use crate::catalog::{self, ModelRow};

/// Endings of names that leave the shape as it is: kinds of tuning, who converted the files,
/// formats of weights.
const ENDINGS: [&str; 36] = [
    "-instruct",
    "-chat",
    "-base",
    "-it",
    "-hf",
    "-pt",
    "-sft",
    "-dpo",
    "-thinking",
    "-unsloth",
    "-bnb-4bit",
    "-4bit",
    "-8bit",
    "-awq",
    "-gptq",
    "-int4",
    "-int8",
    "-gptq-int4",
    "-gptq-int8",
    "-fp8",
    "-fp4",
    "-nvfp4",
    "-gguf",
    "-bf16",
    "-fp8-dynamic",
    "-w4a16",
    "-w8a8",
    "-2507",
    "-pretrained",
    "-dynamic",
    "-mxfp4",
    "-quantized.w8a8",
    "-quantized.w4a16",
    "-quantized.w8a16",
    "-fp8-kv",
    "-autoround",
];

/// The row for a name, and a sentence about how it was found, which is empty where the catalog has
/// exactly that name.
pub(super) fn row_called(name: &str) -> Option<(&'static ModelRow, String)> {
    let name = name.trim().trim_end_matches('/');
    if let Some(row) = catalog::model(name) {
        return Some((row, String::new()));
    }
    let last = name.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
    let mut shorter = last.as_str();
    loop {
        if let Some(row) = ending_in(shorter) {
            let note = format!(
                "The catalog has {}; other endings of the name are taken to change no shape.",
                row.name
            );
            return Some((row, note));
        }
        shorter = ENDINGS
            .iter()
            .filter_map(|ending| shorter.strip_suffix(ending))
            .min_by_key(|rest| rest.len())?;
    }
}

/// The row with a name whose last part is `last`, or `last` with one of the endings.
fn ending_in(last: &str) -> Option<&'static ModelRow> {
    let is =
        |known: &str| known.rsplit('/').next().is_some_and(|own| own.eq_ignore_ascii_case(last));
    let found = |matches: &dyn Fn(&str) -> bool| {
        let named =
            |row: &&ModelRow| [row.id].iter().chain(row.aliases()).any(|name| matches(name));
        catalog::models().iter().find(named)
    };
    let with_ending = |known: &str| {
        let own = known.rsplit('/').next().unwrap_or(known).to_ascii_lowercase();
        own.strip_prefix(last)
            .is_some_and(|rest| ["-instruct", "-chat", "-base", "-it", "-hf"].contains(&rest))
    };
    found(&is).or_else(|| found(&with_ending))
}

/// The name of a row that commands use: its repository on the hub, or its id where none is known.
pub(super) fn name_of(row: &ModelRow) -> &'static str {
    row.aliases().iter().find(|name| name.contains('/')).copied().unwrap_or(row.id)
}
