//! Rows of PyTorch's own data parallelism: DDP, FSDP1 and FSDP2 around a transformers model.

use headroom::config::{Job, LibraryOptions, OptimizerImplementation, ParallelLayout, TrainingRun};
use headroom::ops::{self, Role};

use super::super::row::Fields;
use super::super::truth::{implementation, precision};
use super::{Pretended, data_parallel, is_plain_run, job, only_known, plain_run};

/// Keys of `run` beside those of every framework: gradients may be clipped, which takes one number
/// per parameter and scales in place.
const RUN: [&str; 2] = ["optimizer_implementation", "clip"];

/// The row as a job.
pub fn pretended(row: Fields<'_>) -> Result<Pretended, String> {
    is_plain_run(row, &RUN)?;
    only_known(row, "/parallel", &["size"])?;
    match row.text("/framework")? {
        "ddp" => ddp(row),
        "fsdp1" => fsdp1(row),
        _ => fsdp2(row),
    }
}

/// `DistributedDataParallel`. `find_unused_parameters` keeps one integer per parameter, and the
/// rank changes nothing. A static graph (`static_graph`) makes its buckets anew before the second
/// step like any other.
fn ddp(row: Fields<'_>) -> Result<Pretended, String> {
    only_known(
        row,
        "/flags",
        &[
            "gradient_as_bucket_view",
            "bucket_cap_mb",
            "static_graph",
            "find_unused_parameters",
            "no_sync",
            "comm_hook",
        ],
    )?;
    let has = |flag: &str| row.flag(&format!("/flags/{flag}")).unwrap_or(false);
    if !row.is_absent("/flags/comm_hook") {
        return Err("DDP's communication hooks are not modelled".to_owned());
    }
    let mut layout = data_parallel(row, "none")?;
    layout.reduce_once = has("no_sync");
    let mut run = with_optimizer(row)?;
    // `run_torch.py` makes the model on the GPU.
    run.library = LibraryOptions {
        made_on_gpu: true,
        gradient_as_bucket_view: has("gradient_as_bucket_view"),
        find_unused_parameters: has("find_unused_parameters"),
        bucket_cap_mb: if row.is_absent("/flags/bucket_cap_mb") {
            25
        } else {
            row.count("/flags/bucket_cap_mb")?
        },
        ..LibraryOptions::DEFAULT
    };
    job(row, &run, layout)
}

/// `FullyShardedDataParallel` around every layer and the model, or around the model alone.
///
/// `limit_all_gathers` lets the host run ahead, which here it never does. Where the model is built,
/// on the CPU or the GPU, changes what is reserved from the start. One flat parameter of a unit
/// takes what its original parameters do (`use_orig_params`), all ranks have equal parts, and in
/// forward one unit ahead (`forward_prefetch`) is as much as backward gathers ahead anyway.
fn fsdp1(row: Fields<'_>) -> Result<Pretended, String> {
    only_known(
        row,
        "/flags",
        &[
            "use_orig_params",
            "sharding_strategy",
            "limit_all_gathers",
            "backward_prefetch",
            "forward_prefetch",
            "reduce_dtype",
            "device",
            "wrap",
            "no_sync",
        ],
    )?;
    let mut layout = data_parallel(row, "fsdp1")?;
    layout.reduce_once = row.flag("/flags/no_sync").unwrap_or(false);
    layout.reshard_after_forward =
        match row.text("/flags/sharding_strategy").unwrap_or("FULL_SHARD") {
            "FULL_SHARD" => true,
            "SHARD_GRAD_OP" => false,
            other => return Err(format!("FSDP1's sharding strategy {other} is not modelled")),
        };
    let mut run = with_optimizer(row)?;
    run.library.wraps_blocks = row.flag("/flags/wrap").unwrap_or(true);
    // `BACKWARD_POST` gathers the next unit when the one at hand has been let go, as where nothing
    // is gathered ahead.
    let prefetch = row.0.pointer("/flags/backward_prefetch");
    run.overlap.prefetch_backward =
        prefetch.is_none_or(|prefetch| prefetch.as_str() == Some("BACKWARD_PRE"));
    // Without `MixedPrecision` gradients are reduced in the format of the parameters.
    layout.reduce_in_fp32 = match row.text("/flags/reduce_dtype").unwrap_or("bfloat16") {
        "float32" => true,
        "bfloat16" => false,
        other => return Err(format!("gradients reduced in {other} are not modelled")),
    };
    job(row, &run, layout)
}

/// `fully_shard` of every layer and of the model.
fn fsdp2(row: Fields<'_>) -> Result<Pretended, String> {
    only_known(row, "/flags", &["reshard_after_forward", "reduce_dtype", "no_sync"])?;
    let mut layout = data_parallel(row, "fsdp")?;
    layout.reduce_once = row.flag("/flags/no_sync").unwrap_or(false);
    layout.reshard_after_forward = row.flag("/flags/reshard_after_forward").unwrap_or(true);
    // `run_torch.py` gives a `MixedPrecisionPolicy` to the mixed precision alone. Without one,
    // gradients are reduced in their own format.
    let mixed = row.text("/run/precision")? == "fsdp_mixed";
    layout.reduce_in_fp32 = match row.text("/flags/reduce_dtype").unwrap_or("float32") {
        "float32" => mixed,
        "bfloat16" => false,
        other => return Err(format!("gradients reduced in {other} are not modelled")),
    };
    let found = job(row, &with_optimizer(row)?, layout)?;
    if row.count("/rank")? > 0 && !has_equal_shares(&found.job) {
        return Err(
            "the share of a rank that is smaller than the first one's is not modelled".to_owned()
        );
    }
    Ok(found)
}

/// The run with the implementation of AdamW that `run_torch.py` takes where a row names none.
fn with_optimizer(row: Fields<'_>) -> Result<TrainingRun, String> {
    let named = "/run/optimizer_implementation";
    let optimizer_implementation = if row.is_absent(named) {
        OptimizerImplementation::Foreach
    } else {
        implementation(row.text(named)?)?
    };
    Ok(TrainingRun {
        optimizer_implementation,
        precision: precision(row.text("/run/precision")?)?,
        ..plain_run(row)?
    })
}

/// True if every parameter has equally many rows on each rank.
fn has_equal_shares(job: &Job) -> bool {
    let ranks = ParallelLayout::d(job.layout()).max(1);
    let list = ops::lower(&ops::lowering(job));
    let mut tensors =
        list.all().flat_map(|op| &op.tensors).filter(|tensor| tensor.role == Role::Parameter);
    tensors.all(|tensor| tensor.shape.dims().next().is_none_or(|dim| dim.1.is_multiple_of(ranks)))
}
