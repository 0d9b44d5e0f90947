//! Properties of every job: sums add up, memory grows with its inputs, two ways to one answer
//! agree, and no input panics.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{Job, Run};
use headroom::estimator::{
    Headroom, Ledger, Lengths, MemoryKind, Requests, TensorLine, estimate, memory_by_kind,
    memory_of_each,
};
use headroom::planner::{curve_gpus, curve_seq, fixes, gpu_count, inverse};
use headroom::units::{Bytes, MemoryUnit};
use proptest::prelude::*;
use support::layout;
use support::random::{SHARDINGS, job};

/// One row of every parameter with its states, in their widest formats: 4 bytes each of weight,
/// master weight and two moments.
fn rows(ledger: &Ledger) -> Bytes {
    let parameters = ledger
        .lines
        .iter()
        .filter(|line| line.kind == MemoryKind::Parameter)
        .flat_map(|line| &line.tensors);
    let row = |tensor: &TensorLine| {
        let rows = tensor.shape.dims().next().map_or(1, |dim| dim.1.max(1));
        tensor.shape.elements().0.div_ceil(rows).saturating_mul(tensor.count).saturating_mul(16)
    };
    Bytes(parameters.map(row).fold(0, u64::saturating_add))
}

/// The job with eager kernels, so that its step is played operator by operator.
fn with_eager_kernels(job: &Job) -> Job {
    job.with_run(|run| {
        if let Run::Training(run) = run {
            run.stack = support::eager();
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Tensors add up to their line, lines to the total, kinds to the total; capacity, total and
    /// margin agree.
    #[test]
    fn the_ledger_adds_up(job in job()) {
        let estimate = estimate(&job);
        let total = estimate.total();
        prop_assert_eq!(estimate.ledger.by_kind().into_iter().sum::<Bytes>(), total);
        for line in &estimate.ledger.lines {
            if !line.tensors.is_empty() {
                prop_assert_eq!(line.tensors.iter().map(|tensor| tensor.bytes).sum::<Bytes>(), line.bytes, "{}", line.label);
            }
        }
        prop_assert_eq!(estimate.moments.iter().map(|moment| moment.total).max(), Some(total));
        match estimate.headroom() {
            Headroom::Free(free) => prop_assert_eq!(total + free, estimate.capacity),
            Headroom::Short(short) => prop_assert!(short > Bytes::ZERO && total > estimate.capacity),
        }
        if let Some(compute) = estimate.compute {
            prop_assert!(compute.forward.0.is_finite() && compute.hfu_over_mfu >= 1.0 && compute.hfu_over_mfu <= 4.0 / 3.0 + 1e-9);
        }
    }

    /// A longer sequence never takes less memory.
    #[test]
    fn memory_never_falls_with_length(job in job(), longer in 1_u64..4) {
        let length = job.seq_length();
        let long = estimate(&job.with_seq_length(length.saturating_mul(longer))).total();
        prop_assert!(estimate(&job).total() <= long);
    }

    /// More sharding never puts more states on a rank, up to one row of each parameter: FSDP shares
    /// out whole rows, so the first rank has at least one row of each, however many ranks there
    /// are.
    #[test]
    fn deeper_sharding_never_holds_more_states(job in job()) {
        // One stage: with several, another stage may hold the peak.
        let ledger = |sharding| estimate(&job.with_layout(layout(job.layout().t(), 1, job.layout().d(), sharding))).ledger;
        let states = |sharding| {
            let ledger = ledger(sharding);
            ledger.of(MemoryKind::Parameter) + ledger.of(MemoryKind::OptimizerState)
        };
        let [none, one, two, three, fsdp] = [0, 1, 2, 3, 4].map(|at| states(SHARDINGS[at]));
        let rows = rows(&ledger(SHARDINGS[0]));
        prop_assert!(none >= one && one >= two, "{none:?} {one:?} {two:?}");
        prop_assert!(two + rows >= three && three == fsdp, "{two:?} {rows:?} {three:?} {fsdp:?}");
    }

    /// No answer of the planner panics, and a layout that it calls runnable runs in the estimate.
    #[test]
    fn the_planner_keeps_its_word(job in job()) {
        let count = gpu_count(&job, MemoryUnit::Gib);
        if let Some(runnable) = &count.runnable {
            let estimate = estimate(&job.with_layout(runnable.layout));
            prop_assert!(estimate.runs());
            prop_assert_eq!(estimate.total(), runnable.per_gpu);
            prop_assert_eq!(runnable.gpus, runnable.layout.world_size());
        } else {
            prop_assert!(count.reason.starts_with("No count can run it"), "{}", count.reason);
        }
        let current = estimate(&job);
        let offered = fixes(&job, &current, &count);
        prop_assert!(offered.len() <= 3 && (offered.is_empty() || !current.runs()));
        for fix in offered {
            prop_assert!(fix.fits || (fix.after < fix.before && matches!(current.headroom(), Headroom::Short(_))));
        }
        let inverse = inverse(&Lengths::of(&job));
        if let Some(longest) = inverse.longest_seq {
            prop_assert!(matches!(estimate(&job.with_seq_length(longest)).headroom(), Headroom::Free(_)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Curves pass through the current answer, rise with length, and keep their points in order.
    #[test]
    fn curves_pass_through_the_answer(job in job(), logarithmic in any::<bool>()) {
        let total = estimate(&job).total();
        let lengths = curve_seq(&Lengths::of(&job), inverse(&Lengths::of(&job)).longest_seq, 60, logarithmic);
        prop_assert!(lengths.points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].total <= pair[1].total));
        let here = lengths.points.iter().find(|point| point.x == lengths.current);
        prop_assert_eq!(here.map(|point| point.total), Some(total));
        let counts = curve_gpus(&job);
        prop_assert!(counts.points.windows(2).all(|pair| pair[0].x < pair[1].x));
        let here = counts.points.iter().find(|point| point.x == counts.current);
        prop_assert_eq!(here.map(|point| point.total), Some(total));
    }
}

proptest! {
    /// Formulas in the length, the ranks and the number of served sequences give the memory that a
    /// new record gives.
    #[test]
    fn laws_tell_what_records_tell(
        job in job(),
        eager in any::<bool>(),
        lengths in proptest::collection::vec(1_u64..=200_000, 1..6),
        numbers in proptest::collection::vec(1_u64..=100, 1..8),
    ) {
        let job = if eager { with_eager_kernels(&job) } else { job };
        let together = Lengths::of(&job);
        let grid = together.grid();
        for length in lengths.iter().flat_map(|length| [*length, length.div_ceil(grid) * grid]) {
            prop_assert_eq!(together.memory(length), memory_by_kind(&job.with_seq_length(length)), "at \
                {}", length);
        }
        let ranks = numbers.iter().copied().filter_map(std::num::NonZeroU64::new);
        let jobs: Vec<Job> = ranks.map(|ranks| job.with_data_parallel_size(ranks)).collect();
        let alone: Vec<_> = jobs.iter().map(memory_by_kind).collect();
        prop_assert_eq!(memory_of_each(&jobs).collect::<Vec<_>>(), alone);
        if let Some(served) = Requests::of(&job) {
            let asked = lengths.iter().zip(&numbers).map(|(length, number)| (*length, *number));
            for (length, number) in asked.chain([(1, 1), (777, 33), (job.seq_length(), 5)]) {
                let other = job.with_seq_length(length).with_run(|run| {
                    if let Run::Serving(run) = run {
                        run.concurrent_sequences = number;
                    }
                });
                prop_assert_eq!(served.memory(&other), memory_by_kind(&other), "{} of {}", number, length);
            }
        }
    }

    /// The fast sums by kind, which curves and searches use, equal the ledger's.
    #[test]
    fn sums_by_kind_are_the_ledgers(job in job()) {
        prop_assert_eq!(memory_by_kind(&job), estimate(&job).ledger.by_kind());
    }
}

/// Short lengths follow other formulas: below the first full chunk or tile of a loss, and below a
/// window's width.
#[test]
fn lengths_before_the_first_bend_are_told_as_well() {
    for link in [
        "v1&m=llama3-70b&s=8192&b=1&gb=64&tp=8&pp=4&n=512&z=zero1&ker=fused&rc=none&att=flash",
        "v1&m=llama3-8b&s=4096&b=3&gb=48&tp=2&pp=1&n=16&z=zero3&ker=fused&rc=full&att=flash",
        "v1&m=gemma2-9b&s=4096&b=1&gb=16&tp=1&pp=1&n=16&z=none&ker=eager&rc=none&att=standard",
    ] {
        let job = headroom::scenario::codec::decode(link).scenario.resolve().expect("a job");
        let lengths = Lengths::of(&job);
        for length in (1..=80)
            .map(|step| step * lengths.grid())
            .chain([1, 1023, 1024, 1025, 4095, 4096, 4097])
        {
            assert_eq!(
                lengths.memory(length),
                memory_by_kind(&job.with_seq_length(length)),
                "{link} at {length}"
            );
        }
    }
}

/// Autocast keeps its copies of weights until forward ends, although recomputation frees the rest
/// of a block. Ledger and fast sums must count the copies of every block once.
#[test]
fn copies_that_stay_until_forward_ends_are_all_in_the_ledger() {
    for link in [
        "v1&m=deepseek-v3&s=128&b=1&gb=4&tp=1&pp=1&n=1&z=none&ker=eager&rc=full&att=flash&prec=amp-bf16&opt=adamw",
        "v1&m=llama3-8b&s=128&b=1&gb=4&tp=1&pp=1&n=1&z=none&ker=eager&rc=full&att=flash&prec=amp-bf16&opt=adamw",
        "v1&m=llama3-8b&s=128&b=1&gb=4&tp=1&pp=1&n=1&z=none&ker=eager&rc=none&att=flash&prec=amp-bf16&opt=adamw",
    ] {
        let job = headroom::scenario::codec::decode(link).scenario.resolve().expect("a job");
        assert_eq!(estimate(&job).ledger.by_kind(), memory_by_kind(&job), "{link}");
    }
}

/// Sliding and full blocks read masks of their own. Backward frees each mask once, whatever is
/// recomputed and wherever stages begin.
#[test]
fn masks_of_sliding_blocks_go_once() {
    for model in ["gemma2-9b", "gpt-oss-20b", "mistral-7b"] {
        for (stages, recompute) in
            [1, 2, 4, 7].into_iter().flat_map(|p| ["none", "selective", "full"].map(|rc| (p, rc)))
        {
            let link = format!(
                "v1&m={model}&s=128&b=1&gb=4&pp={stages}&n={stages}&z=none&ker=eager&rc={recompute}&att=standard&prec=bf16"
            );
            let job = headroom::scenario::codec::decode(&link).scenario.resolve().expect("a job");
            assert_eq!(estimate(&job).ledger.by_kind(), memory_by_kind(&job), "{link}");
        }
    }
}
