//! Serving: stored formats, figures that servers print, counts of requests and accelerators, and
//! speed.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    reason = "a failed expectation is a failed test; the same sums are compared"
)]

use crate::support;

use headroom::config::{
    CacheFormat, Cluster, Engine, Job, LengthMix, ModelConfig, ParallelLayout, Run, ServingRun,
    WeightFormat,
};
use headroom::estimator::time::{Bound, Pace, serving as times};
use headroom::estimator::{Estimate, KEPT_FREE, Lengths, MemoryKind, Verdict, estimate};
use headroom::planner::{
    Change, Limit, Serving, StatedLayout, UsersAnswer, curve_batch, curve_gpus, curve_requests,
    fixes, fleet_of, gpu_count, inverse, more_requests, replicas_tried, requests_of_users,
    serving as planned, shown_load, smallest_replica, users_answer,
};
use headroom::scenario::Word;
use headroom::units::{Bytes, DType, Elements, MemoryUnit};
use proptest::prelude::*;
use support::engine;

fn model(id: &str) -> ModelConfig {
    headroom::catalog::model(id).expect("in the catalog").config.clone()
}

/// A serving job of a catalog model on H100s, changed by `edit`.
fn job(id: &str, layout: ParallelLayout, edit: impl FnOnce(&mut ServingRun)) -> Job {
    let job = support::serving_job(&model(id), layout, edit);
    let row = headroom::catalog::accelerator("h100-80").expect("in the catalog");
    let cluster = Cluster {
        accelerator: row.accelerator.clone(),
        speed: headroom::catalog::speed(row.id),
        ..job.cluster().clone()
    };
    Job::new(job.model().clone(), job.run().clone(), layout, cluster).expect("a valid job")
}

fn tensor(t: u64) -> ParallelLayout {
    support::layout(t, 1, 1, headroom::config::DataSharding::NOTHING)
}

fn of(id: &str, layout: ParallelLayout, edit: impl FnOnce(&mut ServingRun)) -> Estimate {
    estimate(&job(id, layout, edit))
}

fn weights(id: &str, format: WeightFormat) -> u64 {
    of(id, ParallelLayout::SINGLE, |run| run.quantization = format)
        .ledger
        .of(MemoryKind::Parameter)
        .0
}

fn answers(job: &Job) -> Serving {
    planned(job, &inverse(&Lengths::of(job))).expect("a serving job")
}

/// Parameters of Llama 3 8B: all, embedding and head, norms, and rows of all linear layers.
const LLAMA: [u64; 4] = [
    8_030_261_248,
    2 * 128_256 * 4096,
    65 * 4096,
    32 * (4096 + 2 * 1024 + 4096 + 2 * 14_336 + 4096),
];

#[test]
fn formats_store_scales_beside_linear_layers_and_leave_the_ends_alone() {
    let [all, ends, norms, rows] = LLAMA;
    let linear = all - ends - norms;
    let kept = 2 * (ends + norms);
    let groups = linear / 128;
    assert_eq!(
        weights("llama3-8b", WeightFormat::Awq),
        linear / 2 + groups * 2 + groups / 2 + kept
    );
    assert_eq!(weights("llama3-8b", WeightFormat::Gptq), weights("llama3-8b", WeightFormat::Awq));
    assert_eq!(weights("llama3-8b", WeightFormat::Nf4), linear / 2 + linear / 64 * 4 + kept);
    assert_eq!(
        weights("llama3-8b", WeightFormat::Nf4Double),
        linear / 2 + linear / 64 + linear / 16_384 * 4 + kept
    );
    assert_eq!(weights("llama3-8b", WeightFormat::Fp8Channel), linear + 4 * rows + kept);
    assert_eq!(weights("llama3-8b", WeightFormat::Int8Channel), linear + 4 * rows + kept);
    assert_eq!(weights("llama3-8b", WeightFormat::Fp8Tensor), linear + 4 * 7 * 32 + kept);
    assert_eq!(
        weights("llama3-8b", WeightFormat::Fp8Block),
        linear + linear / 128 / 128 * 4 + kept
    );
    assert_eq!(weights("llama3-8b", WeightFormat::Mxfp4), linear / 2 + linear / 32 + kept);
    assert_eq!(
        weights("llama3-8b", WeightFormat::Nvfp4),
        linear / 2 + linear / 16 + 4 * 7 * 32 + kept
    );
    let other = of("llama3-8b", ParallelLayout::SINGLE, |run| {
        (run.quantization, run.group_size) = (WeightFormat::Gptq, 32);
    });
    assert_eq!(other.ledger.of(MemoryKind::Parameter).0, linear / 2 + linear / 32 * 5 / 2 + kept);
}

