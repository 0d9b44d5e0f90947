#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "../tests/support/mod.rs"]
mod support;
use headroom::config::*;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e3
}
fn main() {
    let row = headroom::catalog::model("llama3-70b").unwrap();
    let jobs = [
        ("bench", support::training_job(&row.config, support::layout(8, 4, 16, DataSharding::Zero1), |_| {})),
        (
            "single eager full",
            support::training_job(&row.config, ParallelLayout::SINGLE, |r| {
                r.kernels = Kernels::Eager;
                r.recompute = Recompute::Full;
            }),
        ),
        ("fsdp", support::training_job(&row.config, support::layout(1, 1, 64, DataSharding::Fsdp), |_| {})),
    ];
    for (name, job) in &jobs {
        for _ in 0..50 {
            std::hint::black_box(headroom::estimator::estimate(job));
        }
        let n = 1000;
        let mut best = [f64::MAX; 2];
        for _ in 0..10 {
            let t = cpu();
            for _ in 0..n / 10 {
                std::hint::black_box(headroom::estimator::estimate(std::hint::black_box(job)));
            }
            best[0] = best[0].min((cpu() - t) / (n as f64 / 10.0));
            let t = cpu();
            for _ in 0..n / 10 {
                std::hint::black_box(headroom::estimator::memory_by_kind(std::hint::black_box(job)));
            }
            best[1] = best[1].min((cpu() - t) / (n as f64 / 10.0));
        }
        println!(
            "{name}: estimate {:.1} us, memory_by_kind {:.1} us, events {}",
            best[0],
            best[1],
            headroom::estimator::events(job).len()
        );
    }
}
