//! Serving times: compared with measured operations of a card that the rate tables do not contain,
//! and with how they must change with the inputs.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::fs;

use headroom::config::{CacheFormat, Cluster, Engine, Job, ServingRun, WeightFormat};
use headroom::estimator::time::{Pace, Traffic};
use headroom::hardware::kernels::{H100, Multiplied};
use headroom::units::to_f64;
use proptest::prelude::*;
use serde_json::Value;

use crate::support;

/// Bandwidth and dense 16-bit peak of the H200's datasheet.
const H200: (f64, f64) = (4.8e12, 989e12);

fn job(id: &str, gpu: &str, t: u64, edit: impl FnOnce(&mut ServingRun)) -> Job {
    let layout = support::layout(t, 1, 1, headroom::config::DataSharding::NOTHING);
    let model = &headroom::catalog::model(id).expect("in the catalog").config;
    let job = support::serving_job(model, layout, edit);
    let row = headroom::catalog::accelerator(gpu).expect("in the catalog");
    let cluster = Cluster {
        accelerator: row.accelerator.clone(),
        speed: headroom::catalog::speed(row.id),
        ..job.cluster().clone()
    };
    Job::new(job.model().clone(), job.run().clone(), layout, cluster).expect("a valid job")
}

fn pace(id: &str, gpu: &str, t: u64, edit: impl FnOnce(&mut ServingRun)) -> Pace {
    Pace::of(&job(id, gpu, t, edit)).expect("known rates")
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().expect("some rows")
}

/// Efficiencies that were fitted to an H100 predict an H200's products and attention, which other
/// people measured in another way.
#[test]
fn shares_of_one_card_tell_the_next() {
    let text = fs::read_to_string("tests/data/rates/h200.jsonl").expect("the rows");
    let rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let number = |row: &Value, key: &str| row.get(key).and_then(Value::as_f64).expect("a number");
    let of = |kind: &'static str| {
        let is = move |row: &&Value| {
            ["kind", "format"].map(|key| row.get(key).and_then(Value::as_str))
                == [Some(kind), Some("bf16")]
        };
        rows.iter().filter(is)
    };
    let product = H100.product(Multiplied::Wide).0.on(H200.0, H200.1);
    let errors = of("product").map(|row| {
        let (m, n, k) = (number(row, "m"), number(row, "n"), number(row, "k"));
        let ours = product.seconds(2.0 * (n * k + m * k + m * n), 2.0 * m.max(64.0) * n * k);
        (ours / number(row, "seconds") - 1.0).abs()
    });
    assert!(median(errors.collect()) < 0.12);
    let decode = H100.decode(false).on(H200.0, H200.1);
    let errors = of("decode_attention").map(|row| {
        let flops = 4.0
            * number(row, "batch")
            * number(row, "length")
            * number(row, "heads")
            * number(row, "width");
        (decode.seconds(number(row, "bytes"), flops) / number(row, "seconds") - 1.0).abs()
    });
    assert!(median(errors.collect()) < 0.12);
}

const MODELS: [&str; 5] = ["llama3-8b", "llama3-70b", "mixtral-8x7b", "deepseek-v3", "gemma3-27b"];
const GPUS: [&str; 5] = ["h100-80", "a100-80", "b200", "l40s", "mi300x"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// More bandwidth, fewer bits or a shorter context never make a step slower, and no step takes
    /// less time than reading its weights.
    #[test]
    fn steps_move_as_they_must(model in 0..5_usize, gpu in 0..5_usize, batch in 1_u64..600, context in 64_u64..30_000) {
        let (model, gpu) = (MODELS[model], GPUS[gpu]);
        let at = |tokens: u64| move |run: &mut ServingRun| run.context_length = tokens;
        let own = pace(model, gpu, 8, at(context));
        let step = own.decode(batch).0;
        prop_assert!(pace(model, gpu, 8, at(2 * context)).decode(batch).0 > step);
        prop_assert!(own.decode(batch + 1).0 >= step && own.prefill(context + 1).0 >= own.prefill(context).0 * 0.999);
        let job = job(model, gpu, 8, at(context));
        let mut cluster = job.cluster().clone();
        cluster.accelerator.memory_bandwidth = cluster.accelerator.memory_bandwidth.map(|bandwidth| 1.5 * bandwidth);
        let faster = Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster).expect("a \
            job");
        prop_assert!(Pace::of(&faster).expect("known rates").decode(batch).0 <= step);
        let narrow = pace(model, gpu, 8, |run| (run.context_length, run.kv_cache_dtype) = (context.max(16_000), CacheFormat::Fp8));
        prop_assert!(narrow.decode(512).0 <= pace(model, gpu, 8, at(context.max(16_000))).decode(512).0);
    }
}

