//! Rows of fine-tuning: adapters, weights of four bits, frozen layers.

use headroom::config::{BaseFormat, Job, Method, SavedModules, Targets, Tuning};
use headroom::estimator::{blockers, estimate};
use headroom::units::DType;

use super::row::{Comparison, Fields, Quantity};

/// Which parameters learn in a row of that kind; `None` for a row in which all do.
pub fn tuning(row: Fields<'_>) -> Result<Option<Tuning>, String> {
    let method = match row.text("/kind")? {
        // Rows of weights of few bits say themselves which adapters stand beside.
        "qlora" if row.text("/run/method")? == "dora" => Method::Dora,
        "lora" | "qlora" => Method::Lora,
        "dora" => Method::Dora,
        kind @ ("prompt" | "prefix") => {
            let method = if kind == "prefix" { Method::Prefix } else { Method::Prompt };
            let num_virtual_tokens = row.count("/run/num_virtual_tokens")?;
            let adapter_dtype =
                (row.text("/run/adapter_precision")? == "fp32").then_some(DType::Fp32);
            return Ok(Some(Tuning { method, num_virtual_tokens, adapter_dtype, ..Tuning::FULL }));
        }
        "frozen" => {
            let (frozen_layers, frozen_embeddings) =
                (row.count("/run/frozen_layers")?, row.flag("/run/frozen_embeddings")?);
            return Ok(Some(Tuning { frozen_layers, frozen_embeddings, ..Tuning::FULL }));
        }
        _ => return Ok(None),
    };
    let names = row.value("/run/lora_targets")?.as_array().ok_or("lora_targets is no list")?;
    let mut target_modules = Targets::NONE;
    for name in names {
        let name = name.as_str().ok_or("a target is no text")?;
        target_modules = target_modules
            .and(Targets::named(name).ok_or_else(|| format!("the target {name} is not modelled"))?);
    }
    Ok(Some(Tuning {
        method,
        r: row.count("/run/lora_rank")?,
        target_modules,
        modules_to_save: saved(row)?,
        adapter_dtype: match row.text("/run/adapter_precision")? {
            "fp32" => Some(DType::Fp32),
            "bf16" => Some(DType::Bf16),
            other => return Err(format!("adapters in {other} are not modelled")),
        },
        dropout: row.number("/run/lora_dropout")? > 0.0,
        base: base(row)?,
        ..Tuning::FULL
    }))
}

/// Whole layers that learn beside adapters.
fn saved(row: Fields<'_>) -> Result<SavedModules, String> {
    let mut saved = SavedModules::default();
    if row.is_absent("/run/modules_to_save") {
        return Ok(saved);
    }
    for name in row.value("/run/modules_to_save")?.as_array().ok_or("modules_to_save is no list")? {
        match name.as_str() {
            Some("embed_tokens") => saved.embedding = true,
            Some("lm_head") => saved.head = true,
            _ => return Err(format!("{name} beside adapters is not modelled")),
        }
    }
    Ok(saved)
}

fn base(row: Fields<'_>) -> Result<BaseFormat, String> {
    if row.is_absent("/run/base") {
        return Ok(BaseFormat::Weights);
    }
    match row.text("/run/base")? {
        "weights" => Ok(BaseFormat::Weights),
        "nf4" => Ok(BaseFormat::Nf4),
        "nf4_double" => Ok(BaseFormat::Nf4Double),
        other => Err(format!("frozen weights in {other} are not modelled")),
    }
}

/// Why a job of fine-tuning is not modelled.
pub fn is_modelled(job: &Job) -> Result<(), String> {
    let full = job.training().is_none_or(|run| run.tuning.is_full());
    blockers(job).first().filter(|_| !full).map_or(Ok(()), |blocker| Err(blocker.to_string()))
}

/// Parameters that learn, ours and the row's.
pub fn learns(job: &Job, row: Fields<'_>) -> Result<Comparison, String> {
    let ours = estimate(job).parameters.trainable;
    Ok(Comparison {
        quantity: Quantity::Trainable,
        ours,
        measured: row.count("/measured/trainable_parameters")?,
    })
}
