//! Rows of DeepSpeed: ZeRO stages 0 to 3 around a transformers model.

use headroom::config::{GradientDType, Loss, OptimizerImplementation, TrainingPrecision, TrainingRun};

use super::super::row::Fields;
use super::{Pretended, data_parallel, is_plain_run, job, model, only_known, plain_run};

/// DeepSpeed's own keys that rows have. Under `zero_optimization` they stand directly in `flags`.
///
/// Without effect on a rank's tensors: `allgather_bucket_size` and `allgather_partitions`, by which stages 1 and 2 gather into the
/// weights themselves, and `round_robin_gradients`, which changes which parameters a rank owns and not how many.
const FLAGS: [&str; 18] = [
    "stage",
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
    let mut run = TrainingRun { precision, loss: loss(row)?, ..plain_run(row)? };
    run.optimizer_implementation = OptimizerImplementation::Fused;
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
        0 => "none",
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
            other => return Err(format!("DeepSpeed's gradients accumulated in {other} are not modelled")),
        };
    }
    let flag = |key: &str| row.flag(&at(key)).unwrap_or(false);
    layout.offload.optimizer = flag("offload_optimizer");
    layout.offload.parameters = flag("offload_param");
    if states("contiguous_gradients") && !flag("contiguous_gradients") {
        return Err("DeepSpeed without contiguous gradients is not modelled".to_owned());
    }
    if flag("overlap_comm") && matches!(stage, 1 | 2) {
        // A second buffer of the same size: two take what one of twice the size takes.
        run.reduce_bucket_size *= 2;
    }
    if states("reduce_scatter") && !flag("reduce_scatter") {
        return Err("DeepSpeed that reduces gradients by all-reduce alone is not modelled".to_owned());
    }
    if states("sub_group_size") && row.count(&at("sub_group_size"))? != 1_000_000_000 {
        return Err("DeepSpeed's sub-groups of another size are not modelled".to_owned());
    }
    // How far stage 3 gathers ahead changes what is gathered when, and not how much at once.
    for (key, default) in [("stage3_max_live_parameters", 1_000_000_000), ("stage3_max_reuse_distance", 1_000_000_000)] {
        if states(key) && row.count(&at(key)) != Ok(default) {
            return Err(format!("DeepSpeed's {key} other than its default is not modelled"));
        }
    }
    // Hugging Face's `auto` is ten times the hidden size, which norms and biases stay under as under the default.
    let threshold = at("stage3_param_persistence_threshold");
    if states("stage3_param_persistence_threshold") && row.text(&threshold) != Ok("auto") && row.count(&threshold) != Ok(100_000)
    {
        return Err("DeepSpeed's stage3_param_persistence_threshold other than its default is not modelled".to_owned());
    }
    job(row, &run, layout)
}

/// Elements of the bucket. `auto` is Hugging Face's word for the square of the hidden size (`transformers/integrations/deepspeed.py`).
fn bucket(row: Fields<'_>, pointer: &str, run: &TrainingRun) -> Result<u64, String> {
    if row.text(pointer) == Ok("auto") {
        let hidden = model(row)?.hidden_size;
        return Ok(hidden * hidden);
    }
    row.count(pointer).map(|elements| if elements == 0 { run.reduce_bucket_size } else { elements })
}