/// gpt-oss stores its experts alone in MXFP4; published: 12.8 and 60.8 GiB of weights.
#[test]
fn experts_in_four_bits() {
    for (id, gib) in [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)] {
        let ours = Bytes(weights(id, WeightFormat::Mxfp4)).as_f64() / 1_073_741_824.0;
        assert!((ours / gib - 1.0).abs() < 0.005, "{id}: {ours}");
    }
}

#[test]
fn every_format_is_smaller_than_the_one_before_it_in_bits() {
    for (format, word) in WeightFormat::WORDS {
        let stored = weights("llama3-8b", *format);
        let payload = Elements(LLAMA[0] - LLAMA[1]).stored_as(format.dtype()).0;
        assert!(
            stored >= payload.saturating_sub(payload / 50) && stored <= 4 * LLAMA[0],
            "{word}: {stored}"
        );
        assert_eq!(
            format.is_plain(),
            Elements(LLAMA[0]).stored_as(format.dtype()).0 == stored,
            "{word}"
        );
    }
}

/// Ranks share rows and groups of scales: together they hold the whole, plus the parts that every
/// rank keeps.
#[test]
fn ranks_share_scales_as_they_share_weights() {
    for format in
        [WeightFormat::Awq, WeightFormat::Q4KM, WeightFormat::Fp8Channel, WeightFormat::Nf4]
    {
        let whole = weights("llama3-8b", format);
        for t in [2, 4, 8] {
            let rank = of("llama3-8b", tensor(t), |run| run.quantization = format)
                .ledger
                .of(MemoryKind::Parameter)
                .0;
            let norms = LLAMA[2] * 4;
            assert!(
                rank * t >= whole && (rank - norms) * t <= whole + whole / 1000,
                "{format:?} on {t}: {rank} of {whole}"
            );
        }
    }
}

#[test]
fn the_cache_in_every_format() {
    let cache = |format| {
        of("llama3-8b", ParallelLayout::SINGLE, |run| run.kv_cache_dtype = format)
            .kv_cache_per_token
            .expect("a cache")
            .0
    };
    // 32 layers, keys and values, 8 heads of 128.
    let heads = 32 * 2 * 8;
    assert_eq!(cache(CacheFormat::Bf16), heads * 256);
    assert_eq!(cache(CacheFormat::Fp8), heads * 128);
    assert_eq!(cache(CacheFormat::Int8), heads * 128);
    assert_eq!(cache(CacheFormat::Int4), heads * (64 + 4));
    assert_eq!(cache(CacheFormat::Q8_0), heads * 4 * 34);
    assert_eq!(cache(CacheFormat::Q4_0), heads * 4 * 18);
    assert_eq!(CacheFormat::Q8_0.dtype(), DType::Int8);
}

#[test]
fn blocks_and_shared_prefixes_are_whole() {
    let cache = |edit: fn(&mut ServingRun)| {
        of("llama3-8b", ParallelLayout::SINGLE, |run| {
            (run.context_length, run.concurrent_sequences) = (1000, 10);
            edit(run);
        })
        .ledger
        .of(MemoryKind::KvCache)
        .0
    };
    let token = 131_072;
    assert_eq!(cache(|_| ()), 10 * 1000 * token);
    assert_eq!(cache(|run| run.block_size = Some(16)), 10 * 1008 * token);
    assert_eq!(cache(|run| run.engine = engine("vllm", 0.9)), 10 * 1008 * token);
    assert_eq!(cache(|run| run.shared_prefix = 600), (600 + 10 * 400) * token);
    assert_eq!(
        cache(|run| (run.shared_prefix, run.block_size) = (600, Some(16))),
        (592 + 10 * 416) * token
    );
    // The last token of a sequence is never shared, even where the shared prefix is longer than the
    // sequence.
    assert_eq!(cache(|run| run.shared_prefix = 5000), (999 + 10) * token);
}

