//! `headroom log FILE LINK`: what a server printed when it started, or a training while it ran,
//! beside the estimate of its job.

use headroom::config::Job;
use headroom::estimator::estimate;
use headroom::launch::logs::{Compared, PROGRAMS, beside, read};
use serde_json::json;

use crate::files::text_of;
use crate::launch::MOST_BYTES;

/// Measured and estimated figures, a line each, as text or as JSON, in bytes or counts as in the
/// log.
pub fn run(file: &str, job: &Job, as_json: bool, notices: &[String]) -> Result<String, String> {
    let log = read(&text_of(file, MOST_BYTES, "the log")?).ok_or_else(|| {
        format!(
            "{file}: no figures of {} were found; name a log from a server's start to its first \
             request, or of a training's steps",
            PROGRAMS.map(|program| program.label).join(", ")
        )
    })?;
    if log.trains != job.training().is_some() {
        let (of, other) = if log.trains { ("training", "serving") } else { ("server", "training") };
        return Err(format!(
            "the log is of a {of}, the link of a {other}: name the link of the run that printed \
             the log"
        ));
    }
    let compared = beside(&log, job, &estimate(job));
    if as_json {
        let row = |row: &Compared| json!({ "figure": row.figure.label(), "measured": row.measured, "estimated": row.estimated, "line": row.line });
        let rows: Vec<_> = compared.iter().map(row).collect();
        return Ok(
            json!({ "program": log.program, "notes": notices, "compared": rows }).to_string()
        );
    }
    let row = |row: &Compared| {
        let error =
            row.error().map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0));
        format!(
            "{:<32} line {:<6} {:>18.2} {:>18.2} {error:>10}",
            row.figure.label(),
            row.line,
            row.measured,
            row.estimated
        )
    };
    let head = format!(
        "{:<32} {:<11} {:>18} {:>18} {:>10}",
        log.program, "", "measured", "estimated", "difference"
    );
    let notes = notices.iter().map(|notice| format!("note: {notice}"));
    Ok(notes.chain([head]).chain(compared.iter().map(row)).collect::<Vec<_>>().join("\n"))
}
