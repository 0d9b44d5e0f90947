//! llm-foundry's benchmark of MPT under PyTorch FSDP.

use headroom::config::{
    Flash, MlpKind, Narrow, OptimizerImplementation, Overlap, ParallelLayout, ProductFormat,
    Recompute, TrainingPrecision, TrainingRun,
};
use headroom::units::to_f64;

use super::super::row::{Comparison, Fields, sharding, stack};
use super::{compare, gpt};

pub fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let gpu = match row.text("/gpu")? {
        "a100_40gb" => "a100-40",
        "a100_80gb" => "a100-80",
        "h100_80gb" => "h100-80",
        other => return Err(format!("{other} is no known accelerator")),
    };
    let (s, gpus, batch) =
        (row.count("/seq_len")?, row.count("/gpus")?, row.count("/global_batch")?);
    let mut model = gpt(
        row.count("/hidden")?,
        row.count("/layers")?,
        row.count("/heads")?,
        row.count("/vocab")?,
        s,
    );
    model.mlp = MlpKind::Plain;
    let products = match row.text("/precision")? {
        "amp_fp8" => ProductFormat::Narrow(Narrow::Fp8),
        _ => ProductFormat::Activations,
    };
    // Under `PURE` everything is bf16 on its way; under `DEFAULT` weights are gathered in bf16 and
    // gradients reduced in fp32.
    let pure = row.text("/mp_mode")? == "PURE";
    let run = TrainingRun {
        seq_length: s,
        global_batch_size: batch,
        micro_batch_size: Some(row.count("/micro_batch")?),
        precision: TrainingPrecision::FsdpMixed,
        stack: stack("fused")?,
        recompute: if row.flag("/activation_checkpointing")? {
            Recompute::Full
        } else {
            Recompute::None
        },
        products,
        // `attn_impl: triton`, the benchmark's default (`submit_benchmarks.py`); weights come when
        // backward needs them (`BACKWARD_POST`, Composer's default).
        flash: Flash::First,
        overlap: Overlap { prefetch_backward: false, ..Overlap::DEFAULT },
        // llm-foundry's decoupled AdamW goes from parameter to parameter, operator by operator.
        optimizer_implementation: OptimizerImplementation::ForLoop,
        ..TrainingRun::plain()
    };
    let layout = ParallelLayout {
        data_parallel_size: row.degree("/gpus")?,
        sharding: sharding("fsdp")?,
        reshard_after_forward: row.text("/sharding")? == "FULL_SHARD",
        reduce_in_fp32: !pure,
        ..ParallelLayout::SINGLE
    };
    let seconds = to_f64(batch) * to_f64(s) / (row.number("/tokens_per_s_per_gpu")? * to_f64(gpus));
    Ok(vec![compare(model, run, layout, gpu, seconds)?])
}
