//! torchtitan's products in float8, against rows of PyTorch's own allocator on a pretended GPU
//! (`tests/data/cuda/float8.jsonl`).
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{
    DataSharding, Float8, Float8Recipe, Job, Narrow, OptimizerImplementation, ParallelLayout,
    ProductFormat, Recompute, Stack, TrainingRun,
};
use headroom::estimator::{Blocker, blockers, device_memory};
use headroom::scenario::codec::decode;
use serde_json::Value;

use super::frameworks::job;
use crate::support;

/// The rows of small models. Rows on a card of a size of its own are left to the accuracy tool.
fn rows() -> Vec<Value> {
    let lines = include_str!("../../data/cuda/float8.jsonl").lines();
    let rows = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.filter(|row| row["run"]["gpu_total_bytes"] == 0).collect()
}

/// The job of a row, changed by `edit`.
fn of(row: &Value, edit: impl FnOnce(&mut TrainingRun, &mut ParallelLayout)) -> Job {
    let flag = |name: &str| row["flags"][name].as_bool().unwrap_or(false);
    job(row, "fsdp", |run, layout| {
        run.stack =
            Stack::named(&row["framework"].as_str().expect("a framework").replace('_', "-"))
                .expect("a stack");
        run.optimizer_implementation = OptimizerImplementation::Fused;
        run.compile = flag("compile");
        let recipe = match row["flags"]["float8"].as_str() {
            Some("tensorwise") => Float8Recipe::Tensorwise,
            Some("rowwise") => Float8Recipe::Rowwise,
            Some("rowwise_with_gw_hp") => Float8Recipe::RowwiseWithGwHp,
            _ => Float8Recipe::None,
        };
        run.float8 = Float8 { recipe, gathers: flag("fsdp_float8_all_gather") };
        edit(run, layout);
    })
}

fn as_it_is(_: &mut TrainingRun, _: &mut ParallelLayout) {}

