//! Answers of the search over layouts: they equal brute force's, they explain limits, and bad input
//! ends in a sentence.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support::{self, published};

use std::num::NonZeroU64;

use headroom::config::{
    Choice, Job, LayerSet, ModelConfig, Moe, ParallelLayout, Recompute, Run, ServingRun, Stack,
    TrainingRun,
};
use headroom::estimator::time::{StepTime, block_times, spread};
use headroom::estimator::{MemoryKind, blockers, memory_by_kind, stages};
use headroom::planner::search::{Answer, Degree, Edit, Reason, Search, SearchAxis, Space};
use headroom::units::{Bytes, MemoryUnit};
use proptest::prelude::*;
use support::{cluster, gpt};

fn degree(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).expect("a degree is at least 1")
}

/// A small model with experts in all blocks but the first.
fn with_experts() -> ModelConfig {
    let moe = Moe {
        num_experts: 4,
        num_experts_per_tok: 2,
        moe_intermediate_size: 512,
        layers: LayerSet::From(1),
        ..headroom::catalog::model("mixtral-8x7b")
            .and_then(|row| row.config.moe.clone())
            .expect("a model with experts")
    };
    ModelConfig { moe: Some(moe), tie_word_embeddings: false, ..gpt(512, 4, 4) }
}

fn job(model: ModelConfig, kernels: Stack, batch: u64, memory: Bytes) -> Job {
    let run = TrainingRun {
        seq_length: 512,
        global_batch_size: batch,
        stack: kernels,
        training_tokens: 1e9,
        ..TrainingRun::plain()
    };
    Job::new(model, Run::Training(run), ParallelLayout::SINGLE, cluster(memory))
        .expect("a valid job")
}

/// Every layout on the first count of the space, enumerated without the search's code.
fn every_layout(job: &Job, space: &Space) -> Vec<Choice> {
    let gpus = space.counts[0];
    let megatron = job.training().is_some_and(|run| run.stack == support::megatron());
    let most = |there: bool, most: u64| if there { 1..=most } else { 1..=1 };
    let experts = job.model().moe.as_ref().map_or(1, |moe| moe.num_experts);
    let mut all = Vec::new();
    for (t, cp) in (1..=gpus).flat_map(|t| most(megatron, gpus).map(move |cp| (t, cp))) {
        for (p, d) in (1..=gpus)
            .flat_map(|p| (1..=gpus).map(move |d| (p, d)))
            .filter(|(p, d)| t * cp * p * d == gpus)
        {
            for (ep, etp) in most(megatron, experts).flat_map(|ep| [1, t].map(|etp| (ep, etp))) {
                if etp > 1 && (!megatron || experts == 1) {
                    continue;
                }
                for (mb, chunks) in
                    (1..=24).flat_map(|mb| most(megatron, 8).map(move |chunks| (mb, chunks)))
                {
                    let layout = ParallelLayout {
                        tensor_model_parallel_size: degree(t),
                        context_parallel_size: degree(cp),
                        pipeline_model_parallel_size: degree(p),
                        data_parallel_size: degree(d),
                        expert_model_parallel_size: degree(ep),
                        expert_tensor_parallel_size: Some(degree(etp)),
                        virtual_pipeline_model_parallel_size: degree(chunks),
                        ..ParallelLayout::SINGLE
                    };
                    let mut choices = vec![Choice {
                        layout,
                        micro_batch_size: degree(mb),
                        recompute: Recompute::None,
                    }];
                    for axis in &space.axes {
                        choices =
                            choices.iter().flat_map(|choice| edited(axis, job, *choice)).collect();
                    }
                    all.extend(choices);
                }
            }
        }
    }
    all
}

fn edited(axis: &SearchAxis, job: &Job, choice: Choice) -> Vec<Choice> {
    let with = |edit: &Edit| {
        let mut choice = choice;
        edit.apply(job, &mut choice).then_some(choice)
    };
    axis.edits.iter().filter_map(with).collect()
}

/// Brute force's result: fitting layouts with memory and seconds, and the memory of legal layouts
/// that do not fit.
struct BruteForce {
    fitting: Vec<(Choice, Bytes, f64)>,
    misses: Vec<Bytes>,
}