/// Meta-Llama-3-8B on 79.22 GiB (vLLM's pull request 10511): 71.29 GiB to use, of which 1.79 lie
/// outside PyTorch.
#[test]
fn vllm_leaves_its_share_free_and_counts_blocks() {
    let gib = |gib: f64| Bytes(0) + Bytes((1u64 << 30) * 100).percent(gib);
    let mut edited = job("llama3-8b", ParallelLayout::SINGLE, |run| {
        (run.engine, run.concurrent_sequences, run.prefill_chunk_size) =
            (engine("vllm", 0.9), 256, 8192);
    });
    let mut cluster = edited.cluster().clone();
    cluster.accelerator.memory = gib(79.22);
    cluster.overheads.framework_context = gib(1.79);
    edited = Job::new(edited.model().clone(), edited.run().clone(), *edited.layout(), cluster)
        .expect("a valid job");
    let found = estimate(&edited);
    let free: u64 = found
        .ledger
        .lines
        .iter()
        .filter(|line| line.label == KEPT_FREE)
        .map(|line| line.bytes.0)
        .sum();
    assert!((Bytes(free).as_f64() / (0.1 * gib(79.22).as_f64()) - 1.0).abs() < 1e-6);
    assert!(!found.ledger.lines.iter().any(|line| line.label == "Fragmentation reserve"));
    let room = found.cache_room.expect("a cache");
    assert_eq!((room.block_size, room.tokens()), (16, room.blocks.map(|blocks| 16 * blocks)));
    assert_eq!(room.blocks, Some(room.bytes.0 / (16 * 131_072)));
    let blocks = u32::try_from(room.blocks.expect("alike layers")).expect("a small number");
    assert!((room.concurrency - f64::from(blocks) / 512.0).abs() < 1e-9);
    // vLLM printed 53.29 GiB of room for the cache.
    assert!((room.bytes.as_f64() / gib(53.29).as_f64() - 1.0).abs() < 0.03, "{room:?}");
}

/// Under each engine's rule, as many sequences fit as its concurrency says, up to the memory beside
/// the cache that grows with them.
#[test]
fn concurrency_is_what_fits() {
    for rule in [Engine::DEFAULT, engine("vllm", 0.9), engine("sglang", 0.88)] {
        for (id, t) in [("llama3-8b", 1), ("llama3-70b", 4), ("gemma2-9b", 1), ("deepseek-v3", 32)]
        {
            let job = job(id, tensor(t), |run| run.engine = rule);
            let room = estimate(&job).cache_room.expect("a cache");
            let found = answers(&job).at_once.map_or(0, |found| found.value);
            let found = f64::from(u32::try_from(found).expect("a small number"));
            assert!(
                (found - room.concurrency.floor()).abs() <= 1.0 + 0.04 * found,
                "{id} {rule:?}: {found}, {room:?}"
            );
        }
    }
}

/// Latent vectors have no heads, so every tensor rank holds all of them. Heads are copied where
/// there are more ranks than heads.
#[test]
fn what_tensor_ranks_cannot_share_out() {
    let cache = |id: &str, t| of(id, tensor(t), |_| ()).ledger.of(MemoryKind::KvCache);
    assert_eq!(cache("deepseek-v3", 8), cache("deepseek-v3", 1));
    assert_eq!(cache("llama3-8b", 8), cache("llama3-8b", 16));
    assert_eq!(cache("llama3-8b", 1), cache("llama3-8b", 8) * 8);
}

/// Layers with a window have cache blocks of another kind than the others. The answer then gives a
/// concurrency and no count of blocks.
#[test]
fn hybrid_layers_have_no_common_blocks() {
    let room = of("gemma2-9b", ParallelLayout::SINGLE, |run| run.context_length = 8192)
        .cache_room
        .expect("a cache");
    assert!(room.blocks.is_none() && room.concurrency > 1.0);
}

/// Walkthrough 5: a model of 70 billion parameters with 128k tokens. A 4-bit format just fits one
/// card, and the estimate has verified that fix.
#[test]
fn four_bits_fit_one_card() {
    let job = job("llama3-70b", ParallelLayout::SINGLE, |run| run.context_length = 131_072);
    let count = gpu_count(&job, MemoryUnit::Gib);
    assert_eq!(
        (count.arithmetic, count.runnable.as_ref().map(|found| found.gpus)),
        (Some(3), Some(4))
    );
    let found = fixes(&job, &estimate(&job), &count);
    let fix =
        found.iter().find(|fix| matches!(fix.change, Change::Quantization(_))).expect("a format");
    assert!(fix.fits && fix.title.contains("4 bit"), "{found:?}");
    let Change::Quantization(format) = fix.change else { return };
    let changed = job.with_run(|run| {
        if let Run::Serving(run) = run {
            run.quantization = format;
        }
    });
    assert!(matches!(estimate(&changed).verdict(), Verdict::Tight | Verdict::Fits));
}

#[test]
fn half_the_cache_is_twice_the_sequences() {
    let job = job("llama3-8b", ParallelLayout::SINGLE, |run| run.engine = engine("vllm", 0.9));
    let found = answers(&job);
    let now = found.at_once.expect("some fit").value;
    let more = more_requests(&job, &inverse(&Lengths::of(&job)));
    let fp8 = more
        .iter()
        .find(|more| matches!(more.change, Change::KvCacheDType(CacheFormat::Fp8)))
        .expect("offered");
    assert!((2 * now..=2 * now + 2).contains(&fp8.at_once), "{now}, {fp8:?}");
    assert_eq!(found.quantization, Some(WeightFormat::Bf16));
}

