//! Rows of kinds `pretend_cuda` and `cuda`: one GPU, a transformers model, the settings of PyTorch
//! alone.

use headroom::config::{Job, LibraryOptions, ParallelLayout, Run, TrainingRun};

use super::super::row::{Fields, stack};
use super::super::truth::{attention, implementation, optimizer, precision, recompute};
use super::{
    Pretended, card, dropout, expandable_segments, further_settings, is_plain_pytorch,
    keeps_workspaces, model, only_known,
};

/// The keys of `run`, from `measure_cuda.py`. `steps` says how often the step was repeated. `build`
/// says on which device the model was made.
const RUN: [&str; 15] = [
    "seq_length",
    "micro_batch_size",
    "precision",
    "attention",
    "kernels",
    "recompute",
    "optimizer",
    "optimizer_implementation",
    "gradient_accumulation_steps",
    "alloc_conf",
    "steps",
    "build",
    "zero_grad",
    "cublas_workspace_cache",
    "gpu_total_bytes",
];

/// The row as a job.
pub fn pretended(row: Fields<'_>) -> Result<Pretended, String> {
    only_known(row, "/run", &RUN)?;
    only_known(row, "/parallel", &[])?;
    only_known(row, "/flags", &[])?;
    is_plain_pytorch(row)?;
    let micro_batch_size = row.count("/run/micro_batch_size")?;
    let run = TrainingRun {
        seq_length: row.count("/run/seq_length")?,
        global_batch_size: micro_batch_size * row.count("/run/gradient_accumulation_steps")?,
        micro_batch_size: Some(micro_batch_size),
        precision: precision(row.text("/run/precision")?)?,
        optimizer: optimizer(row.text("/run/optimizer")?)?,
        optimizer_implementation: implementation(row.text("/run/optimizer_implementation")?)?,
        stack: stack(row.text("/run/kernels")?)?,
        // `sdpa` leaves the choice to PyTorch; which kernel it took is checked above.
        attention: match row.text("/run/attention")? {
            "sdpa" => attention("flash")?,
            other => attention(other)?,
        },
        // Both are transformers' `sdpa`, which gives layers with a window a mask.
        masks_windows: matches!(row.text("/run/attention")?, "flash" | "sdpa"),
        recompute: recompute(row.text("/run/recompute")?)?,
        zero_grad_to_none: row.text("/run/zero_grad")? == "to_none",
        library: LibraryOptions {
            made_on_gpu: row.text("/run/build")? == "device",
            cublas_workspace_cache: keeps_workspaces(row),
            ..LibraryOptions::DEFAULT
        },
        ..TrainingRun::plain()
    };
    let model = model(row)?;
    let run = TrainingRun { dropout: dropout(row, &model), ..run };
    let job = Job::new(model, Run::Training(run), ParallelLayout::SINGLE, card(row)?)
        .map_err(|error| error.to_string())?;
    Ok(Pretended {
        job,
        expandable_segments: expandable_segments(row)?,
        rank: None,
        settings: further_settings(row)?,
    })
}