impl BruteForce {
    fn of(job: &Job, space: &Space) -> Self {
        let capacity = job.cluster().accelerator.memory;
        let mut found = Self { fitting: Vec::new(), misses: Vec::new() };
        let mut seen = std::collections::HashSet::new();
        for choice in every_layout(job, space) {
            let chosen = job.with_choice(&choice);
            if !blockers(&chosen).is_empty() || !seen.insert(choice) {
                continue;
            }
            let memory: Bytes = memory_by_kind(&chosen).into_iter().sum();
            if memory > capacity {
                found.misses.push(memory.saturating_sub(capacity));
                continue;
            }
            let (times, spread) =
                (block_times(&chosen).expect("a known peak"), spread(&chosen).expect("a training"));
            found.fitting.push((choice, memory, StepTime::seconds(&times, &spread)));
        }
        found
    }

    fn leanest(&self) -> Option<Bytes> {
        self.fitting.iter().map(|(_, memory, _)| *memory).min()
    }

    fn fastest(&self) -> Option<f64> {
        self.fitting.iter().map(|(_, _, seconds)| *seconds).min_by(f64::total_cmp)
    }
}

fn length<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).expect("a short list")
}

fn search(job: &Job, space: Space) -> Answer {
    Search::new(job, space).finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// The search finds what brute force finds, with the estimate's bytes, on every stack.
    #[test]
    fn it_finds_what_brute_force_finds(
        kernels in proptest::sample::select(vec![support::megatron(), support::megatron(), support::korthikanti()]),
        experts in any::<bool>(), gpus in proptest::sample::select(vec![1_u64, 2, 4, 6, 8]),
        batch in proptest::sample::select(vec![4_u64, 6, 12]), watched in any::<proptest::sample::Index>(), mebibytes in proptest::sample::select(vec![200_u64, 500, 900, 4000]), more in 0_usize..4,
    ) {
        let model = if experts { with_experts() } else { gpt(512, 4, 4) };
        let job = job(model, kernels, batch, Bytes(mebibytes << 20));
        let space = Space::at(&job, &[gpus]);
        let space = match more {
            1 => space.with(SearchAxis::schedules()),
            2 => space.with(SearchAxis::offloads()),
            3 => space.with(SearchAxis::replicas()),
            _ => space,
        };
        let found = BruteForce::of(&job, &space);
        let mut search = Search::new(&job, space);
        let asked = (!found.fitting.is_empty()).then(|| watched.get(&found.fitting));
        if let Some((choice, ..)) = asked {
            search.watch(choice);
        }
        let answer = search.finish();
        let fitting = length(&found.fitting);
        prop_assert_eq!((answer.legal(), answer.fitting()), (fitting + length(&found.misses), fitting));
        let [count] = answer.counts.as_slice() else { panic!("one count") };
        prop_assert_eq!(count.leanest.map(|found| found.memory), found.leanest());
        prop_assert_eq!(count.fastest.and_then(|found| found.seconds), found.fastest());
        prop_assert_eq!(count.nearest.map(|miss| miss.short), found.misses.iter().min().copied());
        for ((_, memory, seconds), watched) in asked.iter().zip(&answer.watched) {
            prop_assert_eq!(watched.outcome.as_ref().ok().and_then(|own| own.seconds), Some(*seconds));
            let better = |(_, others, step): &&(Choice, Bytes, f64)| step.total_cmp(seconds).then(others.cmp(memory)).is_lt();
            prop_assert_eq!(watched.faster, length(&found.fitting.iter().filter(better).collect::<Vec<_>>()));
            prop_assert_eq!(watched.leaner, length(&found.fitting.iter().filter(|other| other.1 < *memory).collect::<Vec<_>>()));
        }
        let rejected = |memory: bool| -> u64 {
            answer.why_not.iter().filter(|why| matches!(why.reason, Reason::Memory(_)) == memory).map(|why| why.count).sum()
        };
        prop_assert_eq!((rejected(true), rejected(false)), (answer.legal() - answer.fitting(), answer.considered() - answer.legal()));
        for why in &answer.why_not {
            let example = job.with_choice(&why.example);
            match (&why.reason, why.short) {
                (Reason::Rule(_), None) => prop_assert!(!blockers(&example).is_empty()),
                (Reason::Memory(kind), Some(short)) => {
                    let by_kind = memory_by_kind(&example);
                    let capacity = job.cluster().accelerator.memory;
                    prop_assert_eq!(by_kind.into_iter().sum::<Bytes>(), capacity + short);
                    // The kind of memory at which a rank first exceeds its capacity.
                    let ranks = if kernels == support::megatron() {
                        stages(&example).iter().map(|stage| stage.by_kind).collect()
                    } else {
                        vec![by_kind]
                    };
                    let up_to = |most: usize| {
                        ranks.iter().any(|rank| rank.iter().copied().take(most).sum::<Bytes>() > capacity)
                    };
                    prop_assert!(!up_to(kind.index()) && up_to(kind.index() + 1));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

/// One worker's share of a search, run to its end: every `every`th part, beginning with `from`.
fn share(job: &Job, space: &Space, watched: &Choice, (every, from): (usize, usize)) -> Search {
    let mut search = Search::new(job, space.clone());
    search.look_at_every(every, from);
    search.watch(watched);
    while !search.step(100).finished {}
    search
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Several searches that each take a share of the parts together find the layouts, counts and
    /// reasons that one search finds alone.
    #[test]
    fn shares_come_to_the_same(
        kernels in proptest::sample::select(vec![support::megatron(), support::megatron(), support::korthikanti()]),
        experts in any::<bool>(), counts in proptest::sample::select(vec![vec![8_u64], vec![2, 4, 8, 12], vec![7]]),
        batch in proptest::sample::select(vec![4_u64, 6, 12]), mebibytes in proptest::sample::select(vec![200_u64, 500, 900, 4000]), of in 2_usize..4,
    ) {
        let model = if experts { with_experts() } else { gpt(512, 4, 4) };
        let job = job(model, kernels, batch, Bytes(mebibytes << 20));
        let space = Space::at(&job, &counts);
        let watched = Choice { layout: *job.layout(), micro_batch_size: NonZeroU64::MIN, recompute: Recompute::None };
        let alone = share(&job, &space, &watched, (1, 0)).answer();
        let mut first = share(&job, &space, &watched, (of, 0));
        for from in 1..of {
            let text = serde_json::to_string(&share(&job, &space, &watched, (of, from)).gathered()).expect("text");
            first.take_in(&serde_json::from_str(&text).expect("what was written"));
        }
        prop_assert_eq!(first.answer(), alone);
    }
}

/// A search in steps finds what an uninterrupted one finds, and its progress never falls.
#[test]
fn it_goes_on_step_by_step() {
    let job = job(with_experts(), support::megatron(), 12, Bytes(700 << 20));
    let space = Space::at(&job, &[2, 4, 12]);
    let mut search = Search::new(&job, space.clone());
    let (mut shares, mut steps) = (Vec::new(), 0);
    loop {
        let progress = search.step(100);
        shares.push(progress.share);
        steps += 1;
        if progress.finished {
            break;
        }
        assert!(!search.answer().finished);
    }
    assert!(
        steps > 3 && shares.is_sorted() && shares.last().is_some_and(|share| *share >= 1.0),
        "{shares:?}"
    );
    assert_eq!(search.answer(), self::search(&job, space));
}

/// The smallest count can run and no smaller one can; the reason against the next smaller count is
/// stated in bytes.
#[test]
fn the_smallest_count_is_the_smallest() {
    let job = job(gpt(512, 4, 4), support::megatron(), 12, Bytes(330 << 20));
    let answer = search(&job, Space::smallest(&job, 64));
    let found = *answer.smallest().expect("a layout that fits");
    assert!(found.gpus > 1 && found.memory <= Bytes(330 << 20), "{found:?}");
    assert_eq!(
        memory_by_kind(&job.with_choice(&found.choice)).into_iter().sum::<Bytes>(),
        found.memory
    );
    assert!(
        (1..found.gpus)
            .all(|gpus| BruteForce::of(&job, &Space::at(&job, &[gpus])).fitting.is_empty())
    );
    let words = answer.words(Bytes(330 << 20), MemoryUnit::Gib);
    assert!(words.starts_with(&format!("{} GPUs can run it with ", found.gpus)), "{words}");
    assert!(words.contains(&format!("With {} GPUs ", found.gpus - 1)), "{words}");
    assert_eq!(answer.counts.len(), usize::try_from(found.gpus).expect("a small number"));
}

/// A layout with more accelerators is on the front only if it is quicker or cheaper, and no point
/// is worse than another in everything.
#[test]
fn no_point_of_the_front_is_beaten() {
    let job = job(gpt(512, 4, 4), support::megatron(), 24, Bytes(700 << 20));
    let answer = search(&job, Space::at(&job, &[1, 2, 3, 4, 6, 8, 12, 24, 48]));
    let front = answer.front();
    let measures = |found: &&headroom::planner::search::Found| {
        (found.gpus, found.days.expect("days"), found.cost.expect("a price"))
    };
    let points: Vec<_> = front.iter().map(measures).collect();
    assert!(points.len() > 2, "{points:?}");
    for (gpus, days, cost) in &points {
        let beats =
            |other: &&(u64, f64, f64)| other.0 <= *gpus && other.1 <= *days && other.2 <= *cost;
        assert_eq!(points.iter().filter(beats).count(), 1, "{points:?}");
    }
    assert!(answer.cheapest().is_some_and(|cheapest| front.contains(&cheapest)));
}

/// A layout that the question names gets its outcome and its rank.
#[test]
fn a_watched_layout_is_ranked() {
    let job = job(gpt(512, 4, 4), support::megatron(), 12, Bytes(4 << 30));
    let space = Space::at(&job, &[4]);
    let leanest = search(&job, space.clone()).counts[0].leanest.expect("a layout");
    let mut search = Search::new(&job, space);
    search.watch(&leanest.choice);
    let answer = search.finish();
    let watched = &answer.watched[0];
    assert_eq!((watched.outcome.clone(), watched.leaner), (Ok(leanest), 0));
    assert!(watched.faster < answer.fitting());
}

/// Layouts that published trainings ran with can run in the estimate.
#[test]
fn published_layouts_fit() {
    for training in published::trainings().iter().filter(|training| training.layout.is_some()) {
        let job = training.job();
        let layout = training.layout.expect("a published layout");
        assert_eq!(layout.layout.world_size(), training.gpus);
        let mut search = Search::new(&job, Space::at(&job, &[training.gpus]));
        search.watch(&layout);
        let outcome = &search.answer().watched[0].outcome;
        assert!(outcome.is_ok(), "{}: {outcome:?}", training.name);
    }
}

fn refused(job: &Job, space: Space) -> String {
    let answer = search(job, space);
    assert!(answer.finished && answer.considered() == 0);
    answer.words(Bytes(1 << 30), MemoryUnit::Gib)
}

#[test]
fn bad_input_is_answered_in_words_at_once() {
    let job = job(gpt(512, 4, 4), support::megatron(), 12, Bytes(4 << 30));
    assert_eq!(refused(&job, Space::at(&job, &[])), "0 GPUs hold nothing; allow at least 1.");
    assert_eq!(refused(&job, Space::at(&job, &[0])), "0 GPUs hold nothing; allow at least 1.");
    assert_eq!(
        refused(&job, Space::at(&job, &[10_000_000])),
        "10000000 GPUs are more than the search goes through; allow at most 1048576."
    );
    let mut space = Space::at(&job, &[8]);
    space.limit(Degree::Tensor, &[]);
    assert_eq!(
        refused(&job, space),
        "No value is allowed for the tensor-parallel degree; allow at least one."
    );
    let mut space = Space::at(&job, &[8]);
    space.limit(Degree::Tensor, &[3]);
    assert_eq!(
        refused(&job, space),
        "The limits leave no layout: tensor, context, pipeline and data-parallel degrees must \
         multiply to the number of GPUs. Allow more values of one of them."
    );
    let serving = ServingRun {
        context_length: 512,
        concurrent_sequences: 1,
        prefill_chunk_size: 512,
        ..ServingRun::plain()
    };
    let serving = Job::new(
        gpt(512, 4, 4),
        Run::Serving(serving),
        ParallelLayout::SINGLE,
        cluster(Bytes(1 << 30)),
    )
    .expect("a valid job");
    let space = Space::at(&serving, &[8]);
    assert_eq!(
        refused(&serving, space),
        "This search lays out training; a serving instance's count is found beside its curve."
    );
}

/// Where no layout is legal or none fits, the answer names the rule or the nearest miss.
#[test]
fn no_layout_is_an_answer() {
    let prime = ModelConfig {
        num_attention_heads: 7,
        num_key_value_heads: 7,
        num_hidden_layers: 7,
        ..gpt(448, 7, 7)
    };
    let job = job(prime, support::megatron(), 1, Bytes(4 << 30));
    let words = search(&job, Space::at(&job, &[11])).words(Bytes(4 << 30), MemoryUnit::Gib);
    assert!(words.starts_with("No layout is legal: "), "{words}");
    let job = self::job(gpt(512, 4, 4), support::megatron(), 12, Bytes(60 << 20));
    let answer = search(&job, Space::at(&job, &[2]));
    let words = answer.words(Bytes(60 << 20), MemoryUnit::Gib);
    assert!(
        words.starts_with("No layout fits. With 2 GPUs the nearest miss is ")
            && words.ends_with('.'),
        "{words}"
    );
    let nearest = answer.counts[0].nearest.expect("a miss");
    assert_eq!(
        memory_by_kind(&job.with_choice(&nearest.choice)).into_iter().sum::<Bytes>(),
        Bytes(60 << 20) + nearest.short
    );
    assert!(MemoryKind::ALL.contains(&nearest.kind));
}
