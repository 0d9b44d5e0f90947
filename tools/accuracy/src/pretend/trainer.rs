//! Rows of Hugging Face's Trainer, TRL and peft, and of torchtune's recipes on one device.

use std::num::NonZeroU64;

use headroom::config::{
    BaseFormat, Evaluation, Float8, Float8Recipe, Loss, Method, Optimizer, OptimizerImplementation,
    ParallelLayout, PipelineSchedule, PipelineSplit, Targets, TrainingPrecision, TrainingRun,
    Tuning,
};
use headroom::units::DType;
use serde_json::Value;

use super::super::row::{Fields, stack};
use super::super::truth::{self, precision};
use super::{Pretended, data_parallel, deepspeed, is_plain_run, job, only_known, plain_run};

/// Why a compiled run is not compared. Of 11 rows with an eager twin, none took more than that.
const COMPILED: &str = "torch.compile is not modelled: which tensors its partitioner saves is not \
    stated; eager is an upper bound";

/// A Trainer's row as a job.
///
/// `attention_mask` says that a mask in which every token is attended to goes along, and
/// `pin_memory` is about host memory.
pub fn pretended(row: Fields<'_>) -> Result<Pretended, String> {
    is_plain_run(row, &["reentrant"])?;
    only_known(row, "/parallel", &["size"])?;
    only_known(
        row,
        "/flags",
        &[
            "optim",
            "liger",
            "trl",
            "lora",
            "quantize",
            "prepare_kbit",
            "deepspeed",
            "torch_compile",
            "attention_mask",
            "pin_memory",
            "loss",
            "eval",
        ],
    )?;
    let has = |flag: &str| row.flag(&format!("/flags/{flag}")).unwrap_or(false);
    if has("torch_compile") {
        return Err(COMPILED.to_owned());
    }
    let (optimizer, optimizer_implementation, paged) =
        optimizer(row.text("/flags/optim").unwrap_or("adamw_torch_fused"))?;
    let mut run = TrainingRun {
        optimizer,
        optimizer_implementation,
        stack: stack(if has("liger") { "liger" } else { "eager" })?,
        precision: precision(row.text("/run/precision")?)?,
        loss: loss(row)?,
        tuning: adapters(row, true)?,
        evaluation: evaluation(row)?,
        ..plain_run(row)?
    };
    run.tuning.paged_optimizer = paged;
    // The Trainer's `bf16` is autocast, whatever the weights are in; DeepSpeed's engine has none.
    run.tuning.autocast = row.is_absent("/flags/deepspeed")
        && matches!(row.text("/run/precision"), Ok("bf16" | "amp_bf16"));
    if row.is_absent("/flags/deepspeed") {
        let layout = data_parallel(row, "none")?;
        return job(row, &run, layout);
    }
    if run.precision != TrainingPrecision::Bf16Pure {
        return Err(
            "the Trainer's DeepSpeed in another precision than bf16 is not modelled".to_owned()
        );
    }
    run.precision = TrainingPrecision::Bf16Mixed;
    deepspeed::zero(row, "/flags/deepspeed", run)
}

/// Evaluations behind every step.
fn evaluation(row: Fields<'_>) -> Result<Option<Evaluation>, String> {
    if row.is_absent("/flags/eval") {
        return Ok(None);
    }
    only_known(row, "/flags/eval", &["batch", "logits"])?;
    let writes_logits = row.flag("/flags/eval/logits").unwrap_or(false);
    Ok(Some(Evaluation { batch_size: row.count("/flags/eval/batch")?, writes_logits }))
}

/// The loss: TRL's, one that a row names, or the stack's.
fn loss(row: Fields<'_>) -> Result<Loss, String> {
    if row.flag("/flags/trl").unwrap_or(false) {
        return Ok(Loss::Trl);
    }
    match row.text("/flags/loss") {
        Err(_) if row.is_absent("/flags/loss") => Ok(Loss::OfStack),
        Ok("transformers_4") => Ok(Loss::Transformers4),
        Ok("cut") => Ok(Loss::Cut),
        other => Err(format!("the loss {other:?} is not modelled")),
    }
}