/// Only formats that the chosen server loads are offered.
#[test]
fn formats_are_those_of_the_server() {
    for rule in [engine("vllm", 0.9), engine("sglang", 0.88), engine("llama-cpp", 1.0)] {
        let own = rule.key == "llama-cpp";
        let job = job("llama3-70b", ParallelLayout::SINGLE, |run| run.engine = rule);
        let found = answers(&job);
        assert!(
            found.quantization.is_some_and(|format| format.is_gguf() == own),
            "{rule:?}: {found:?}"
        );
        let fixed = fixes(&job, &estimate(&job), &gpu_count(&job, MemoryUnit::Gib));
        let more = more_requests(&job, &inverse(&Lengths::of(&job)));
        let formats = more.iter().map(|more| more.change).chain(fixed.iter().map(|fix| fix.change));
        for change in formats {
            assert!(
                !matches!(change, Change::Quantization(format) if format.is_gguf() != own),
                "{rule:?}: {change:?}"
            );
        }
    }
}

#[test]
fn a_longest_context_ends_at_memory_or_at_the_model() {
    let of = |context| {
        answers(&job("llama3-8b", ParallelLayout::SINGLE, |run| run.context_length = context))
    };
    assert_eq!(
        of(8192).longest.map(|found| (found.value, found.limit)),
        Some((8192, Limit::Model))
    );
    let many = job("llama3-8b", ParallelLayout::SINGLE, |run| run.concurrent_sequences = 200);
    assert_eq!(answers(&many).longest.map(|found| found.limit), Some(Limit::Memory));
}

/// Document 2's startup: 1,000 users of 8,192 tokens. It finds 40 GPUs of 80 GB.
#[test]
fn a_thousand_users_of_the_startup() {
    let job = job("llama3-70b", tensor(8), |run| run.users = Some(1000));
    let fleet = answers(&job).users.expect("asked");
    let found = fleet.runnable.expect("it fits");
    assert_eq!(found.gpus, 40);
    assert!(
        found.users_each * found.count >= 1000
            && fleet.arithmetic.is_some_and(|least| (33..=40).contains(&least))
    );
}

#[test]
fn users_come_in_whole_instances_and_nodes() {
    for (users, mix) in
        [(1, None), (70, None), (1000, None), (1000, Some(LengthMix { mean: 1000, p95: 3000 }))]
    {
        let job = job("llama3-8b", ParallelLayout::SINGLE, |run| {
            (run.users, run.lengths) = (Some(users), mix);
        });
        let found = answers(&job);
        let fleet = found.users.expect("asked");
        let instances = fleet.runnable.expect("it fits");
        assert!(
            instances.count * instances.users_each >= users
                && instances.gpus >= instances.count * instances.layout.world_size()
        );
        assert!(instances.gpus <= 8 || instances.gpus.is_multiple_of(8));
        assert!(fleet.arithmetic.is_some_and(|least| least <= instances.gpus));
        assert_eq!(found.of_lengths.is_some(), mix.is_some());
    }
}

#[test]
fn sequences_as_long_as_the_context_are_no_mix() {
    let same = LengthMix { mean: 8192, p95: 8192 };
    let found = answers(&job("llama3-8b", ParallelLayout::SINGLE, |run| run.lengths = Some(same)));
    assert_eq!(found.of_lengths, found.at_once);
    let shorter = LengthMix { mean: 2000, p95: 6000 };
    let found =
        answers(&job("llama3-8b", ParallelLayout::SINGLE, |run| run.lengths = Some(shorter)));
    assert!(found.of_lengths.expect("some").value > 3 * found.at_once.expect("some").value);
}

#[test]
fn curves_pass_through_what_fits() {
    let job = job("llama3-8b", ParallelLayout::SINGLE, |run| run.engine = engine("vllm", 0.9));
    let largest = inverse(&Lengths::of(&job)).largest_batch;
    let memory = curve_requests(&job, largest, 40);
    let total = |by_kind: [Bytes; 7]| by_kind.into_iter().sum::<Bytes>();
    assert!(memory.windows(2).all(|pair| pair[0].sequences < pair[1].sequences
        && total(pair[0].by_kind) <= total(pair[1].by_kind)));
    let capacity = job.cluster().accelerator.memory;
    assert!(
        memory
            .iter()
            .all(|point| (total(point.by_kind) <= capacity) == (Some(point.sequences) <= largest))
    );
    let pace = curve_batch(&job, largest, 40);
    assert!(
        pace.windows(2).all(|pair| pair[0].decode.0 <= pair[1].decode.0
            && pair[0].per_sequence >= pair[1].per_sequence)
    );
    assert!(pace.iter().all(|point| point.fits == (Some(point.sequences) <= largest)));
    let present = pace.iter().find(|point| point.sequences == 1).expect("the present number");
    assert_eq!(times(&job).map(|time| time.tokens_per_second), Some(present.tokens_per_second));
    assert!(
        curve_requests(
            &support::training_job(&model("gpt2"), ParallelLayout::SINGLE, |_| ()),
            None,
            10
        )
        .is_empty()
    );
}

