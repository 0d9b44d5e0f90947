//! How long one estimate takes (bar: 50 µs in the median), and both curves of the page.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

#[path = "../tests/it/support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use headroom::config::{DataSharding, WeightFormat};
use headroom::estimator::time::{Pace, StepTime, Traffic, block_times, spread, step};
use headroom::estimator::{Lengths, estimate};
use headroom::planner::{curve_gpus, curve_seq};

/// Bytes whose release makes glibc keep all memory that is freed from then on.
const KEPT: usize = 4 << 20;

fn benches(criterion: &mut Criterion) {
    // Otherwise every estimate gives its memory back to the kernel and faults it in again, which
    // takes a third of the time.
    drop(std::hint::black_box(vec![0_u8; KEPT]));
    let Some(row) = headroom::catalog::model("llama3-70b") else { return };
    let job =
        support::training_job(&row.config, support::layout(8, 4, 16, support::zero1()), |_| {});
    criterion
        .bench_function("estimate", |bench| bench.iter(|| estimate(std::hint::black_box(&job))));
    let megatron =
        support::training_job(&row.config, support::layout(8, 4, 16, support::zero1()), |run| {
            run.stack = support::megatron();
        });
    criterion.bench_function("estimate, Megatron-LM", |bench| {
        bench.iter(|| estimate(std::hint::black_box(&megatron)));
    });
    times(criterion, &megatron);
    serving(criterion, &row.config);
    criterion.bench_function("both curves", |bench| {
        bench.iter(|| {
            (
                curve_seq(&Lengths::of(std::hint::black_box(&job)), None, 120, true),
                curve_gpus(std::hint::black_box(&job)),
            )
        });
    });
}

/// Serving: in 16 bits, in a mix of GGUF types with a rule of vLLM, and the answers beside it.
fn serving(criterion: &mut Criterion, model: &headroom::config::ModelConfig) {
    let layout = support::layout(8, 1, 1, DataSharding::NOTHING);
    let plain = support::serving_job(model, layout, |_| {});
    criterion.bench_function("estimate, serving", |bench| {
        bench.iter(|| estimate(std::hint::black_box(&plain)));
    });
    let mixed = support::serving_job(model, layout, |run| {
        (run.quantization, run.engine, run.concurrent_sequences) =
            (WeightFormat::Q4KM, support::engine("vllm", 0.9), 16);
    });
    criterion.bench_function("estimate, serving a mix", |bench| {
        bench.iter(|| estimate(std::hint::black_box(&mixed)));
    });
    served(criterion, &mixed);
    criterion.bench_function("answers, serving", |bench| {
        bench.iter(|| {
            headroom::planner::serving(
                &mixed,
                &headroom::planner::inverse(&Lengths::of(std::hint::black_box(&mixed))),
            )
        });
    });
}

/// The job on GPUs whose speed is known.
fn on_h100(job: &headroom::config::Job) -> Option<headroom::config::Job> {
    let row = headroom::catalog::accelerator("h100-80")?;
    let mut cluster = job.cluster().clone();
    (cluster.accelerator, cluster.speed) =
        (row.accelerator.clone(), headroom::catalog::speed(row.id));
    headroom::config::Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster).ok()
}

/// Times of a serving job (bar: 50 µs with its estimate), and 1,000 requests of a closed loop (bar:
/// 20 ms).
fn served(criterion: &mut Criterion, job: &headroom::config::Job) {
    let Some(job) = on_h100(job) else { return };
    let Some(pace) = Pace::of(&job) else { return };
    criterion.bench_function("serving times", |bench| {
        bench.iter(|| headroom::estimator::time::serving(std::hint::black_box(&job)));
    });
    let traffic = Traffic {
        requests: 1000,
        at_once: Some(64),
        prompt: [500, 1500],
        output: [100, 300],
        room: None,
        seed: 1,
    };
    criterion.bench_function("1,000 requests of serving", |bench| {
        bench.iter(|| pace.serve(std::hint::black_box(&traffic)));
    });
}

/// The time of a step: of a job, of its layers alone, and of a layout whose layers are known (bar:
/// 100 ns).
fn times(criterion: &mut Criterion, job: &headroom::config::Job) {
    let Some(job) = on_h100(job) else { return };
    let (Some(times), Some(numbers)) = (block_times(&job), spread(&job)) else { return };
    criterion.bench_function("step", |bench| bench.iter(|| step(std::hint::black_box(&job))));
    criterion.bench_function("block_times", |bench| {
        bench.iter(|| block_times(std::hint::black_box(&job)));
    });
    criterion.bench_function("StepTime::seconds", |bench| {
        bench.iter(|| {
            StepTime::seconds(std::hint::black_box(&times), std::hint::black_box(&numbers))
        });
    });
    criterion.bench_function("StepTime::assemble", |bench| {
        bench.iter(|| {
            StepTime::assemble(std::hint::black_box(&times), std::hint::black_box(&numbers)).total()
        });
    });
}

criterion_group!(all, benches);
criterion_main!(all);