/// The Trainer's `optim`: optimizer, implementation, and whether its states are paged.
fn optimizer(name: &str) -> Result<(Optimizer, OptimizerImplementation, bool), String> {
    use OptimizerImplementation::{ForLoop, Foreach, Fused};
    let named = truth::optimizer;
    match name {
        "adamw_torch_fused" => Ok((named("adamw")?, Fused, false)),
        // PyTorch takes foreach on CUDA where nothing is said.
        "adamw_torch" => Ok((named("adamw")?, Foreach, false)),
        "adamw_8bit" => Ok((named("adamw_8bit_trainer")?, Fused, false)),
        "paged_adamw_8bit" => Ok((named("adamw_8bit_trainer")?, Fused, true)),
        // transformers' own, which walks over the parameters in a loop.
        "adafactor" => Ok((named("adafactor_transformers")?, ForLoop, false)),
        "sgd" => Ok((named("sgd")?, Foreach, false)),
        "adamw_torch_8bit" => Ok((named("adamw_8bit_torchao")?, Fused, false)),
        "adamw_torch_4bit" => Ok((named("adamw_4bit_torchao")?, Fused, false)),
        "rmsprop" => Ok((named("rmsprop")?, Foreach, false)),
        "adagrad" => Ok((named("adagrad")?, Foreach, false)),
        "paged_adamw_32bit" => Ok((named("adamw_32bit")?, Fused, true)),
        "lion_32bit" => Ok((named("lion")?, Fused, false)),
        "lion_8bit" => Ok((named("lion_8bit_trainer")?, Fused, false)),
        "paged_lion_8bit" => Ok((named("lion_8bit_trainer")?, Fused, true)),
        other => Err(format!("the Trainer's optimizer {other} is not modelled")),
    }
}

/// The adapters of a row, in fp32 or not where it does not say (`autocast_adapter_dtype`).
pub fn adapters(row: Fields<'_>, in_fp32: bool) -> Result<Tuning, String> {
    if row.is_absent("/flags/lora") {
        return if row.is_absent("/flags/quantize") {
            Ok(Tuning::FULL)
        } else {
            Err("4-bit weights without adapters".to_owned())
        };
    }
    only_known(row, "/flags/lora", &["r", "alpha", "dropout", "targets", "fp32"])?;
    let base = if row.is_absent("/flags/quantize") {
        BaseFormat::Weights
    } else {
        only_known(row, "/flags/quantize", &["double", "bits", "experts"])?;
        if row.count("/flags/quantize/bits") == Ok(8) {
            BaseFormat::Int8
        } else if row.flag("/flags/quantize/double").unwrap_or(true) {
            BaseFormat::Nf4Double
        } else {
            BaseFormat::Nf4
        }
    };
    Ok(Tuning {
        method: Method::Lora,
        r: row.count("/flags/lora/r")?,
        target_modules: targets(row.0.pointer("/flags/lora/targets"))?,
        // peft's `autocast_adapter_dtype`.
        adapter_dtype: Some(if row.flag("/flags/lora/fp32").unwrap_or(in_fp32) {
            DType::Fp32
        } else {
            DType::Bf16
        }),
        dropout: row.number("/flags/lora/dropout").unwrap_or(0.0) > 0.0,
        base,
        packs_experts: row.flag("/flags/quantize/experts").unwrap_or(false),
        upcasts: row.flag("/flags/prepare_kbit").unwrap_or(true),
        ..Tuning::FULL
    })
}

/// `target_modules`: a name or a list of names; every linear layer where a row says nothing.
fn targets(named: Option<&Value>) -> Result<Targets, String> {
    let of = |name: &str| {
        Targets::named(name).ok_or_else(|| format!("the target {name} is not modelled"))
    };
    match named {
        None => Ok(Targets::ALL),
        Some(Value::String(name)) => of(name),
        Some(Value::Array(names)) => names.iter().try_fold(Targets::NONE, |all, name| {
            Ok(all.and(of(name.as_str().ok_or("a target is no text")?)?))
        }),
        Some(_) => Err("the targets of adapters are neither a name nor a list".to_owned()),
    }
}

/// A row of torchtune: its Llama on one device, everything in bf16.
pub fn torchtune(row: Fields<'_>) -> Result<Pretended, String> {
    is_plain_run(row, &[])?;
    only_known(row, "/parallel", &["size"])?;
    only_known(row, "/flags", &["compile", "optim", "optimizer_in_bwd", "lora", "quantize"])?;
    let has = |flag: &str| row.flag(&format!("/flags/{flag}")).unwrap_or(false);
    let mut run = TrainingRun {
        precision: precision(row.text("/run/precision")?)?,
        stack: stack("torchtune")?,
        compile: has("compile"),
        ..plain_run(row)?
    };
    (run.optimizer, run.optimizer_implementation) =
        match row.text("/flags/optim").unwrap_or("adamw_fused") {
            "adamw_fused" => (truth::optimizer("adamw")?, OptimizerImplementation::Fused),
            "paged_adamw_8bit" => {
                run.tuning.paged_optimizer = true;
                (truth::optimizer("adamw_8bit")?, OptimizerImplementation::Fused)
            }
            other => return Err(format!("torchtune's optimizer {other} is not modelled")),
        };
    run.optimizer_in_backward = has("optimizer_in_bwd");
    if row.is_absent("/flags/lora") {
        if has("quantize") {
            return Err("4-bit weights without adapters are not modelled".to_owned());
        }
    } else {
        only_known(row, "/flags/lora", &["r", "attn", "mlp"])?;
        let attention = match row.0.pointer("/flags/lora/attn") {
            None => Targets::QUERY.and(Targets::VALUE).and(Targets::OUTPUT),
            named => targets(named)?,
        };
        let mlp = Targets::GATE.and(Targets::UP).and(Targets::DOWN);
        let with_mlp = row.flag("/flags/lora/mlp").unwrap_or(true);
        run.tuning = Tuning {
            method: Method::Lora,
            r: row.count("/flags/lora/r")?,
            target_modules: if with_mlp { attention.and(mlp) } else { attention },
            adapter_dtype: Some(DType::Bf16),
            base: if has("quantize") { BaseFormat::Nf4Double } else { BaseFormat::Weights },
            ..run.tuning
        };
    }
    job(row, &run, ParallelLayout::SINGLE)
}

