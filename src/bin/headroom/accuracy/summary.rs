//! The short table for the README and the page: one line per stack or kind of figure, from whatever files were given.

use serde_json::{Value, json};

use super::report::{File, percent};
use super::row::Row;
use super::statistics::{Spread, Summary, worst};
use headroom::units::{grouped, to_f64};

/// One line of the table and the rows behind it.
struct Entry {
    what: &'static str,
    against: &'static str,
    belongs: fn(&Row) -> bool,
}

/// Whether a row says that about itself.
fn is(row: &Row, name: &str, value: &str) -> bool {
    row.groups.iter().any(|(group, found)| *group == name && found == value)
}

/// The lines, most asked for first.
const ENTRIES: [Entry; 11] = [
    Entry {
        what: "Hugging Face modules, one GPU",
        against: "PyTorch 2.15's memory tracker on transformers 5.23",
        belongs: |row| is(row, "kind", "single") && is(row, "kernels", "eager"),
    },
    Entry {
        what: "Fused kernels, one GPU",
        against: "PyTorch 2.15's memory tracker",
        belongs: |row| is(row, "kind", "single") && is(row, "kernels", "fused"),
    },
    Entry { what: "FSDP2, 8 to 256 ranks", against: "PyTorch 2.15's memory tracker", belongs: |row| is(row, "kind", "fsdp") },
    Entry {
        what: "Tensor parallel, 2 to 8 ranks",
        against: "PyTorch 2.15's memory tracker",
        belongs: |row| is(row, "kind", "tp"),
    },
    Entry {
        what: "LoRA, one GPU",
        against: "PyTorch 2.15's memory tracker with peft 0.21",
        belongs: |row| is(row, "kind", "lora"),
    },
    Entry {
        what: "Megatron-LM on B200",
        against: "peaks on 8 GPUs, from SimuMax's release notes",
        belongs: |row| row.id.starts_with("b200-"),
    },
    Entry {
        what: "Megatron-LM's functional tests",
        against: "what its continuous integration logs on A100, H100 and GB200",
        belongs: |row| is(row, "family", "megatron_golden"),
    },
    Entry {
        what: "Megatron-LM on Selene",
        against: "Korthikanti et al. 2022, A100",
        belongs: |row| row.id.starts_with("selene-"),
    },
    Entry {
        what: "Parameter counts",
        against: "published counts and transformers 5.23",
        belongs: |row| has(row, "parameters") && !has(row, "forward FLOPs") && !is_memory(row),
    },
    Entry { what: "FLOPs", against: "PyTorch's FLOP counter, forward and backward", belongs: |row| has(row, "forward FLOPs") },
    Entry {
        what: "Key/value cache per token",
        against: "published figures and logs of serving engines",
        belongs: |row| has(row, "KV bytes per token") && !has(row, "parameters"),
    },
];

fn has(row: &Row, quantity: &str) -> bool {
    row.outcome.iter().flatten().any(|found| found.quantity.name() == quantity)
}

fn is_memory(row: &Row) -> bool {
    has(row, "activations") || has(row, "peak")
}

/// The lines that have rows, in their order, as texts: what, against, rows, activations, peak, exact.
fn lines(files: &[File]) -> Vec<[String; 5]> {
    ENTRIES.iter().filter_map(|entry| line(entry, files)).collect()
}

fn line(entry: &Entry, files: &[File]) -> Option<[String; 5]> {
    let rows = || files.iter().flat_map(|file| &file.rows).filter(|row| (entry.belongs)(row));
    let all = Summary::of(rows());
    if all.rows == 0 {
        return None;
    }
    let spread = |spread: Option<Spread>| {
        spread
            .map_or_else(|| "–".to_owned(), |spread| format!("{}, {}", percent(spread.median, false), percent(spread.max, false)))
    };
    let exact = [("parameters", all.parameters), ("FLOPs", all.flops), ("cache", all.kv_bytes_per_token)];
    let exact: Vec<String> = exact
        .iter()
        .filter(|(_, exact)| exact.rows > 0)
        .map(|(name, exact)| format!("{name} {} of {}", grouped(to_f64_of(exact.exact), 0), exact.rows))
        .collect();
    let rows =
        if all.unsupported == 0 { all.rows.to_string() } else { format!("{} ({} not expressed)", all.rows, all.unsupported) };
    // Model states stand where activations would: no row states both peak and states.
    let peak = spread(all.peak.or(all.model_states));
    let exact = if exact.is_empty() { "–".to_owned() } else { exact.join(", ") };
    Some([format!("{} ({})", entry.what, entry.against), rows, spread(all.activations), peak, exact])
}

fn to_f64_of(count: usize) -> f64 {
    to_f64(u64::try_from(count).unwrap_or(u64::MAX))
}

/// The table in Markdown.
pub fn markdown(files: &[File]) -> String {
    let head = "| what (against what) | rows | saved activations: median, largest error | peak (Selene: model states): median, largest error | met to the unit |\n\
                |---|---|---|---|---|\n";
    lines(files).iter().fold(head.to_owned(), |table, line| table + "| " + &line.join(" | ") + " |\n")
}

/// Rows of memory that are furthest off, over all files.
const WORST: usize = 5;

/// The same lines and the worst rows as JSON, for the page.
pub fn page(files: &[File]) -> Value {
    let lines: Vec<Value> = lines(files)
        .into_iter()
        .map(|[what, rows, activations, peak, exact]| {
            json!({ "what": what, "rows": rows, "activations": activations, "peak": peak, "exact": exact })
        })
        .collect();
    let mut furthest: Vec<_> = files.iter().flat_map(|file| worst(&file.rows, WORST)).collect();
    furthest.sort_by(|(_, a), (_, b)| b.error().abs().total_cmp(&a.error().abs()));
    furthest.truncate(WORST);
    let worst: Vec<Value> = furthest
        .into_iter()
        .map(|(row, found)| {
            let groups = row.groups.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ");
            json!({ "row": row.id, "of": groups, "figure": found.quantity.name(), "error": percent(found.error(), true) })
        })
        .collect();
    json!({ "lines": lines, "worst": worst })
}