/// Decoding one sequence of a large model reads weights: more GPUs of a node and fewer bits make it
/// quicker.
#[test]
fn reading_weights_gets_quicker_with_gpus_and_fewer_bits() {
    for gpu in GPUS {
        let step = |t: u64, format: WeightFormat| {
            pace("llama3-70b", gpu, t, |run| run.quantization = format).decode(1).0
        };
        let steps = [1, 2, 4].map(|t| step(t, WeightFormat::Bf16));
        assert!(gpu == "l40s" || steps.is_sorted_by(|one, next| one > next), "{gpu} {steps:?}");
        let formats = [WeightFormat::Bf16, WeightFormat::Fp8Channel, WeightFormat::Awq]
            .map(|format| step(1, format));
        assert!(formats.is_sorted_by(|one, next| one > next), "{gpu} {formats:?}");
        let bandwidth = headroom::catalog::accelerator(gpu)
            .and_then(|row| row.accelerator.memory_bandwidth)
            .expect("known");
        assert!(steps[0] > 2.0 * 69.5e9 / bandwidth, "{gpu}: quicker than the roofline");
    }
}

fn vllm(run: &mut ServingRun) {
    (run.context_length, run.prefill_chunk_size) = (2048, 8192);
    run.engine = Engine::named("vllm", 0.9).expect("an engine");
}

fn traffic(requests: u64, at_once: Option<u64>) -> Traffic {
    Traffic { requests, at_once, prompt: [900, 1100], output: [100, 300], room: None, seed: 7 }
}

/// One request at a time takes the time of its prompt and of steps of one sequence. With more
/// requests at once each waits longer, and there are more tokens a second.
#[test]
fn a_closed_loop_lies_between_one_request_and_the_fluid_limit() {
    let pace = pace("llama3-8b", "h100-80", 1, vllm);
    let served =
        |at_once: u64| pace.serve(&traffic(10 * at_once, Some(at_once))).expect("a serving job");
    let one = served(1);
    assert!((one.per_token[0].0 / pace.decode_at(1, 1100.0).0 - 1.0).abs() < 0.02);
    assert!(
        one.first_token[0].0 > pace.prefill(900).0
            && one.first_token[0].0 < pace.prefill(1100).0 + 0.02
    );
    let found = [1, 4, 16, 64].map(served);
    assert!(found.is_sorted_by(|one, next| one.output_per_second < next.output_per_second));
    assert!(found.is_sorted_by(|one, next| one.per_token[0] < next.per_token[0]));
    // In the fluid limit every answer costs its prompt's products and its share of the steps that
    // its tokens are part of.
    let many = served(64);
    let steps = pace.decode_at(64, 1100.0).0;
    let fluid = 200.0 / (pace.prefill(1000).0 - 1.5e-3 + 200.0 * steps / 64.0);
    assert!(
        (many.output_per_second / fluid - 1.0).abs() < 0.15,
        "{} {fluid}",
        many.output_per_second
    );
    assert!(many.output_per_second < 64.0 / steps);
    assert_eq!(served(16), served(16), "the same numbers are drawn again");
}

