//! torchtitan's published tables: the memory that its log prints, which is the most that the
//! allocator had reserved, GiB.

use serde_json::{Value, json};

use super::super::pretend;
use super::super::row::Fields;
use super::{Found, reserved, runs};

/// Settings that are read. `framework` says when it ran, and `note` is a remark about `seq`.
const READ: [&str; 12] = [
    "model",
    "gpu",
    "framework",
    "local_batch",
    "seq",
    "ac",
    "note",
    "layout",
    "schedule",
    "compile",
    "float8",
    "async_tp",
];

/// Why a layout is not expressed.
///
/// Of the tables' tensor parallelism all is asynchronous, compiled and in float8. Asynchronous
/// tensor parallelism (`torch/distributed/_symmetric_memory`, PyTorch 2.15) is not modelled. Its workspace alone could be stated: a rank's shard of the largest input that
/// is gathered, or twice its chunk of the largest output that is scattered, whichever is more
/// (`get_symm_mem_workspace`), outside the allocator, whose figures the tables print. Which gathers
/// the compiler finds and replaces (`micro_pipeline_tp.py`) follows from its graph.
fn not_expressed(layout: &str) -> String {
    let missing: Vec<_> = [("TP ", "asynchronous tensor"), ("CP ", "context")]
        .into_iter()
        .filter(|(degree, _)| {
            layout.split(", ").any(|part| part.starts_with(degree) && !part.ends_with(" 1"))
        })
        .map(|(_, name)| name)
        .collect();
    if missing.is_empty() {
        return format!("torchtitan's layout {layout} is not read");
    }
    format!(
        "torchtitan's layout {layout} is not modelled: torchtitan is modelled without {} \
         parallelism",
        missing.join(" and ")
    )
}

/// A row of torchtitan's tables.
pub fn found(row: Fields<'_>) -> Found {
    let outcome = || {
        let gib = row.number("/measured/memory_gib")?;
        let ours = pretend::expressed(Fields(&described(row)?))?;
        runs(&ours.job)?;
        reserved(&ours, gib)
    };
    Found { software: "torchtitan", complete: true, read: None, outcome: outcome() }
}

/// The row of the pretended GPU that it amounts to.
///
/// Of 2024 are the modules of torchtitan 0.1 with a loss that is not compiled ("compiling loss
/// function causes CUDA errors, turning off for now" in `train.py`) and AdamW by `foreach`
/// (`optimizer.fused` was off where nothing was said). Float8 had one scale for a tensor, which was
/// the only recipe, and weights were gathered in 16 bits where nothing was said.
fn described(row: Fields<'_>) -> Result<Value, String> {
    let text = |key: &str| row.text(&format!("/settings/{key}"));
    let flag = |key: &str| row.flag(&format!("/settings/{key}")).unwrap_or(false);
    let stated = row.value("/settings")?.as_object().ok_or("settings is no group of keys")?;
    if let Some(key) = stated.keys().find(|key| !READ.contains(&key.as_str())) {
        return Err(format!("torchtitan's setting {key} is not mapped"));
    }
    if !text("framework")?.starts_with("torchtitan 2024") {
        return Err("which torchtitan ran is not known".to_owned());
    }
    let layout = text("layout")?;
    let ranks =
        layout.strip_prefix("FSDP ").map(|ranks| ranks.strip_suffix(", CP 1").unwrap_or(ranks));
    let ranks =
        ranks.and_then(|ranks| ranks.parse::<u64>().ok()).ok_or_else(|| not_expressed(layout))?;
    let recompute = match text("ac")? {
        "none" => "none",
        "full" => "full",
        "selective (op)" => "selective_op",
        other => {
            return Err(format!("torchtitan's activation checkpointing {other} is not modelled"));
        }
    };
    Ok(json!({
        "kind": "pretend_framework", "framework": "torchtitan_2025", "catalog": text("model")?, "rank": 0,
        "run": {
            "seq_length": row.count("/settings/seq")?, "micro_batch_size": row.count("/settings/local_batch")?,
            "precision": "fsdp_mixed", "recompute": recompute, "optimizer_implementation": "foreach",
            "gpu_total_bytes": card(text("gpu")?)?,
        },
        "parallel": { "size": ranks },
        "flags": { "compile": flag("compile"), "loss": "eager", "float8": if flag("float8") { "tensorwise" } else { "none" } },
    }))
}

/// Bytes of a card, by its name: `8x H100 96GB HBM2e`.
fn card(name: &str) -> Result<u64, String> {
    let size = name
        .split_whitespace()
        .find_map(|word| word.strip_suffix("GB"))
        .and_then(|size| size.parse::<u64>().ok());
    size.map(|size| size << 30).ok_or_else(|| format!("the memory of {name} is not known"))
}
