//! Rows of the field: runs that people published, and questions they asked (`tests/data/field`).
//!
//! `settings` are free words of the software that ran. A row is compared where it states all that
//! decides memory and every setting is understood; any other is counted with its reason. Scripts
//! and files are read as anybody's are ([`script`]); rows of tables are rewritten as rows of a
//! framework on the pretended GPU.

mod script;
mod titan;

use headroom::config::Job;
use headroom::units::Bytes;
use serde_json::Value;

use super::pretend;
use super::row::{Comparison, Fields, Group, Quantity, Row, rounded};

/// The value of the group of rows that state everything.
pub const COMPLETE: &str = "all that decides it";

/// Why a row is not compared that has the key `wrong`, which says how its figure is refuted without
/// any estimate of ours.
const WRONG: &str = "the figure is not one of the run that the row describes: its key `wrong` and tests/data/field/README.md say why";

/// True if a row is one of the field's.
pub fn is_field(row: Fields<'_>) -> bool {
    ["/source", "/question", "/settings", "/measured"].iter().all(|pointer| !row.is_absent(pointer))
}

/// A row of the field.
pub fn field(index: usize, row: Fields<'_>) -> Row {
    let mut found = found(row);
    if !row.is_absent("/wrong") {
        found.outcome = found.outcome.and(Err(WRONG.to_owned()));
    }
    let mut groups: Vec<Group> = vec![("framework", found.software.to_owned())];
    groups.extend(
        found.read.map(|read| ("script", if read { "read" } else { "not read" }.to_owned())),
    );
    groups.push(("states", if found.complete { COMPLETE } else { "less" }.to_owned()));
    Row {
        id: format!("{} ({})", row.text("/source").unwrap_or("field"), index + 1),
        groups,
        outcome: found.outcome,
        without: Vec::new(),
    }
}

/// Facts about a row.
struct Found {
    /// The software that ran.
    software: &'static str,
    /// True if the row states model, stack, sharding, precision, recomputation, micro-batch and
    /// lengths.
    complete: bool,
    /// True if the row's script or file is read into a job without help by hand; `None` for a row
    /// that has neither.
    read: Option<bool>,
    /// The comparisons, or why there are none.
    outcome: Result<Vec<Comparison>, String>,
}

fn found(row: Fields<'_>) -> Found {
    let source = row.text("/source").unwrap_or("");
    let has = |pointer: &str| !row.is_absent(pointer);
    let incomplete = |software, reason: &str| Found {
        software,
        complete: false,
        read: None,
        outcome: Err(reason.to_owned()),
    };
    if let Some(found) = script::found(row) {
        return found;
    }
    if source.contains("pytorch/torchtitan") && has("/measured/memory_gib") {
        return titan::found(row);
    }
    if source.contains("chenyaofo") {
        return gist(row);
    }
    if source.contains("torchtune") && has("/measured/peak") {
        return incomplete("torchtune", "the row does not say what is recomputed");
    }
    let kind = row.text("/kind").unwrap_or("");
    if kind.starts_with("serve") {
        return incomplete("serving", "the row is about serving");
    }
    if row
        .0
        .pointer("/measured")
        .and_then(Value::as_object)
        .is_some_and(|found| found.values().any(is_figure))
    {
        return incomplete("other training", "the row does not state all that decides its figures");
    }
    incomplete("other training", "the row has no figure of memory")
}

/// True if a value is a number, or a list that has one.
fn is_figure(value: &Value) -> bool {
    value.is_number() || value.as_array().is_some_and(|values| values.iter().any(is_figure))
}

/// The table by chenyaofo: LLaMA-7B under DeepSpeed's stage 3, allocated memory in GB of 10⁹ bytes.
/// It names PyTorch 2.2 and DeepSpeed 0.14.2 (spring of 2024), when transformers 4 was the newest,
/// so the loss is that of transformers 4.
fn gist(row: Fields<'_>) -> Found {
    let outcome = || {
        let flag = |key: &str| row.flag(&format!("/settings/{key}"));
        if flag("zeropp")? {
            return Err("ZeRO++ is not modelled".to_owned());
        }
        let batches = row.text("/settings/batch_per_device_over_global")?;
        let (batch, global) = batches.split_once('/').ok_or("the batches are not understood")?;
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| format!("{text} is no number of sequences"))
        };
        let (batch, global, ranks) = (number(batch)?, number(global)?, 8);
        let row_of = serde_json::json!({
            "kind": "pretend_framework", "framework": "deepspeed", "catalog": "llama-7b", "rank": 0,
            "run": {
                "seq_length": row.count("/settings/seq")?, "micro_batch_size": batch, "precision": "bf16",
                "gradient_accumulation_steps": global / (batch * ranks).max(1),
                "recompute": if flag("checkpointing")? { "full" } else { "none" },
            },
            "parallel": { "size": ranks },
            "flags": {
                "stage": row.count("/settings/zero")?, "loss": "transformers_4",
                "offload_optimizer": flag("optimizer_offload")?, "offload_param": flag("param_offload")?,
            },
        });
        let ours = pretend::expressed(Fields(&row_of))?;
        let measured = rounded(
            row.number("/measured/max_memory_allocated")? * headroom::units::to_f64(Bytes::GB),
        );
        Ok(vec![Comparison {
            quantity: Quantity::Allocated,
            ours: pretend::allocated_of(&ours).0,
            measured,
        }])
    };
    Found {
        software: "DeepSpeed, table by chenyaofo",
        complete: true,
        read: None,
        outcome: outcome(),
    }
}

/// Ours beside a figure that a log prints as reserved; a reason where the engine does not replay
/// the allocator.
fn reserved(ours: &pretend::Pretended, gib: f64) -> Result<Vec<Comparison>, String> {
    let measured = rounded(gib * headroom::units::to_f64(Bytes::GIB));
    let reserved = pretend::reserved_of(ours)
        .map(|Bytes(ours)| vec![Comparison { quantity: Quantity::Reserved, ours, measured }]);
    reserved.ok_or_else(|| {
        "the order of allocations is not known, and with it what is reserved".to_owned()
    })
}

/// Checks that a job's layout may run at all; the error names the rule that forbids it.
fn runs(job: &Job) -> Result<(), String> {
    headroom::estimator::blockers(job).first().map_or(Ok(()), |blocker| Err(blocker.to_string()))
}