fn with_users(job: &Job) -> UsersAnswer {
    users_answer(job, fleet_of(job).as_ref()).expect("users are stated")
}

fn with_run(job: &Job, edit: impl FnOnce(&mut ServingRun)) -> Job {
    job.with_run(|run| {
        if let Run::Serving(run) = run {
            edit(run);
        }
    })
}

fn near(value: f64, wanted: f64) {
    assert!((value / wanted - 1.0).abs() < 1e-12, "{value}, not {wanted}");
}

/// A job at two dollars an hour for each accelerator.
fn at_two_dollars(job: &Job) -> Job {
    let mut cluster = job.cluster().clone();
    cluster.accelerator.price_per_hour = 2.0;
    Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster).expect("a valid job")
}

/// 100 users on three replicas are 34, 33 and 33 requests. The replica with 34 sets the pace of
/// all, and all three GPUs are paid for.
#[test]
fn a_load_is_as_fast_as_its_fullest_replica() {
    let three = support::layout(1, 1, 3, headroom::config::DataSharding::NOTHING);
    let job =
        job("llama3-8b", three, |run| (run.users, run.prompt_length) = (Some(100), Some(1000)));
    let job = at_two_dollars(&job);
    let own = with_users(&job).own;
    assert_eq!((own.replicas, own.each, own.gpus, own.users), (3, 34, 3, 100));
    // Of 79.6 GiB, 15 are weights; a request of 8,192 tokens takes one GiB of cache.
    assert!(own.carries() && (50..=64).contains(&own.room) && own.holds() == 3 * own.room);
    let (pace, found) = (Pace::of(&job).expect("known rates"), own.pace.expect("known rates"));
    near(found.decode.0, pace.decode(34).0);
    near(found.first_token.0, pace.prefill(1000).0);
    near(found.per_user, 1.0 / pace.decode(34).0);
    near(found.in_all, 100.0 / pace.decode(34).0);
    // Two dollars an hour for each of three GPUs.
    near(found.price_per_million, 3.0 * 2.0 / (found.in_all * 3600.0) * 1e6);
    assert_eq!((found.prompt, found.cached), (1000, 8192));
    // One user leaves two replicas idle, which are paid for all the same.
    let one = with_users(&with_run(&job, |run| run.users = Some(1))).own.pace.expect("known rates");
    near(one.in_all, 1.0 / pace.decode(1).0);
    near(one.price_per_million, 3.0 * 2.0 * pace.decode(1).0 / 3600.0 * 1e6);
}

/// With a stated mean length, requests take that length in the cache, so more of them fit.
#[test]
fn a_mean_length_is_what_the_cache_holds() {
    let with = |lengths| {
        job("llama3-8b", ParallelLayout::SINGLE, |run| {
            (run.users, run.lengths) = (Some(40), lengths);
        })
    };
    let (whole, mean) = (
        with_users(&with(None)).own,
        with_users(&with(Some(LengthMix { mean: 1000, p95: 3000 }))).own,
    );
    let (whole_pace, mean_pace) =
        (whole.pace.expect("known rates"), mean.pace.expect("known rates"));
    assert!(mean.room > 3 * whole.room && mean_pace.cached == 1000);
    assert!(
        mean_pace.per_user > whole_pace.per_user && mean_pace.first_token == whole_pace.first_token
    );
    let short =
        Pace::of(&job("llama3-8b", ParallelLayout::SINGLE, |run| run.context_length = 1000))
            .expect("known rates");
    near(mean_pace.decode.0, short.decode(40).0);
}

/// Without users, every replica runs the stated requests, so the load has the times of one replica.
#[test]
fn without_users_every_replica_runs_the_stated_requests() {
    let job = job(
        "llama3-8b",
        support::layout(2, 1, 4, headroom::config::DataSharding::NOTHING),
        |run| run.concurrent_sequences = 16,
    );
    let job = at_two_dollars(&job);
    let (load, times) =
        (shown_load(&job, None).expect("a load"), times(&job).expect("known rates"));
    let pace = load.pace.expect("known rates");
    assert_eq!((load.replicas, load.each, load.gpus, load.users), (4, 16, 8, 64));
    near(pace.in_all, 4.0 * times.tokens_per_second);
    near(pace.price_per_million, times.price_per_million);
    assert_eq!((pace.first_token, pace.decode), (times.first_token, times.decode));
    assert!(
        users_answer(&job, fleet_of(&job).as_ref()).is_none() && replicas_tried(&job).is_empty()
    );
    assert_eq!(requests_of_users(&job), None);
}