/// The recipe of a row in float8. Where weights are gathered so, scales that are known before
/// change nothing that lasts.
fn float8(row: Fields<'_>) -> Result<Float8, String> {
    let recipe = match row.text("/flags/float8").unwrap_or("none") {
        "none" => Float8Recipe::None,
        "tensorwise" => Float8Recipe::Tensorwise,
        "rowwise" => Float8Recipe::Rowwise,
        "rowwise_with_gw_hp" => Float8Recipe::RowwiseWithGwHp,
        other => return Err(format!("torchao's float8 recipe {other} is not modelled")),
    };
    Ok(Float8 { recipe, gathers: row.flag("/flags/fsdp_float8_all_gather").unwrap_or(false) })
}

/// Flags of torchtitan's rows.
const OF_TORCHTITAN: [&str; 9] = [
    "compile",
    "loss",
    "reshard",
    "pp_schedule",
    "pp_microbatch_size",
    "float8",
    "fsdp_float8_all_gather",
    "precompute_scale",
    // Its sizes are those of `config`.
    "recipe",
];

/// A row of torchtitan: its Llama under FSDP2.
pub fn torchtitan(row: Fields<'_>) -> Result<Pretended, String> {
    is_plain_run(row, &["optimizer_implementation"])?;
    only_known(row, "/parallel", &["size", "tp", "pp"])?;
    only_known(row, "/flags", &OF_TORCHTITAN)?;
    // torchtitan 0.1.0 knows no other loss than the plain one.
    let plain = if row.text("/framework")? == "torchtitan" { "chunked" } else { "plain" };
    let loss = match row.text("/flags/loss").unwrap_or(plain) {
        "plain" => Loss::OfStack,
        "eager" => Loss::NotCompiled,
        "chunked" => Loss::TorchtitanChunks,
        other => return Err(format!("torchtitan's loss {other} is not modelled")),
    };
    let mut layout = data_parallel(row, "fsdp")?;
    let [ranks, stages] = ["/parallel/tp", "/parallel/pp"].map(|key| row.degree(key));
    let (ranks, stages) = (ranks?, stages?);
    layout.tensor_model_parallel_size = ranks;
    layout.pipeline_model_parallel_size = stages;
    layout.pipeline_split = PipelineSplit::WithEnds;
    layout.data_parallel_size = NonZeroU64::new(layout.data_parallel_size.get() / ranks / stages)
        .ok_or("fewer ranks than tensor-parallel ones")?;
    layout.sequence_parallel = ranks.get() > 1;
    let is_staged = stages.get() > 1;
    layout.pipeline_schedule = match row.text("/flags/pp_schedule").unwrap_or("1F1B") {
        "1F1B" => PipelineSchedule::OneForwardOneBackward,
        "GPipe" => PipelineSchedule::GPipe,
        other => return Err(format!("torchtitan's schedule {other} is not modelled")),
    };
    layout.reshard_after_forward = match row.text("/flags/reshard").unwrap_or("default") {
        // Weights stay gathered over the micro-batches of a stage.
        "default" => !is_staged,
        "always" => true,
        "never" => false,
        other => {
            return Err(format!("torchtitan's fsdp_reshard_after_forward {other} is not modelled"));
        }
    };
    let named = "/run/optimizer_implementation";
    let optimizer_implementation = if row.is_absent(named) {
        OptimizerImplementation::Fused
    } else {
        truth::implementation(row.text(named)?)?
    };
    let run = TrainingRun {
        precision: precision(row.text("/run/precision")?)?,
        optimizer_implementation,
        loss,
        compile: row.flag("/flags/compile").unwrap_or(false),
        float8: float8(row)?,
        // Both are called as their stack is.
        stack: stack(&row.text("/framework")?.replace('_', "-"))?,
        ..plain_run(row)?
    };
    let run = TrainingRun {
        micro_batch_size: if is_staged { Some(micro_batch(row)?) } else { run.micro_batch_size },
        ..run
    };
    let rank = is_staged.then(|| row.count("/rank")).transpose()?;
    Ok(Pretended { rank, ..job(row, &run, layout)? })
}

/// Sequences of one of a pipeline's micro-batches, into which the local batch is cut.
fn micro_batch(row: Fields<'_>) -> Result<u64, String> {
    Ok(row.degree("/flags/pp_microbatch_size")?.get())
}
