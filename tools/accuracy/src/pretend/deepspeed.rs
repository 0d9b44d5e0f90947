//! Rows of DeepSpeed: ZeRO stages 0 to 3 around a transformers model.

use headroom::config::{
    GradientDType, LibraryOptions, Loss, OptimizerImplementation, OverlapComm, TrainingPrecision,
    TrainingRun,
};

use super::super::row::Fields;
use super::{Pretended, data_parallel, is_plain_run, job, model, only_known, plain_run, trainer};

/// DeepSpeed's own keys that rows have. Under `zero_optimization` they stand directly in `flags`.
///
/// Without effect on a rank's tensors: `allgather_bucket_size` and `allgather_partitions`, by which
/// stages 1 and 2 gather into the weights themselves, and `round_robin_gradients`, which changes
/// which parameters a rank owns and not how many.
const FLAGS: [&str; 20] = [
    "stage",
    // In it the model is made, before the engine casts it.
    "model_dtype",
    "overlap_comm",
    "contiguous_gradients",
    "reduce_bucket_size",
    "allgather_bucket_size",
    "allgather_partitions",
    "reduce_scatter",
    "round_robin_gradients",
    "sub_group_size",
    "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold",
    "stage3_max_live_parameters",
    "stage3_max_reuse_distance",
    "offload_optimizer",
    "offload_param",
    "grad_accum_dtype",
    "clip",
    "loss",
    "lora",
];

/// The row as a job.
pub fn pretended(row: Fields<'_>) -> Result<Pretended, String> {
    // Checkpointing is reentrant unless a row says otherwise: whole blocks either way.
    is_plain_run(row, &["reentrant"])?;
    only_known(row, "/parallel", &["size"])?;
    only_known(row, "/flags", &FLAGS)?;
    let precision = match row.text("/run/precision")? {
        "bf16" => TrainingPrecision::Bf16Mixed,
        "fp16" => TrainingPrecision::Fp16Mixed,
        other => return Err(format!("DeepSpeed's precision {other} is not modelled")),
    };
    let tuning = trainer::adapters(row, false)?;
    let mut run = TrainingRun { precision, loss: loss(row)?, tuning, ..plain_run(row)? };
    run.optimizer_implementation = OptimizerImplementation::Fused;
    // Below stage 3 `run_deepspeed.py` makes the model on the GPU.
    run.library.made_on_gpu = true;
    zero(row, "/flags", run)
}

/// The loss of a row: that of transformers 5 unless it says otherwise.
fn loss(row: Fields<'_>) -> Result<Loss, String> {
    match row.text("/flags/loss") {
        Err(_) if row.is_absent("/flags/loss") => Ok(Loss::OfStack),
        Ok("transformers_4") => Ok(Loss::Transformers4),
        other => Err(format!("the loss {other:?} is not modelled")),
    }
}

/// The job of a run under the settings of `zero_optimization` at that place.
pub fn zero(row: Fields<'_>, flags: &str, mut run: TrainingRun) -> Result<Pretended, String> {
    let at = |key: &str| format!("{flags}/{key}");
    let states = |key: &str| !row.is_absent(&at(key));
    let stage = row.count(&at("stage"))?;
    let key = match stage {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        other => return Err(format!("DeepSpeed has no stage {other}")),
    };
    let mut layout = data_parallel(row, key)?;
    if states("reduce_bucket_size") {
        run.reduce_bucket_size = bucket(row, &at("reduce_bucket_size"), &run)?;
    }
    if states("grad_accum_dtype") {
        // `data_types.grad_accum_dtype` says in what gradients are kept between micro-batches.
        run.gradients = match row.text(&at("grad_accum_dtype"))? {
            "bf16" | "fp16" => GradientDType::AsWeights,
            "fp32" => GradientDType::Fp32,
            other => {
                return Err(format!(
                    "DeepSpeed's gradients accumulated in {other} are not modelled"
                ));
            }
        };
    }
    let flag = |key: &str| row.flag(&at(key)).unwrap_or(false);
    layout.offload.optimizer = flag("offload_optimizer");
    layout.offload.parameters = flag("offload_param");
    run.library.contiguous_gradients =
        !states("contiguous_gradients") || flag("contiguous_gradients");
    run.library.reduce_scatter = !states("reduce_scatter") || flag("reduce_scatter");
    if states("overlap_comm") {
        run.library.overlap_comm =
            if flag("overlap_comm") { OverlapComm::On } else { OverlapComm::Off };
    }
    let number =
        |key: &str, default: u64| if states(key) { row.count(&at(key)) } else { Ok(default) };
    let default = LibraryOptions::DEFAULT;
    run.library.sub_group_size = number("sub_group_size", default.sub_group_size)?;
    run.library.max_live_parameters =
        number("stage3_max_live_parameters", default.max_live_parameters)?;
    run.library.max_reuse_distance =
        number("stage3_max_reuse_distance", default.max_reuse_distance)?;
    // Hugging Face's `auto`: nine tenths of the hidden size squared, and ten times the hidden size.
    let hidden = model(row)?.hidden_size;
    let stated = |key: &str, auto: u64, default: u64| {
        if row.text(&at(key)) == Ok("auto") { Ok(auto) } else { number(key, default) }
    };
    run.library.prefetch_bucket_size = stated(
        "stage3_prefetch_bucket_size",
        hidden * hidden * 9 / 10,
        default.prefetch_bucket_size,
    )?;
    run.library.persistence_threshold =
        stated("stage3_param_persistence_threshold", 10 * hidden, default.persistence_threshold)?;
    // Ranks of stages 1 and 2 keep gradients of other parameters each.
    let rank = row.count("/rank").ok().filter(|_| matches!(stage, 1 | 2));
    Ok(Pretended { rank, ..job(row, &run, layout)? })
}

/// Elements of the bucket. `auto` is Hugging Face's word for the square of the hidden size
/// (`transformers/integrations/deepspeed.py`).
fn bucket(row: Fields<'_>, pointer: &str, run: &TrainingRun) -> Result<u64, String> {
    if row.text(pointer) == Ok("auto") {
        let hidden = model(row)?.hidden_size;
        return Ok(hidden * hidden);
    }
    row.count(pointer).map(|elements| if elements == 0 { run.reduce_bucket_size } else { elements })
}