/// Relative errors of our allocated and reserved memory against the row's measurements.
fn errors(row: &Value) -> [f64; 2] {
    let memory = device_memory(&of(row, as_it_is)).expect("a known order");
    [("peak_allocated", memory.allocated.0), ("peak_reserved", memory.reserved.0)].map(
        |(figure, ours)| {
            let measured = row["measured"][figure].as_f64().expect("a figure");
            (support::float(ours) - measured).abs() / measured
        },
    )
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

/// The rows that the engine does not refuse; all of them are compared.
fn expressed() -> Vec<Value> {
    let rows: Vec<_> =
        rows().into_iter().filter(|row| blockers(&of(row, as_it_is)).is_empty()).collect();
    assert!(rows.len() >= 20, "{} rows", rows.len());
    rows
}

/// Without a compiler each cast runs as a few operators whose tensors are all known, so the bound
/// is tight.
#[test]
fn casts_operator_by_operator_take_what_pytorch_measured() {
    let mut compared = 0;
    for row in expressed().iter().filter(|row| row["flags"]["compile"] != true) {
        let [allocated, reserved] = errors(row);
        assert!(allocated <= 0.001 && reserved <= 0.05, "{}: {allocated} {reserved}", row["id"]);
        compared += 1;
    }
    assert!(compared > 0, "no row without a compiler is expressed");
}

/// Compiled blocks save the sources of casts in place of the casts, and never write gradients that
/// only casts read.
#[test]
fn compiled_casts_take_about_what_pytorch_measured() {
    let errors: Vec<_> = expressed().iter().map(errors).collect();
    for (figure, bars) in [(0, [0.005, 0.06]), (1, [0.02, 0.2])] {
        let of_figure: Vec<f64> = errors.iter().map(|row| row[figure]).collect();
        let largest = of_figure.iter().copied().fold(0.0, f64::max);
        let median = median(of_figure);
        assert!(
            median <= bars[0] && largest <= bars[1],
            "{figure}: median {median}, largest {largest}"
        );
    }
}

/// The row of that framework with that recomputation and exactly those flags.
fn row_of(framework: &str, recompute: &str, flags: &[&str]) -> Value {
    let has =
        |row: &Value, flag: &str| row["flags"][flag] == true || row["flags"]["float8"] == flag;
    let asked =
        ["compile", "fsdp_float8_all_gather", "tensorwise", "rowwise", "rowwise_with_gw_hp"];
    let found = rows().into_iter().find(|row| {
        row["framework"] == framework
            && row["run"]["recompute"] == recompute
            && asked.iter().all(|flag| has(row, flag) == flags.contains(flag))
    });
    found.expect("the row is there")
}

/// Compiled blocks save the casts' sources in place of the products' inputs, so that float8 takes
/// less memory. A recipe whose weight gradients are computed in 16 bits reads these inputs, so they
/// are saved again.
#[test]
fn a_compiler_keeps_no_input_that_is_only_cast() {
    let row = row_of("torchtitan_2025", "none", &["compile", "tensorwise"]);
    let allocated = |recipe: Float8Recipe| {
        let job = of(&row, |run, _| run.float8.recipe = recipe);
        device_memory(&job).expect("a known order").allocated.0
    };
    assert!(allocated(Float8Recipe::Tensorwise) < allocated(Float8Recipe::RowwiseWithGwHp));
    assert!(allocated(Float8Recipe::Tensorwise) < allocated(Float8Recipe::None));
}

/// Weights gathered in float8 are half as large. This applies only to recipes with one scale for a
/// whole tensor, and only where weights are gathered at all.
#[test]
fn weights_gathered_in_float8_are_half_as_large() {
    let row = row_of("torchtitan_2025", "none", &["tensorwise", "fsdp_float8_all_gather"]);
    let allocated = |edit: &dyn Fn(&mut TrainingRun, &mut ParallelLayout)| {
        device_memory(&of(&row, |run, layout| edit(run, layout)))
            .expect("a known order")
            .allocated
            .0
    };
    let gathers = |gathers: bool| {
        move |run: &mut TrainingRun, _: &mut ParallelLayout| run.float8.gathers = gathers
    };
    assert!(allocated(&gathers(true)) < allocated(&gathers(false)));
    let rowwise = |gathers: bool| {
        move |run: &mut TrainingRun, _: &mut ParallelLayout| {
            run.float8 = Float8 { recipe: Float8Recipe::Rowwise, gathers }
        }
    };
    assert_eq!(allocated(&rowwise(true)), allocated(&rowwise(false)));
    let replicated = |gathers: bool| {
        move |run: &mut TrainingRun, layout: &mut ParallelLayout| {
            (run.float8.gathers, layout.sharding) =
                (gathers, DataSharding::named("none").expect("a sharding"));
        }
    };
    assert_eq!(allocated(&replicated(true)), allocated(&replicated(false)));
}

/// The output head stays in 16 bits, and so do layers whose sizes are not multiples of 16.
#[test]
fn other_layers_stay_as_they_are() {
    let casts = Float8 { recipe: Float8Recipe::Rowwise, gathers: false };
    assert!(casts.casts(4096, 14_336) && !casts.casts(4096, 14_344) && !casts.casts(4088, 14_336));
    assert!(!Float8::OFF.casts(4096, 14_336));
    let uneven =
        rows().into_iter().find(|row| row["config"]["intermediate_size"] == 3400).expect("a row");
    let [allocated, _] = errors(&uneven);
    assert!(allocated <= 0.0005, "{allocated}");
}

/// Settings that nobody has compared with PyTorch are refused in one sentence.
#[test]
fn other_stacks_and_recipes_are_refused() {
    let row = row_of("torchtitan", "none", &["rowwise"]);
    let refused = |edit: &dyn Fn(&mut TrainingRun)| match blockers(&of(&row, |run, _| edit(run)))
        .as_slice()
    {
        [] => String::new(),
        [Blocker::Framework(rule)] => rule.says.to_owned(),
        several => format!("{several:?}"),
    };
    assert_eq!(refused(&|_| ()), "");
    assert!(
        refused(&|run| run.float8.recipe = Float8Recipe::Tensorwise)
            .contains("rowwise and rowwise_with_gw_hp alone")
    );
    assert!(refused(&|run| run.stack = support::eager()).contains("as torchtitan runs them"));
    let gathered = |run: &mut TrainingRun| {
        run.stack = Stack::named("torchtitan-2025").expect("a stack");
        (run.compile, run.float8) =
            (true, Float8 { recipe: Float8Recipe::Tensorwise, gathers: true });
    };
    assert!(refused(&gathered).contains("gathered in float8"));
    assert_eq!(refused(&|run| (gathered(run), run.recompute = Recompute::Full).0), "");
}

/// A link carries float8 in two inputs, and the rate of matrix products follows from them.
#[test]
fn links_say_float8() {
    let run = |more: &str| {
        let decoded = decode(&format!("v1&m=llama3-8b&ker=torchtitan-2025{more}"));
        decoded.scenario.resolve().expect("a job").training().expect("a training").clone()
    };
    let with = run("&fle=tensorwise&fleg=1");
    assert_eq!(with.float8, Float8 { recipe: Float8Recipe::Tensorwise, gathers: true });
    assert_eq!(with.products, ProductFormat::Narrow(Narrow::Fp8));
    assert_eq!((run("").float8, run("").products), (Float8::OFF, ProductFormat::Activations));
}
