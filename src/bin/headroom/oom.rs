//! `headroom oom FILE LINK` compares an out-of-memory message with the estimate of the job that
//! printed it.

use headroom::config::Job;
use headroom::diagnosis::{self, AmountBeside, Diagnosis, FoundTensor, Remedy, ShownAmount};
use headroom::import::oom::read;
use serde_json::{Value, json};

use crate::files::{name_of, text_of};

/// The longest text that is read, bytes: the log of a run with many ranks.
const MOST_BYTES: u64 = 64 << 20;

/// The diagnoses of all messages of a file, or of standard input for `-`, as text or as JSON.
pub fn run(file: &str, job: &Job, as_json: bool, notices: &[String]) -> Result<String, String> {
    let text = text_of(file, MOST_BYTES, "the message")?;
    let messages = read(&text).map_err(|unread| format!("{}: {unread}", name_of(file)))?;
    let found = diagnosis::of_each(job, &messages);
    if as_json {
        return Ok(
            json!({ "notes": notices, "messages": found.iter().map(as_value).collect::<Vec<_>>() })
                .to_string(),
        );
    }
    let notes = notices.iter().map(|notice| format!("note: {notice}\n\n"));
    Ok(notes.chain([found.iter().map(as_text).collect::<Vec<_>>().join("\n\n")]).collect())
}

/// One diagnosis as paragraphs.
fn as_text(found: &Diagnosis) -> String {
    let listed = |title: &str, sentences: Vec<String>| {
        let lines: Vec<String> =
            sentences.into_iter().map(|sentence| format!("  {sentence}")).collect();
        if lines.is_empty() { None } else { Some(format!("{title}\n{}", lines.join("\n"))) }
    };
    let parts = [
        Some(found.heading()),
        listed("Doubt", found.objections()),
        listed("Cause", found.explanation()),
        listed("Asked for", found.request()),
        listed("Amounts", table(&found.amounts)),
        listed("What helps", found.advice()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// The amounts as lines of three columns; none where the message states none.
fn table(amounts: &[AmountBeside]) -> Vec<String> {
    let show = |measure: Option<ShownAmount>| {
        measure.map_or_else(|| "-".to_owned(), |measure| measure.to_string())
    };
    let head = [String::new(), "message".to_owned(), "estimate".to_owned()];
    let rows =
        amounts.iter().map(|row| [row.label.to_owned(), show(row.message), show(row.estimate)]);
    let rows: Vec<[String; 3]> =
        std::iter::once(head).chain(rows).filter(|_| !amounts.is_empty()).collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let [label, message, estimate] = [0, 1, 2].map(width);
    rows.iter().map(|[a, b, c]| format!("{a:<label$}  {b:>message$}  {c:>estimate$}")).collect()
}

/// One diagnosis as JSON, memory in bytes.
fn as_value(found: &Diagnosis) -> Value {
    let message = &found.message;
    json!({
        "program": message.program.name(),
        "ranks": found.ranks,
        "count": found.count,
        "platform": message.device.platform,
        "device": message.device.index,
        "heading": found.heading(),
        "belongs": found.doubts.is_empty(),
        "doubts": found.objections(),
        "cause": found.explanation(),
        "replay": found.failure.map(|failure| json!({
            "same_message": found.is_replayed,
            "tensor": failure.name,
            "operation": failure.op,
            "tried": failure.numbers.tried,
            "allocated": failure.numbers.allocated,
            "unallocated": failure.numbers.unallocated,
            "free": failure.numbers.free,
        })),
        "asked_for": found.request(),
        "tensors": found.asked_for.tensors().iter().map(tensor).collect::<Vec<_>>(),
        "amounts": found.amounts.iter().map(amount).collect::<Vec<_>>(),
        "remedies": found.remedies.iter().map(remedy).collect::<Vec<_>>(),
        "advice": found.advice(),
    })
}

fn tensor(found: &FoundTensor) -> Value {
    let tensor = &found.tensor;
    let shape: Vec<Value> = tensor.shape.dims().map(|dim| json!([dim.0, dim.1])).collect();
    json!({
        "name": tensor.name,
        "operation": tensor.op,
        "shape": shape,
        "dtype": tensor.dtype.name(),
        "bytes": tensor.bytes.0,
        "moment": found.moment.map(|moment| moment.name),
        "in_first_step": found.moment.map(|moment| moment.in_first_step),
        "allocated_before": found.alive_before().map(|bytes| bytes.map(|bytes| bytes.0)),
    })
}

fn amount(row: &AmountBeside) -> Value {
    let bounds = |measure: Option<ShownAmount>| match measure {
        Some(ShownAmount::Printed(amount)) => json!([amount.range().low, amount.range().high]),
        Some(ShownAmount::Memory(range)) => json!([range.low, range.high]),
        Some(ShownAmount::Between([low, high])) => json!([low.0, high.0]),
        Some(ShownAmount::Tokens(tokens)) => json!(tokens),
        None => Value::Null,
    };
    json!({ "label": row.label, "message": bounds(row.message), "estimate": bounds(row.estimate), "note": row.note })
}

fn remedy(remedy: &Remedy) -> Value {
    match remedy {
        Remedy::Change(fix) => {
            json!({ "change": fix.title, "before": fix.before.0, "after": fix.after.0, "gpus": fix.gpus_after, "verified": true })
        }
        Remedy::Setting { setting, note, tried } => {
            let verified = tried.is_some_and(|memory| memory.fits);
            json!({ "setting": setting, "note": note, "reserved": tried.map(|memory| memory.reserved.0), "verified": verified })
        }
        Remedy::Advice(sentence) => json!({ "advice": sentence, "verified": false }),
    }
}
