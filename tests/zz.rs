#![allow(missing_docs, clippy::all, clippy::pedantic)]
mod support;
use headroom::config::*;
use headroom::estimator::{MemoryKind, measured};
use headroom::ops;
fn tape(model: &ModelConfig, kernels: Kernels) -> u64 {
    let job = support::training_job(model, ParallelLayout::SINGLE, |run| {
        run.seq_length = 8; run.global_batch_size = 1; run.kernels = kernels; run.precision = TrainingPrecision::Bf16Pure;
    });
    measured(&job).unwrap().0[MemoryKind::Parameter.index()].0 / 2
}
#[test]
fn zz() {
    for line in include_str!("data/truth/parameters_families.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let model = match headroom::import::config_json(&row["config"].to_string()) { Ok(m) => m.config, Err(e) => { println!("{} {e}", row["model"]); continue } };
        let lower = ops::lower(&ops::Lowering::parameters_only(&model)).parameters();
        let (e, f) = (tape(&model, Kernels::Eager), tape(&model, Kernels::Fused));
        let truth = row["parameters"].as_u64().unwrap();
        if lower != truth || e != truth || f != truth {
            println!("{} {:?} truth {truth} lower {} eager {} fused {} {}", row["model"], model.family, lower as i64 - truth as i64, e as i64 - truth as i64, f as i64 - truth as i64, row["config"]);
        }
    }
}
