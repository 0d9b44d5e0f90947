//! How many layouts a second the search looks at (bar: 1,000,000 on one core), and how long it
//! takes for published trainings.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

#[path = "../tests/it/support/mod.rs"]
mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use headroom::config::PipelineSchedule;
use headroom::planner::search::{Search, SearchAxis, Space};
use headroom::units::Bytes;
use support::published;

/// Seconds that this process has had a core, where the system (Linux) tells.
fn busy() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds: u64 = told.split(' ').next()?.parse().ok()?;
    Some(support::float(nanoseconds) / 1e9)
}

fn benches(criterion: &mut Criterion) {
    // As criterion itself does: only the benchmarks named on the command line.
    let asked = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let asked_for = |training: &published::Published| {
        asked.as_ref().is_none_or(|word| training.name.contains(word.as_str()))
    };
    for training in published::trainings().into_iter().filter(asked_for) {
        let job = training.job();
        let space = Space::at(&job, &[training.gpus]);
        let space = if training
            .layout
            .is_some_and(|layout| layout.layout.pipeline_schedule == PipelineSchedule::DualPipe)
        {
            space.with(SearchAxis::schedules())
        } else {
            space
        };
        let mut search = Search::new(&job, space.clone());
        if let Some(layout) = &training.layout {
            search.watch(layout);
        }
        let begin = busy();
        let answer = search.finish();
        let seconds = busy().zip(begin).map_or(f64::NAN, |(end, begin)| end - begin);
        println!(
            "\n{}: {} layouts in {seconds:.3} s, {} legal, {} fit",
            training.name,
            answer.considered(),
            answer.legal(),
            answer.fitting()
        );
        println!(
            "  {} operation lists; {:.0} legal layouts/s",
            search.layouts().frames(),
            support::float(answer.legal()) / seconds
        );
        for why in answer.why_not.iter().take(6) {
            println!("  {} x {:?}", why.count, why.reason);
        }
        for watched in &answer.watched {
            match &watched.outcome {
                Ok(found) => println!(
                    "  published layout: fits with {:.1} GiB; {} of the fitting have a shorter \
                     step, {} need less memory",
                    found.memory.as_f64() / support::float(Bytes::GIB),
                    watched.faster,
                    watched.leaner
                ),
                Err(why) => println!("  published layout: {:?}", why.reason),
            }
        }
        criterion.bench_function(&format!("search, {}", training.name), |bench| {
            bench.iter(|| Search::new(&job, space.clone()).finish());
        });
    }
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(10);
    targets = benches
}
criterion_main!(all);