#[test]
fn users_without_room_have_no_fleet() {
    let edited =
        with_memory(&job("llama3-8b", ParallelLayout::SINGLE, |run| run.users = Some(5)), 1 << 20);
    let found = with_users(&edited);
    assert!(found.fewest.is_none() && found.own.room == 0 && !found.own.carries());
    let tried = replicas_tried(&edited);
    assert!(!tried.is_empty() && tried.iter().all(|tried| tried.outcome.is_err()));
}

#[test]
fn the_smallest_replica_agrees_with_what_is_stated() {
    let found = |job: &Job, stated| {
        smallest_replica(job, stated).map(|layout| (layout.t(), layout.p(), layout.d()))
    };
    let large = job("llama3-70b", ParallelLayout::SINGLE, |run| run.concurrent_sequences = 16);
    assert_eq!(found(&large, StatedLayout::default()), Some((4, 1, 1)));
    assert_eq!(
        found(&large, StatedLayout { gpus: Some(16), ..StatedLayout::default() }),
        Some((4, 1, 1))
    );
    assert_eq!(
        found(&large, StatedLayout { gpus: Some(2), ..StatedLayout::default() }),
        Some((2, 1, 1))
    );
    assert_eq!(
        found(&large, StatedLayout { tensor: Some(8), ..StatedLayout::default() }),
        Some((8, 1, 1))
    );
    assert_eq!(
        found(&large, StatedLayout { pipeline: Some(2), ..StatedLayout::default() }),
        Some((2, 2, 1))
    );
    // A tensor degree that does not divide the heads is accepted here; the estimate refuses it.
    assert_eq!(
        found(&large, StatedLayout { tensor: Some(3), ..StatedLayout::default() }),
        Some((3, 1, 1))
    );
    assert_eq!(
        found(&large, StatedLayout { gpus: Some(4), tensor: Some(3), pipeline: None }),
        None
    );
    let none = with_memory(&large, 1 << 20);
    assert_eq!(found(&none, StatedLayout::default()), Some((1, 1, 1)));
    assert_eq!(
        smallest_replica(
            &support::training_job(&model("gpt2"), ParallelLayout::SINGLE, |_| ()),
            StatedLayout::default()
        ),
        None
    );
}

fn with_memory(job: &Job, memory: u64) -> Job {
    let mut cluster = job.cluster().clone();
    cluster.accelerator.memory = Bytes(memory);
    Job::new(job.model().clone(), job.run().clone(), *job.layout(), cluster).expect("a valid job")
}

/// The curve by GPUs shows one replica: it begins with one GPU, and the scenario's point is at the
/// size of its replica.
#[test]
fn the_curve_by_gpus_begins_with_one() {
    for (t, d) in [(1, 8), (2, 4), (4, 1)] {
        let curve = curve_gpus(&job(
            "llama3-70b",
            support::layout(t, 1, d, headroom::config::DataSharding::NOTHING),
            |_| (),
        ));
        assert_eq!(
            (curve.points.first().map(|point| point.x), curve.current, curve.replicas),
            (Some(1), t, d)
        );
        assert!(curve.points.iter().any(|point| point.x == t) && curve.serves);
    }
}

/// One H100 reads the 15 GB of weights in 5.6 ms. With a short context, decoding is bound by
/// compute once its products take longer than that.
#[test]
fn decoding_turns_from_memory_to_compute() {
    let job = job("llama3-8b", ParallelLayout::SINGLE, |run| run.context_length = 16);
    let pace = Pace::of(&job).expect("a pace");
    let turns = pace.turns_at().expect("a number");
    assert!((200..320).contains(&turns), "{turns}");
    assert_eq!((pace.bound(1), pace.bound(2 * turns)), (Bound::Memory, Bound::Compute));
    let gain = |from: u64, to: u64| pace.decode(to).0 / pace.decode(from).0;
    assert!(gain(1, turns / 2) < 1.2 && gain(2 * turns, 4 * turns) > 1.7);
}

#[test]
fn a_prompt_takes_its_chunks_and_a_square_of_attention() {
    let pace =
        Pace::of(&job("llama3-8b", ParallelLayout::SINGLE, |run| run.context_length = 131_072))
            .expect("a pace");
    let [one, two, all] = [2048, 4096, 131_072].map(|tokens| pace.prefill(tokens).0);
    assert!(two > 2.0 * one && all > 64.0 * one && all < 64.0 * one * 4.0, "{one} {two} {all}");
}

