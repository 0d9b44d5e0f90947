//! How many layouts a second the search looks at (bar: 1,000,000 on one core), and how long it takes for published trainings.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

#[path = "../tests/support/mod.rs"]
mod support;

#[path = "../tests/support/published.rs"]
mod published;

use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use headroom::planner::search::{Roofline, Search, Space};

fn benches(criterion: &mut Criterion) {
    for training in published::trainings() {
        let job = training.job();
        let space = Space::at(&job, &[training.gpus]);
        let mut search = Search::new(&job, space.clone(), Roofline::of(&job));
        if let Some(layout) = &training.layout {
            search.watch(layout);
        }
        let begin = Instant::now();
        let answer = search.finish();
        let seconds = begin.elapsed().as_secs_f64();
        println!("\n{}: {} layouts in {seconds:.3} s, {} legal, {} fit", training.name, answer.considered(), answer.legal(), answer.fitting());
        println!("  {} operation lists; {:.0} legal layouts/s", search.layouts().frames(), support::float(answer.legal()) / seconds);
        for why in answer.why_not.iter().take(6) {
            println!("  {} x {:?}", why.count, why.reason);
        }
        for watched in &answer.watched {
            println!("  published: {:?}", watched);
        }
        criterion.bench_function(&format!("search, {}", training.name), |bench| {
            bench.iter(|| Search::new(&job, space.clone(), Roofline::of(&job)).finish());
        });
    }
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(10);
    targets = benches
}
criterion_main!(all);
