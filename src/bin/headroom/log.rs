//! `headroom log FILE LINK` compares the figures that a server printed at its start with the
//! estimate of its job.

use headroom::config::{Job, Run};
use headroom::estimator::estimate;
use headroom::launch::logs::{Compared, beside, read};
use serde_json::json;

use crate::files::text_of;
use crate::launch::MOST_BYTES;

/// Measured and estimated figures, a line each, as text or as JSON, in bytes or counts as in the
/// log.
pub fn run(file: &str, job: &Job, as_json: bool, notices: &[String]) -> Result<String, String> {
    let log = read(&text_of(file, MOST_BYTES, "the log")?).ok_or_else(|| {
        format!("{file}: no start-up lines of vLLM, SGLang or llama.cpp were found; name a log from the server's start to its first request")
    })?;
    let Run::Serving(run) = job.run() else {
        return Err("the link is of a training: name that of the server that printed the log".to_owned());
    };
    let compared = beside(&log, &estimate(job), run.context_length);
    if as_json {
        let row = |row: &Compared| json!({ "figure": row.figure.label(), "measured": row.measured, "estimated": row.estimated, "line": row.line });
        let rows: Vec<_> = compared.iter().map(row).collect();
        return Ok(json!({ "engine": log.engine, "notes": notices, "compared": rows }).to_string());
    }
    let row = |row: &Compared| {
        let error = row.error().map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0));
        format!("{:<32} line {:<6} {:>18.2} {:>18.2} {error:>10}", row.figure.label(), row.line, row.measured, row.estimated)
    };
    let head = format!("{:<32} {:<11} {:>18} {:>18} {:>10}", log.engine, "", "measured", "estimated", "difference");
    let notes = notices.iter().map(|notice| format!("note: {notice}"));
    Ok(notes.chain([head]).chain(compared.iter().map(row)).collect::<Vec<_>>().join("\n"))
}