/// Eight of 256 experts process one token, so a step of one sequence reads few of them and a step
/// of thousands reads nearly all.
#[test]
fn few_tokens_read_few_experts() {
    let pace =
        Pace::of(&job("deepseek-v3", tensor(8), |run| run.quantization = WeightFormat::Fp8Block))
            .expect("a pace");
    assert!(
        pace.decode(1).0 * 6.0 < pace.decode(512).0,
        "{} {}",
        pace.decode(1).0,
        pace.decode(512).0
    );
}

#[test]
fn whole_experts_are_dealt_out() {
    let of = |t, whole| {
        of("mixtral-8x7b", tensor(t), |run| run.expert_parallel = whole)
            .ledger
            .of(MemoryKind::Parameter)
    };
    assert_eq!(of(8, true), of(8, false));
    assert_eq!(of(1, true), of(1, false));
    // Sixteen ranks cannot hold half of one of eight experts each, so some hold more than their
    // share.
    assert!(of(16, true) > of(16, false));
}

/// DeepSeek-V3 on `t` tensor ranks; `whole`: each rank has whole experts, `sent`: tokens are sent
/// to the ranks of their experts.
fn dispatched(t: u64, whole: bool, sent: bool) -> Job {
    job("deepseek-v3", tensor(t), |run| {
        (run.quantization, run.expert_parallel, run.sends_tokens) =
            (WeightFormat::Fp8Block, whole, sent);
    })
}

#[test]
fn tokens_travel_to_whole_experts_and_back() {
    let messages = |t, whole, sent| times(&dispatched(t, whole, sent)).expect("a time").messages;
    // Whole experts without sent tokens change no message: every rank has all tokens, and the ranks
    // sum their experts' outputs.
    assert_eq!(messages(8, true, false), messages(8, false, false));
    assert_eq!(messages(8, false, true), messages(8, false, false));
    assert!(
        messages(8, true, false)
            .iter()
            .all(|messages| messages.experts.0 == 0.0 && messages.stages.0 == 0.0)
    );
    // In the 58 layers with experts, sending tokens replaces one of two all-reduces.
    let ([chunk, further], [before, _]) = (messages(8, true, true), messages(8, true, false));
    assert!(
        further.experts.0 > 0.0
            && chunk.experts.0 > further.experts.0
            && chunk.sums.0 < before.sums.0
    );
    // 2,048 tokens on 8 ranks are 256 tokens a rank. Each is sent to eight experts as 7,168 values
    // of 2 bytes; seven eighths leave the rank, over NVLink, there and back, in 58 layers.
    let bytes = 8.0 * 256.0 * 7168.0 * 2.0 * 7.0 / 8.0;
    let least = 58.0 * 2.0 * bytes / 450e9;
    assert!(
        chunk.experts.0 > least && chunk.experts.0 < 2.0 * least,
        "{} {least}",
        chunk.experts.0
    );
    // Between two nodes the network is slower than NVLink.
    assert!(messages(16, true, true)[0].experts.0 > chunk.experts.0);
    assert_eq!(messages(1, true, true)[0].total(), 0.0);
}