/// Where Python launches every kernel of a step that reads a prompt, more GPUs make it no quicker
/// than that; a step that only decodes is one captured graph, up to the sizes of the release.
#[test]
fn kernels_of_no_captured_graph_are_launched_one_by_one() {
    let spec = Engine::named("vllm", 0.9).expect("an engine").spec();
    let on = |t: u64, day: &str| {
        Pace::by(&job("llama3-70b", "b200", t, vllm), spec.steps_on(day)).expect("known rates")
    };
    let launches = 80.0 * 9.0 * spec.steps.launch;
    let today = [1, 8].map(|t| on(t, "2026-01-01").prefill(600).0);
    assert!(today[1] > launches && today[1] < today[0], "{today:?}");
    // A prompt of few tokens is captured since version 1.
    let few = ["2025-01-01", "2026-01-01"].map(|day| on(8, day).prefill(500).0);
    assert!(few[0] > launches && few[1] < launches, "{few:?}");
    // The longest sequence that was captured, heeded, not heeded, and heeded again.
    let long = ["2024-06-11", "2024-11-06", "2025-01-01", "2026-01-01"]
        .map(|day| on(8, day).decode_at(1, 14_336.0).0);
    assert!(long[0] > launches && long[2] > launches, "{long:?}");
    assert!(long[1] < launches && long[3] < launches, "{long:?}");
}

/// Requests that find no room in the cache wait, and all of them are served in the end.
#[test]
fn a_small_cache_holds_requests_up() {
    let pace = pace("llama3-8b", "h100-80", 1, vllm);
    let with = |room: Option<u64>| {
        pace.serve(&Traffic { room, ..traffic(100, None) }).expect("a serving job")
    };
    let (free, tight) = (with(None), with(Some(5000)));
    assert!(tight.most_at_once <= 5 && free.most_at_once > 50, "{tight:?}");
    assert!(
        tight.output_per_second < free.output_per_second
            && tight.first_token[0] > free.first_token[0]
    );
    assert!(to_f64(100) / tight.seconds.0 > 0.0);
}

/// Pipeline stages work on different groups of requests at once: a step takes as long as without
/// stages, and one group for each stage gets a token in it.
#[test]
fn stages_serve_groups() {
    let of = |p: u64| {
        let layout = support::layout(1, p, 1, headroom::config::DataSharding::NOTHING);
        let job = job("llama3-8b", "h100-80", 1, vllm);
        let job = Job::new(job.model().clone(), job.run().clone(), layout, job.cluster().clone())
            .expect("a job");
        Pace::of(&job)
            .expect("known rates")
            .serve(&traffic(64 * p, Some(16 * p)))
            .expect("a serving job")
    };
    let (one, two) = (of(1), of(2));
    assert!((two.output_per_second / one.output_per_second - 2.0).abs() < 0.1, "{one:?} {two:?}");
}

/// llama.cpp on an H100: the release that a measurement names, and today's; vectors of few tokens,
/// and tiles of many.
#[test]
fn llama_cpp_is_as_quick_as_its_release() {
    let of = |gpu: &str| {
        job("llama3-8b", gpu, 1, |run| {
            (run.engine, run.quantization) =
                (Engine::named("llama-cpp", 1.0).expect("an engine"), WeightFormat::Q4KM);
            run.context_length = 512;
        })
    };
    let step = |gpu: &str, day: &str, tokens: u64| {
        let spec = Engine::named("llama-cpp", 1.0).expect("an engine").spec();
        Pace::by(&of(gpu), spec.steps_on(day)).expect("known rates").decode(tokens).0
    };
    assert!(step("h100-pcie", "2024-05-13", 1) > step("h100-pcie", "2024-12-01", 1) * 0.999);
    assert!(
        step("h100-pcie", "2024-05-13", 1) > step("h100-pcie", "2026-01-01", 1) + 0.6e-3,
        "the graph is built for each token"
    );
    // Where memory is slower than what multiprocessors ask for it alone counts.
    let bandwidth = headroom::catalog::accelerator("rtx4090")
        .and_then(|row| row.accelerator.memory_bandwidth)
        .expect("known");
    assert!(step("rtx4090", "2026-01-01", 1) > 4.6e9 / bandwidth);
    let steps: Vec<f64> = (1..20).map(|tokens| step("a100-80", "2026-01-01", tokens)).collect();
    assert!(steps.is_sorted(), "{steps:?}");
}
