//! How long one estimate takes (bar: 50 µs in the median), and both curves of the page.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

#[path = "../tests/support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use headroom::config::{DataSharding, Kernels};
use headroom::estimator::{Flights, Lengths, RankSizes, estimate};
use headroom::planner::{curve_gpus, curve_seq};

fn benches(criterion: &mut Criterion) {
    let Some(row) = headroom::catalog::model("llama3-70b") else { return };
    let job = support::training_job(&row.config, support::layout(8, 4, 16, DataSharding::Zero1), |_| {});
    criterion.bench_function("estimate", |bench| bench.iter(|| estimate(std::hint::black_box(&job))));
    let megatron = support::training_job(&row.config, support::layout(8, 4, 16, DataSharding::Zero1), |run| {
        run.kernels = Kernels::Megatron;
    });
    criterion.bench_function("estimate, Megatron-LM", |bench| bench.iter(|| estimate(std::hint::black_box(&megatron))));
    if let Some(sizes) = RankSizes::of(&megatron) {
        let (layout, pipeline) = (*megatron.layout(), megatron.pipeline());
        let stages: Vec<_> =
            sizes.stages(&layout).into_iter().map(|(rank, stage)| (stage, Flights::of(&pipeline, rank))).collect();
        criterion.bench_function("one layout of many, Megatron-LM", |bench| {
            bench.iter(|| {
                let layout = std::hint::black_box(&layout);
                stages.iter().map(|(stage, flights)| sizes.memory(layout, stage, flights)).max()
            });
        });
        criterion.bench_function("sizes of a pipeline's stages, Megatron-LM", |bench| {
            bench.iter(|| sizes.stages(std::hint::black_box(&layout)));
        });
    }
    criterion.bench_function("both curves", |bench| {
        bench.iter(|| {
            (curve_seq(&Lengths::of(std::hint::black_box(&job)), None, 120, true), curve_gpus(std::hint::black_box(&job)))
        });
    });
}

criterion_group!(all, benches);
criterion_main!(all);
