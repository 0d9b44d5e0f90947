//! Runs every worked example of the five documents through the method functions.
//!
//! A row with the verdict "reproduces" must give the stated value at its printed precision. Every
//! row must give its exact value, to the byte where it states bytes. Rows that are not run are
//! listed in [`NOT_RUN`] with the reason.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod worked;

use std::collections::BTreeMap;

use worked::{Rows, capacity_planning, distributed_overview, eleuther, ju_2026, solenya};

/// Rows that no formula gives, each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("el-tflops-neox", "a measured rate of GPT-NeoX on A100"),
    ("el-tflops-neox-flash", "a measured rate of GPT-NeoX with FlashAttention on A100"),
    ("el-tflops-megatron-low", "a measured rate of Megatron-DeepSpeed on A100, low end"),
    ("el-tflops-megatron-high", "a measured rate of Megatron-DeepSpeed on A100, high end"),
    ("el-tflops-rule", "a rule of thumb for the rate of an A100"),
    ("el-tflops-alarm", "a threshold from experience"),
    ("cp-dgx-price", "a price"),
    ("cp-optimizer-spike", "an observed range, no formula"),
    ("cp-buffer-20", "a recommended margin, no formula"),
    ("do-cuda-context", "an observed range, no formula"),
    ("do-full-overhead-low", "measured wall-clock time"),
    ("do-full-overhead-high", "measured wall-clock time"),
    ("so-adafactor", "a rule of thumb that depends on the matrix shapes"),
    ("so-cuda-kernels", "an observed range, no formula"),
];

#[test]
fn every_worked_example_runs_or_says_why_not() {
    let rows = Rows::load();
    let not_run: BTreeMap<&str, &str> = NOT_RUN.iter().copied().collect();
    let mut classes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    for row in rows.all() {
        let computed = match row.method() {
            "ju-2026" => ju_2026::compute(row, &rows),
            "eleuther-transformer-math" => eleuther::compute(row, &rows),
            "capacity-planning" => capacity_planning::compute(row, &rows),
            "distributed-overview" => distributed_overview::compute(row, &rows),
            "solenya" => solenya::compute(row, &rows),
            other => panic!("{}: unknown method {other}", row.id()),
        };
        let class = classes.entry(row.verdict_class()).or_default();
        match (computed, not_run.get(row.id())) {
            (Some(_), Some(_)) => {
                failures.push(format!("{}: is computed and listed as not run", row.id()));
            }
            (None, None) => {
                failures.push(format!("{}: neither computed nor listed as not run", row.id()));
            }
            (None, Some(_)) => {
                class.1 += 1;
                if !row.verdict_class().starts_with("not computable") {
                    failures
                        .push(format!("{}: not run although its verdict is computable", row.id()));
                }
            }
            (Some(value), None) => {
                class.0 += 1;
                failures.extend(row.check(value));
            }
        }
    }
    for id in not_run.keys() {
        if rows.find(id).is_none() {
            failures.push(format!("{id}: listed as not run, but there is no such row"));
        }
    }
    for (class, (run, skipped)) in &classes {
        println!("{run:4} run, {skipped:3} not run: {class}");
    }
    let (run, skipped) =
        classes.values().fold((0, 0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
    println!("{run:4} run, {skipped:3} not run: all {} rows", rows.all().count());
    assert!(failures.is_empty(), "{} rows fail:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(run + skipped, 323);
}
