//! `headroom snapshot FILE LINK` compares a memory snapshot of PyTorch with the replay of the job
//! that wrote it.

use std::fs;
use std::io::Read as _;

use headroom::config::Job;
use headroom::diagnosis::snapshot::{Difference, MOST_BYTES, SnapshotBeside, beside, read};
use headroom::units::MemoryUnit;
use serde_json::{Value, json};

/// The comparison of a file's snapshot with a job, as text or as JSON.
pub fn run(file: &str, job: &Job, as_json: bool, notices: &[String]) -> Result<String, String> {
    let measured = read(&content(file)?).map_err(|error| format!("{file}: {error}"))?;
    let found = beside(measured, job).map_err(|reason| reason.to_string())?;
    if as_json {
        return Ok(as_value(&found, notices).to_string());
    }
    let notes = notices.iter().map(|notice| format!("note: {notice}\n\n"));
    Ok(notes.chain([as_text(&found, job)]).collect())
}

/// The bytes of a file, up to one more than the limit, so that a longer file is refused and not
/// cut.
fn content(file: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = fs::File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| {
        format!(
            "{file} cannot be read: {error}; name a file that torch.cuda.memory._dump_snapshot \
             wrote"
        )
    })?;
    Ok(bytes)
}

fn as_text(found: &SnapshotBeside, job: &Job) -> String {
    let show = |bytes| MemoryUnit::Gib.show(bytes);
    let mut lines = vec![
        found.heading(),
        String::new(),
        format!("{:<24}{:>14}{:>14}", "", "measured", "estimated"),
    ];
    lines.extend(found.amounts().iter().map(|row| {
        format!("{:<24}{:>14}{:>14}", row.label, show(row.measured), show(row.predicted))
    }));
    lines.push(String::new());
    lines.extend(found.sentences(job.cluster().overheads.expandable_segments));
    lines.extend(found.furthest_in_words());
    if !found.differences.is_empty() {
        lines.extend([String::new(), "Largest differences at the peak".to_owned()]);
        let line = |one: &Difference| {
            format!(
                "  {:>10}  {} of {}: {}",
                show(one.bytes()),
                one.excess(),
                show(one.block),
                one.origin()
            )
        };
        lines.extend(found.differences.iter().map(line));
        lines.extend(found.rest_in_words().map(|rest| format!("  {rest}")));
    }
    lines.join("\n")
}

/// The comparison as JSON, memory in bytes.
fn as_value(found: &SnapshotBeside, notices: &[String]) -> Value {
    let difference = |one: &Difference| {
        json!({
            "block": one.block.0, "measured": one.measured, "estimated": one.predicted, "names": one.names, "places": one.places,
        })
    };
    let amounts =
        found.amounts().map(|row| json!({ "label": row.label, "measured": row.measured.0, "estimated": row.predicted.0 }));
    json!({
        "notes": notices,
        "device": found.measured.device,
        "entries": found.measured.entries,
        "settings": found.measured.settings,
        "begins_late": found.measured.begins_late,
        "amounts": amounts,
        "alike": found.alike.0,
        "step": found.courses.as_ref().map(|courses| json!({
            "moments_per_point": courses.each, "moments_before_the_peak": courses.before,
            "measured": courses.measured.iter().map(|bytes| bytes.0).collect::<Vec<_>>(),
            "estimated": courses.predicted.iter().map(|bytes| bytes.0).collect::<Vec<_>>(),
        })),
        "differences": found.differences.iter().map(difference).collect::<Vec<_>>(),
        "smaller_differences": { "measured": found.rest[0].0, "estimated": found.rest[1].0 },
    })
}