#[test]
fn messages_are_in_the_times() {
    let of = |sent| times(&dispatched(8, true, sent)).expect("a time");
    let (stay, travel) = (of(false), of(true));
    let further = travel.messages[1].total() - stay.messages[1].total();
    // Where tokens are sent, each rank holds the shared experts whole, and every step reads them.
    let read = travel.decode.0 - stay.decode.0 - further;
    assert!(read > 0.0 && further > 0.0, "{read} {further}");
    let weights =
        |sent| estimate(&dispatched(8, true, sent)).ledger.of(MemoryKind::Parameter).as_f64();
    let shared = 58.0 * 3.0 * 7168.0 * 2048.0 * 7.0 / 8.0;
    assert!(((weights(true) - weights(false)) / shared - 1.0).abs() < 0.01);
    // A model without experts sends no tokens, so the setting changes nothing.
    let dense = |sent| {
        times(&job("llama3-70b", tensor(8), |run| {
            (run.expert_parallel, run.sends_tokens) = (sent, sent);
        }))
    };
    assert_eq!(dense(true), dense(false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The answer's count of GPUs carries the users; one replica fewer does not.
    #[test]
    fn the_fewest_carry_the_users_and_one_replica_fewer_does_not(
        users in 1_u64..3000, context_length in 256_u64..100_000, mean in 1_u64..5000, mixed in any::<bool>(), rule in 0_usize..3,
        id in prop::sample::select(vec!["llama3-8b", "llama3-70b", "gemma2-9b", "deepseek-v3", "qwen2.5-14b"]),
        format in prop::sample::select(vec![WeightFormat::Bf16, WeightFormat::Fp8Channel]),
    ) {
        let rules = [Engine::DEFAULT, engine("vllm", 0.9), engine("sglang", 0.88)];
        let job = job(id, ParallelLayout::SINGLE, |run| {
            (run.users, run.context_length, run.quantization, run.engine) = (Some(users), context_length, format, rules[rule]);
            run.lengths = mixed.then_some(LengthMix { mean: mean.min(context_length), p95: (2 * mean).min(context_length) });
        });
        let Some(found) = with_users(&job).fewest else { return Ok(()) };
        prop_assert!(found.carries() && found.holds() >= users);
        prop_assert_eq!(found.each, users.div_ceil(found.replicas));
        prop_assert_eq!(found.gpus / found.layout.world_size(), found.replicas);
        // The scenario with that layout carries them, too.
        let data_parallel_size = found.replicas.try_into().expect("at least one");
        let taken = job.with_layout(ParallelLayout { data_parallel_size, ..found.layout });
        let own = with_users(&taken).own;
        prop_assert!(own.carries());
        prop_assert_eq!((own.room, own.each, own.replicas), (found.room, found.each, found.replicas));
        // Counts within a node go by replicas. Beyond one node they go by whole nodes, with all
        // replicas that fit on these.
        let node = job.cluster().accelerator.accelerators_per_node;
        let fewer = if found.gpus <= node { found.replicas - 1 } else { (found.gpus - node) / found.layout.world_size() };
        if let Ok(data_parallel_size) = fewer.try_into() {
            let short = with_users(&job.with_layout(ParallelLayout { data_parallel_size, ..found.layout })).own;
            prop_assert!(!short.carries(), "{:?}", short);
        }
        let requests = requests_of_users(&taken).expect("users are stated");
        prop_assert!(requests >= 1 && requests <= found.each);
        let filled = with_run(&taken, |run| run.concurrent_sequences = requests);
        prop_assert!(mixed || estimate(&filled).runs());
    }

    /// For every format, cache, engine and layout, parts add up, blocks fit into their room, and
    /// nothing panics.
    #[test]
    fn parts_add_up_and_blocks_fit(
        format in 0..WeightFormat::WORDS.len(), cache in 0..CacheFormat::WORDS.len(), rule in 0_usize..4, t in 0_u32..5, p in 0_u32..3,
        id in prop::sample::select(vec!["llama3-8b", "gemma2-9b", "deepseek-v3", "gpt-oss-20b", "falcon-7b", "bloom-7b1", "phi-3-mini"]),
        context_length in 1_u64..200_000, concurrent_sequences in 1_u64..500, shared_prefix in 0_u64..5000,
        block_size in prop::option::of(1_u64..600), group_size in 8_u64..300, users in prop::option::of(1_u64..5000),
        mean in 1_u64..5000, more in 0_u64..5000, mixed in any::<bool>(),
    ) {
        let rules = [Engine::DEFAULT, engine("vllm", 0.9), engine("sglang", 0.88), engine("llama-cpp", 1.0)];
        let job = job(id, support::layout(1 << t, 1 << p, 1, headroom::config::DataSharding::NOTHING), |run| {
            run.quantization = WeightFormat::WORDS[format].0;
            run.kv_cache_dtype = CacheFormat::WORDS[cache].0;
            run.engine = rules[rule];
            (run.context_length, run.concurrent_sequences, run.shared_prefix) = (context_length, concurrent_sequences, shared_prefix);
            (run.block_size, run.group_size, run.users) = (block_size, group_size, users);
            run.lengths = mixed.then_some(LengthMix { mean, p95: mean + more });
        });
        let found = estimate(&job);
        for line in &found.ledger.lines {
            let sum: Bytes = line.tensors.iter().map(|tensor| tensor.bytes).sum();
            prop_assert!(line.tensors.is_empty() || sum == line.bytes, "{}", line.label);
        }
        let room = found.cache_room.expect("a cache");
        prop_assert!(room.concurrency.is_finite() && room.concurrency >= 0.0);
        prop_assert!(room.bytes <= found.capacity || rule == 3);
        let answers = answers(&job);
        prop_assert_eq!(answers.users.is_some(), users.is_some());
        let time = times(&job).expect("known rates");
        prop_assert!(time.decode.0.is_finite() && time.decode.0 > 0.0 && time.first_token.0 > 0.0 && time.tokens_per_second > 0.0);
    }
}
