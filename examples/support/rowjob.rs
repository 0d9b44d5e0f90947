use headroom::config::*;
use serde_json::Value;
pub fn job(row: &Value) -> Job {
    let c = &row["config"];
    let config = headroom::import::config_json(&c.to_string()).expect("a known model").config;
    let r = &row["run"];
    let n = |k: &str| r[k].as_u64().unwrap_or(1);
    let mut layout = ParallelLayout::SINGLE;
    let p = &row["parallel"];
    let nz = |v: &Value| std::num::NonZeroU64::new(v.as_u64().unwrap_or(1)).unwrap();
    if !p["fully_sharded"].is_null() {
        layout.data_parallel_size = nz(&p["fully_sharded"]);
        layout.sharding = DataSharding::Fsdp;
        layout.reshard_after_forward = p["reshard_after_forward"] == true;
        layout.reduce_in_fp32 = p["reduce_dtype"] == "fp32";
    }
    layout.tensor_model_parallel_size = nz(&p["tensor_parallel"]);
    let d = layout.d();
    crate::support::training_job(&config, layout, |run| {
        run.seq_length = n("seq_length");
        run.micro_batch_size = Some(n("micro_batch_size"));
        run.global_batch_size = n("micro_batch_size") * n("gradient_accumulation_steps") * d;
        run.precision = match r["precision"].as_str().unwrap_or("bf16") {
            "fp32" => TrainingPrecision::Fp32,
            "amp_bf16" => TrainingPrecision::AmpBf16,
            "fsdp_mixed" => TrainingPrecision::FsdpMixed,
            _ => TrainingPrecision::Bf16Pure,
        };
        run.attention = if r["attention"] == "eager" { AttentionKernel::Standard } else { AttentionKernel::Flash };
        run.kernels = if r["kernels"] == "fused" { Kernels::Fused } else { Kernels::Eager };
        run.recompute = if r["recompute"] == "full" { Recompute::Full } else { Recompute::None };
        run.optimizer = match r["optimizer"].as_str().unwrap_or("adamw") {
            "sgd_momentum" => Optimizer::SgdMomentum,
            "adafactor" => Optimizer::Adafactor,
            _ => Optimizer::AdamW,
        };
        run.optimizer_implementation = match r["optimizer_implementation"].as_str().unwrap_or("fused") {
            "for_loop" => OptimizerImplementation::ForLoop,
            "foreach" => OptimizerImplementation::Foreach,
            _ => OptimizerImplementation::Fused,
        };
    })
}
