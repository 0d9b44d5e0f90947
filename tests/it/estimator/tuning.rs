//! Fine-tuning: the trained parameters, their memory, and the models that are loaded beside the
//! trained one.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::catalog;
use headroom::config::{
    AttentionKernel, BaseFormat, DataSharding, Job, Method, Objective, ParallelLayout, Recompute,
    Rollout, Run, SavedModules, Targets, Texts, TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::Certainty;
use headroom::estimator::time::{Cost, Step, Term, Timing, timing};
use headroom::estimator::{
    Lengths, MemoryKind, Verdict, estimate, events, measured, memory_by_kind, memory_of_each,
};
use headroom::planner::{Change, fixes, gpu_count, packing};
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Scenario, Value};
use headroom::units::{Bytes, DType, MemoryUnit};
use support::{cluster, layout, training_run};

/// A length at which DoRA of Llama 3 8B no longer fits 80 GiB.
const LONG: u64 = 40_000;
const SOME: Targets = Targets::QUERY.and(Targets::VALUE);

fn lora(r: u64, target_modules: Targets) -> Tuning {
    Tuning {
        method: Method::Lora,
        r,
        target_modules,
        adapter_dtype: Some(DType::Fp32),
        ..Tuning::FULL
    }
}

fn job(tuning: Tuning, layout: ParallelLayout, change: impl FnOnce(&mut TrainingRun)) -> Job {
    let model = catalog::model("llama3-8b").expect("a model").config.clone();
    let mut run = TrainingRun {
        stack: support::eager(),
        global_batch_size: 8,
        tuning,
        seq_length: 1024,
        ..training_run()
    };
    change(&mut run);
    Job::new(model, Run::Training(run), layout, cluster(Bytes(80 * Bytes::GIB)))
        .expect("a valid job")
}

fn plain(tuning: Tuning) -> Job {
    job(tuning, ParallelLayout::SINGLE, |_| {})
}

/// Fine-tuning jobs of every kind.
fn all() -> Vec<Job> {
    let fsdp = layout(1, 1, 8, support::fsdp());
    let base = lora(16, Targets::ALL);
    let nf4 = Tuning { base: BaseFormat::Nf4Double, paged_optimizer: true, ..base };
    let ppo = Tuning {
        objective: Objective::Ppo,
        reference: true,
        rollout: Rollout::Sleeping,
        rollout_sequences: 4,
        ..Tuning::FULL
    };
    let dpo = Tuning { objective: Objective::Preference, reference: true, ..Tuning::FULL };
    let full = |run: &mut TrainingRun| run.recompute = Recompute::Full;
    vec![
        plain(base),
        plain(nf4),
        plain(Tuning { method: Method::Dora, ..base }),
        plain(Tuning { frozen_layers: 20, frozen_embeddings: true, ..Tuning::FULL }),
        plain(Tuning { dropout: true, ..base }),
        plain(Tuning { method: Method::Prompt, num_virtual_tokens: 100, ..base }),
        plain(Tuning { method: Method::Prefix, num_virtual_tokens: 100, ..base }),
        job(Tuning { method: Method::Prefix, ..base }, fsdp, |run| {
            run.attention = AttentionKernel::Standard;
        }),
        job(base, fsdp, full),
        job(nf4, fsdp, full),
        job(base, layout(1, 1, 8, support::zero2()), |run| run.stack = support::fused()),
        job(Tuning { objective: Objective::Reward, ..base }, ParallelLayout::SINGLE, full),
        job(dpo, fsdp, full),
        job(ppo, fsdp, full),
        job(
            Tuning {
                objective: Objective::Grpo,
                rollout: Rollout::Colocated,
                rollout_sequences: 8,
                ..base
            },
            fsdp,
            full,
        ),
    ]
}

#[test]
fn every_way_to_ask_for_memory_gives_the_same_bytes() {
    for job in all() {
        let estimate = estimate(&job);
        let tuning = job.training().map(|run| run.tuning);
        assert_eq!(
            estimate.ledger.total(),
            estimate.ledger.lines.iter().map(|line| line.bytes).sum(),
            "{tuning:?}"
        );
        assert_eq!(memory_by_kind(&job), estimate.ledger.by_kind(), "{tuning:?}");
        assert_eq!(
            memory_of_each(&[job.clone(), job.clone()]).last(),
            Some(estimate.ledger.by_kind()),
            "{tuning:?}"
        );
        let lengths = Lengths::of(&job);
        for length in [512, 1024, 4096] {
            assert_eq!(
                lengths.memory(length),
                memory_by_kind(&job.with_seq_length(length)),
                "{tuning:?} at {length}"
            );
        }
        let highest = estimate.moments.iter().map(|moment| moment.total).max().expect("a moment");
        assert_eq!(highest, estimate.total(), "{tuning:?}: {:?}", estimate.moments);
    }
}

#[test]
fn blocks_that_stand_for_their_like_hold_what_each_would() {
    for job in all() {
        let run = job.training().expect("a training");
        if run.tuning.reference || run.tuning.objective.generates() {
            continue;
        }
        let (mut now, mut highest) = (0_i128, 0_i128);
        for event in events(&job) {
            now += event.bytes;
            highest = highest.max(now);
        }
        let (_, peak) = measured(&job).expect("a played step");
        assert_eq!(i128::from(peak.into_iter().sum::<Bytes>().0), highest, "{:?}", run.tuning);
    }
}

#[test]
fn adapters_learn_less_than_the_model_and_more_with_their_rank() {
    let whole = estimate(&plain(Tuning::FULL)).parameters;
    assert_eq!(whole.trainable, whole.total);
    let (mut before, mut memory) = (0, Bytes::ZERO);
    for r in [1, 2, 8, 64, 256] {
        let found = estimate(&plain(lora(r, SOME)));
        let learns = found.parameters.trainable;
        assert!(learns > before && found.total() > memory && learns < whole.total, "rank {r}");
        // Two matrices of rank `r` beside the query and the value projection of each of 32 layers.
        assert_eq!(learns, 32 * r * ((4096 + 4096) + (4096 + 1024)));
        assert_eq!(found.parameters.total, whole.total + learns);
        (before, memory) = (learns, found.total());
    }
    let more = estimate(&plain(lora(8, SOME.and(Targets::DOWN)))).parameters.trainable;
    assert!(more > estimate(&plain(lora(8, SOME))).parameters.trainable);
}

#[test]
fn learned_keys_and_values_are_seen_by_every_token() {
    let whole = estimate(&plain(Tuning::FULL)).parameters.total;
    let of = |num_virtual_tokens| {
        let tuning = Tuning { method: Method::Prefix, num_virtual_tokens, ..Tuning::FULL };
        let job =
            job(tuning, ParallelLayout::SINGLE, |run| run.attention = AttentionKernel::Standard);
        (estimate(&job), headroom::ops::lower(&headroom::ops::lowering(&job)).forward())
    };
    let ((few, flops), (many, more)) = (of(16), of(80));
    // The 16 learned tokens have keys and values in 8 heads of width 128 in each of 32 layers.
    assert_eq!(few.parameters.trainable, 16 * 2 * 8 * 128 * 32);
    assert_eq!(few.parameters.total, whole + few.parameters.trainable);
    assert!(many.total() > few.total() && more > flops);
    let other = catalog::model("falcon-7b").expect("a model").config.clone();
    let run =
        job(Tuning { method: Method::Prefix, ..Tuning::FULL }, ParallelLayout::SINGLE, |_| {});
    let falcon = Job::new(other, run.run().clone(), ParallelLayout::SINGLE, run.cluster().clone())
        .expect("a valid job");
    assert!(
        estimate(&falcon)
            .blockers
            .iter()
            .any(|blocker| blocker.to_string().contains("learned prompt"))
    );
}

#[test]
fn layers_that_learn_beside_adapters_are_there_twice() {
    let base = lora(16, Targets::ALL);
    let saved = |embedding, head| {
        estimate(&plain(Tuning { modules_to_save: SavedModules { embedding, head }, ..base }))
    };
    let [alone, embedding, both] = [saved(false, false), saved(true, false), saved(true, true)];
    // Llama 3 8B: 128,256 tokens of 4,096 numbers, once in the embedding and once in the head.
    let matrix = 128_256 * 4_096;
    let learns = |estimate: &headroom::estimator::Estimate| estimate.parameters.trainable;
    assert_eq!(
        [learns(&embedding) - learns(&alone), learns(&both) - learns(&alone)],
        [matrix, 2 * matrix]
    );
    let weights = |estimate: &headroom::estimator::Estimate| {
        estimate.ledger.by_kind()[MemoryKind::Parameter.index()].0
    };
    assert_eq!(
        [weights(&embedding) - weights(&alone), weights(&both) - weights(&alone)],
        [2 * matrix, 4 * matrix]
    );
    // Training them beside adapters is refused where embedding and head are one tensor, and where
    // states are sharded.
    let tuning = Tuning { modules_to_save: SavedModules { embedding: true, head: false }, ..base };
    let shared = job(tuning, layout(1, 1, 8, support::zero2()), |_| {});
    assert!(
        estimate(&shared)
            .blockers
            .iter()
            .any(|blocker| blocker.to_string().contains("learns beside adapters"))
    );
}

#[test]
fn frozen_weights_take_less_the_fewer_bits_they_have() {
    let of = |base| {
        let estimate = estimate(&plain(Tuning { base, ..lora(16, Targets::ALL) }));
        let kind = MemoryKind::Parameter.index();
        estimate.ledger.by_kind()[kind].0
    };
    let [plain, nf4, double] =
        [BaseFormat::Weights, BaseFormat::Nf4, BaseFormat::Nf4Double].map(of);
    // The blocks have 6.98e9 weights: 16 bits each in bf16, 4.5 in NF4, and 4.127 with doubly
    // quantised scales.
    let blocks = 6_979_321_856_u64;
    assert_eq!(plain - nf4, blocks * 2 - blocks / 2 - blocks / 16 - 224 * 64);
    assert!(
        nf4 - double > blocks * 37 / 800 && nf4 - double < blocks * 38 / 800,
        "{}",
        nf4 - double
    );
}

#[test]
fn a_paged_optimizers_states_wait_in_host_memory() {
    let tuning = lora(16, Targets::ALL);
    let (stays, paged) =
        (estimate(&plain(tuning)), estimate(&plain(Tuning { paged_optimizer: true, ..tuning })));
    let states =
        |ledger: &headroom::estimator::Ledger| ledger.by_kind()[MemoryKind::OptimizerState.index()];
    assert_eq!(stays.host.lines.len(), 0);
    assert_eq!(states(&stays.ledger), states(&paged.ledger) + states(&paged.host));
    assert!(states(&paged.host) > states(&paged.ledger));
}

#[test]
fn frozen_layers_save_nothing_and_have_no_states() {
    let whole = estimate(&plain(Tuning::FULL));
    let part =
        estimate(&plain(Tuning { frozen_layers: 16, frozen_embeddings: true, ..Tuning::FULL }));
    let of = |estimate: &headroom::estimator::Estimate, kind: MemoryKind| {
        estimate.ledger.by_kind()[kind.index()]
    };
    for kind in [MemoryKind::Activation, MemoryKind::OptimizerState, MemoryKind::Gradient] {
        assert!(of(&part, kind) <= of(&whole, kind), "{kind:?}");
    }
    assert!(part.total() < whole.total());
    assert_eq!(of(&part, MemoryKind::Parameter), of(&whole, MemoryKind::Parameter));
    // With frozen embeddings, the gradient ends where the first trained block begins, so the
    // trained blocks alone decide what is saved.
    let embedding = Tuning { frozen_embeddings: true, ..Tuning::FULL };
    assert!(estimate(&plain(embedding)).total() < whole.total());
}

#[test]
fn each_model_beside_the_one_that_learns_is_a_line() {
    let fsdp = layout(1, 1, 8, support::fsdp());
    let has = |tuning: Tuning, label: &str| {
        let estimate = estimate(&job(tuning, fsdp, |run| run.recompute = Recompute::Full));
        estimate.ledger.lines.iter().any(|line| line.label == label)
    };
    let dpo = Tuning { objective: Objective::Preference, reference: true, ..Tuning::FULL };
    assert!(
        has(dpo, "Reference model") && !has(Tuning { reference: false, ..dpo }, "Reference model")
    );
    let ppo = Tuning { objective: Objective::Ppo, reference: true, ..Tuning::FULL };
    for label in ["Reference model", "Reward model", "Critic weights", "Critic optimizer states"] {
        assert!(has(ppo, label), "{label}");
    }
    let grpo = Tuning { objective: Objective::Grpo, rollout_sequences: 8, ..Tuning::FULL };
    assert!(
        !has(grpo, "Engine weights")
            && has(Tuning { rollout: Rollout::Colocated, ..grpo }, "Engine weights")
    );
    // An inference engine that sleeps during training has its own moment, in which answers are
    // generated.
    let sleeping = Tuning { rollout: Rollout::Sleeping, ..grpo };
    let moments = estimate(&job(sleeping, fsdp, |_| {})).moments;
    assert!(moments.iter().any(|moment| moment.name == "when answers are generated"));
    let total =
        |tuning| estimate(&job(tuning, fsdp, |run| run.recompute = Recompute::Full)).total();
    assert!(
        total(grpo) <= total(sleeping)
            && total(sleeping) <= total(Tuning { rollout: Rollout::Colocated, ..grpo })
    );
}

#[test]
fn two_answers_take_what_a_batch_twice_as_large_takes() {
    let pairs = job(
        Tuning { objective: Objective::Preference, ..lora(16, Targets::ALL) },
        ParallelLayout::SINGLE,
        |_| {},
    );
    let twice =
        job(lora(16, Targets::ALL), ParallelLayout::SINGLE, |run| run.micro_batch_size = Some(2));
    assert_eq!(memory_by_kind(&pairs), memory_by_kind(&twice));
}

#[test]
fn what_is_not_modelled_is_a_sentence() {
    let prefix = Tuning { method: Method::Prefix, ..Tuning::FULL };
    for (job, word) in [
        (
            job(Tuning { base: BaseFormat::Nf4, ..lora(8, SOME) }, ParallelLayout::SINGLE, |run| {
                run.stack = support::megatron();
            }),
            "transformers",
        ),
        (job(lora(8, SOME), layout(2, 1, 1, DataSharding::NOTHING), |_| {}), "data-parallel"),
        (job(lora(8, Targets::KEY_VALUE_DOWN), ParallelLayout::SINGLE, |_| {}), "nothing learns"),
        (
            job(prefix, ParallelLayout::SINGLE, |run| run.recompute = Recompute::Full),
            "recomputation",
        ),
        (
            job(
                Tuning { base: BaseFormat::Nf4, ..lora(8, SOME) },
                layout(1, 1, 8, support::zero3()),
                |_| {},
            ),
            "stage 3",
        ),
    ] {
        let found = estimate(&job);
        assert!(
            found.blockers.iter().any(|blocker| blocker.to_string().contains(word)),
            "{word}: {:?}",
            found.blockers
        );
        assert_ne!(found.verdict(), Verdict::Fits);
    }
    assert!(estimate(&plain(lora(8, SOME))).blockers.is_empty());
}

#[test]
fn what_learns_is_changed_where_a_fine_tuning_does_not_run() {
    let offered = |tuning: Tuning, change: &dyn Fn(&mut TrainingRun)| {
        let job = job(tuning, ParallelLayout::SINGLE, change);
        let current = estimate(&job);
        let found = fixes(&job, &current, &gpu_count(&job, MemoryUnit::Gb));
        let found = found.into_iter().filter(|fix| matches!(fix.change, Change::Adapters(_)));
        found
            .inspect(|fix| assert!(fix.after < current.total(), "{fix:?}"))
            .map(|fix| (fix.title, fix.fits))
            .collect::<Vec<_>>()
    };
    let named =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), true)).collect::<Vec<_>>();
    let (lora, qlora) = ("Train adapters alone (LoRA)", "4-bit weights (QLoRA)");
    let full = Tuning { target_modules: Targets::ALL, ..Tuning::FULL };
    assert_eq!(offered(full, &|_| {}), named(&[lora, qlora]));
    // Nothing is offered to a training from scratch, where all parameters must learn, nor to a job
    // that already fits.
    assert_eq!(offered(Tuning::FULL, &|_| {}), []);
    assert_eq!(offered(self::lora(8, SOME), &|_| {}), []);
    // Megatron-LM has no adapters on 4-bit weights, so QLoRA is not offered under it.
    assert_eq!(offered(full, &|run| run.stack = support::megatron()), named(&[lora]));
    // With so long a sequence LoRA's 16-bit weights leave no room, so that QLoRA alone is offered.
    let long = |run: &mut TrainingRun| (run.seq_length, run.recompute) = (LONG, Recompute::Full);
    assert_eq!(
        offered(Tuning { method: Method::Dora, ..self::lora(16, Targets::ALL) }, &long),
        named(&[qlora])
    );
    assert_eq!(
        offered(Tuning { base: BaseFormat::Nf4, ..self::lora(16, Targets::ALL) }, &long),
        []
    );
}

#[test]
fn prefix_tuning_that_recomputes_is_shown_the_way_out() {
    let prefix = Tuning { method: Method::Prefix, ..Tuning::FULL };
    let job = job(prefix, ParallelLayout::SINGLE, |run| run.recompute = Recompute::Full);
    let found = fixes(&job, &estimate(&job), &gpu_count(&job, MemoryUnit::Gb));
    let first = found.first().expect("a fix");
    assert!(first.fits && first.change == Change::Recompute(Recompute::None), "{found:?}");
    assert!(found.iter().all(|fix| fix.fits), "{found:?}");
}

/// Rows tm0608 and tm0609 of the published figures (AnswerDotAI/fsdp_qlora,
/// `benchmarks_03_2024.md`): LoRA of Llama 2 7B under FSDP on two RTX 3090, peak allocated. Rank,
/// dropout, layers and optimizer are the program's defaults (`train.py`): 64, 0.1, all linear
/// layers of a block but the output projection, `AdamW` in bf16. The benchmark's other rows state
/// only reserved memory, and torchtune's rows do not state the optimizer and recomputation.
#[test]
fn published_peaks_of_fsdp_qlora_are_met() {
    let chosen = [Targets::KEY, Targets::VALUE, Targets::GATE, Targets::UP, Targets::DOWN];
    let target_modules = chosen.into_iter().fold(Targets::QUERY, Targets::and);
    let tuning =
        Tuning { method: Method::Lora, r: 64, target_modules, dropout: true, ..Tuning::FULL };
    for (tokens, allocated) in [(512, 8.28), (2048, 9.16)] {
        let run = TrainingRun {
            stack: support::eager(),
            precision: TrainingPrecision::Bf16Pure,
            global_batch_size: 2,
            recompute: Recompute::Full,
            tuning,
            seq_length: tokens,
            ..training_run()
        };
        let model = catalog::model("llama2-7b").expect("a model").config.clone();
        let fsdp = layout(1, 1, 2, support::fsdp());
        let job = Job::new(model, Run::Training(run), fsdp, cluster(Bytes(24 * Bytes::GIB)))
            .expect("a valid job");
        let ours = estimate(&job).total().as_f64() / f64::from(1 << 30);
        assert!((ours / allocated - 1.0).abs() < 0.05, "{ours} GiB, not {allocated}");
    }
}

#[test]
fn modes_share_model_and_gpu_and_links_carry_them() {
    let mut scenario = Scenario::default();
    scenario.set_model("qwen3-8b");
    scenario.set_accelerator("a100-40");
    scenario.set(FieldId::Mode, Value::Choice("tune"));
    scenario.set(FieldId::Method, Value::Choice("qlora"));
    scenario.set(FieldId::Rank, Value::Integer(64));
    scenario.set(FieldId::AdaptGate, Value::Flag(false));
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
    let job = scenario.resolve().expect("a valid scenario");
    let tuning = job.training().expect("a training").tuning;
    assert_eq!((tuning.method, tuning.r, tuning.base), (Method::Lora, 64, BaseFormat::Nf4Double));
    assert!(
        !tuning.target_modules.meets(Targets::GATE) && tuning.target_modules.meets(Targets::UP)
    );
    let mut other = scenario.clone();
    other.set(FieldId::Mode, Value::Choice("train"));
    let training = other.resolve().expect("a valid scenario");
    assert_eq!((training.model(), training.cluster()), (job.model(), job.cluster()));
    assert!(training.training().expect("a training").tuning.is_full());
    other.set(FieldId::Mode, Value::Choice("tune"));
    assert_eq!(other, scenario);
}

fn with_texts(mean: u64, packed: bool, change: impl FnOnce(&mut TrainingRun)) -> Job {
    job(lora(16, SOME), ParallelLayout::SINGLE, |run| {
        (run.stack, run.attention, run.training_tokens) =
            (support::fused(), AttentionKernel::Flash, 1e6);
        run.texts = Some(Texts { mean, packed });
        change(run);
    })
}

fn timed(job: &Job) -> (Step, Cost) {
    match timing(job, &estimate(job)) {
        Timing::Training { step, cost } => (step, cost),
        _ => panic!("a training takes time"),
    }
}

#[test]
fn padding_is_computed_and_teaches_nothing() {
    let (plain, padded) =
        (with_texts(1024, false, |run| run.texts = None), with_texts(256, false, |_| {}));
    assert_eq!(memory_by_kind(&plain), memory_by_kind(&padded));
    let ((step, cost), (same, longer)) = (timed(&plain), timed(&padded));
    assert_eq!(step.seconds, same.seconds);
    assert!((same.useful_tokens_per_second / step.useful_tokens_per_second - 0.25).abs() < 1e-12);
    assert!(
        (longer.seconds.0 / cost.seconds.0 - 4.0).abs() < 1e-12
            && (longer.steps / cost.steps - 4.0).abs() < 1e-12
    );
    let steps = |job| estimate(job).compute.expect("compute").steps;
    assert_eq!((steps(&plain), steps(&padded)), (123, 489));
}

#[test]
fn packed_texts_see_themselves_alone() {
    let (plain, packed) =
        (with_texts(1024, true, |run| run.texts = None), with_texts(256, true, |_| {}));
    assert!(estimate(&packed).blockers.is_empty());
    assert_eq!(memory_by_kind(&plain), memory_by_kind(&packed));
    // Four packed texts of 256 tokens: the pairs of attention are a quarter, and nothing else
    // changes.
    let compute = |job| estimate(job).compute.expect("compute");
    let (whole, parts) = (compute(&plain), compute(&packed));
    let near = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-12, "{one} {other}");
    near(whole.attention.0, 4.0 * parts.attention.0);
    near(whole.forward.0 - whole.attention.0, parts.forward.0 - parts.attention.0);
    assert_eq!(whole.steps, parts.steps);
    let of = |step: &Step, term| *step.lines.iter().find(|line| line.term == term).expect("a term");
    let ((slow, _), (quick, _)) = (timed(&plain), timed(&packed));
    assert_eq!(of(&slow, Term::Products), of(&quick, Term::Products));
    assert!(of(&quick, Term::Attention).seconds.0 < of(&slow, Term::Attention).seconds.0);
    assert_eq!(of(&quick, Term::Attention).certainty, Certainty::Assumed);
    // A text as long as the sequence takes the time of an unpacked sequence.
    assert_eq!(timed(&with_texts(1024, true, |_| {})).0.seconds, slow.seconds);
}

#[test]
fn what_packing_brings_is_what_the_packed_job_does() {
    let (padded, packed) = (with_texts(300, false, |_| {}), with_texts(300, true, |_| {}));
    let (before, after) =
        (timed(&padded).0.useful_tokens_per_second, timed(&packed).0.useful_tokens_per_second);
    let times = packing(&padded, before).expect("packing helps");
    assert!((times - after / before).abs() < 1e-12 && times > 1024.0 / 300.0, "{times}");
    assert_eq!(packing(&packed, after), None);
    // Where packing is not modelled it is not offered, and a job that asks for it is refused by a
    // sentence.
    let cases: [fn(&mut TrainingRun); 4] = [
        |run| run.attention = AttentionKernel::Standard,
        |run| run.stack = support::megatron(),
        |run| run.tuning.objective = Objective::Preference,
        |run| run.tuning.method = Method::Prompt,
    ];
    for change in cases {
        assert_eq!(packing(&with_texts(300, false, change), before), None);
        let found = estimate(&with_texts(300, true, change)).blockers;
        assert!(
            found.iter().any(|blocker| blocker.to_string().contains("Texts that share a sequence")),
            "{found:?}"
        );
    }
}

#[test]
fn texts_are_inputs_of_fine_tuning_alone() {
    let run = |link: &str| {
        decode(link).scenario.resolve().map(|job| job.training().expect("a training").clone())
    };
    let padded = run("v1&do=tune&m=llama3-8b&s=4096&txt=500").expect("a job");
    assert_eq!(padded.texts, Some(Texts { mean: 500, packed: false }));
    assert_eq!(
        run("v1&do=tune&m=llama3-8b&s=4096&txt=500&pack=1").expect("a job").packed_text(),
        Some(500)
    );
    assert_eq!(run("v1&do=tune&m=llama3-8b&pack=1").expect("a job").texts, None);
    assert_eq!(run("v1&m=llama3-8b&txt=500&pack=1").expect("a job").texts, None);
    let problems = run("v1&do=tune&m=llama3-8b&s=4096&txt=5000").expect_err("too long");
    assert_eq!((problems.len(), problems[0].field), (1, FieldId::TextTokens));
    assert_eq!(problems[0].way_out.as_ref().map(|way| &way.1), Some(&Value::Integer(4096)));
    assert!(run("v1&m=llama3-8b&s=4096&txt=5000").is_ok());
}

#[test]
fn answers_that_do_not_fit_are_generated_fewer_at_once() {
    let of = |link: &str| decode(link).scenario.resolve().expect("a job");
    let offered = |job: &Job| fixes(job, &estimate(job), &gpu_count(job, MemoryUnit::Gb));
    let many = of("v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron=4096");
    let found = offered(&many);
    let first = found.first().expect("a fix");
    let Change::RolloutSequences(answers) = first.change else { panic!("{found:?}") };
    assert!(first.fits && answers < 4096 && answers.is_multiple_of(8), "{found:?}");
    // The fix offers the largest multiple of eight that fits.
    let with =
        |answers: u64| of(&format!("v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron={answers}"));
    assert!(estimate(&with(answers)).runs() && !estimate(&with(answers + 8)).runs());
    // Fewer answers are not offered where other GPUs generate them, nor where the trained model
    // alone is too large.
    let none = |link| {
        !offered(&of(link)).iter().any(|fix| matches!(fix.change, Change::RolloutSequences(_)))
    };
    assert!(none("v1&do=tune&m=llama3-70b&n=8&ft=full&obj=grpo&ron=4096&ro=apart"));
    assert!(none("v1&do=tune&m=llama3-70b&n=8&ft=full&obj=grpo&ron=2"));
    // Where the inference engine keeps its memory during training, letting it sleep is offered.
    let keeps = offered(&of("v1&do=tune&m=llama3-8b&n=8&ft=full&obj=grpo&ron=4&ro=colocated&b=16"));
    assert!(
        keeps.iter().any(|fix| fix.fits && fix.change == Change::Rollout(Rollout::Sleeping)),
        "{keeps:?}"
    );
}

#[test]
fn a_model_with_experts_starts_with_adapters_beside_attention() {
    use headroom::catalog::models;
    const INNER: [FieldId; 3] = [FieldId::AdaptGate, FieldId::AdaptUp, FieldId::AdaptDown];
    // Encoders and hybrid models are left out: of some of them only the parameters are counted.
    let runs = |config: &headroom::config::ModelConfig| {
        config.encoder.is_none() && config.hybrid.is_none()
    };
    for row in models().iter().filter(|row| row.config.moe.is_some() && runs(&row.config)) {
        let scenario = decode(&format!("v1&do=tune&ft=lora&n=64&gb=64&m={}", row.id)).scenario;
        assert!(
            INNER.iter().all(|id| scenario.get(*id) == Value::Flag(false) && !scenario.is_set(*id)),
            "{}",
            row.id
        );
        let found = estimate(&scenario.resolve().expect("a job"));
        assert!(
            found.blockers.is_empty() && found.parameters.trainable > 0,
            "{}: {:?}",
            row.id,
            found.blockers
        );
        // A link carries the asked-for adapters. Where peft finds the experts' parameters, gate and
        // up are one matrix.
        let mut asked = scenario.clone();
        asked.set(FieldId::AdaptUp, Value::Flag(true));
        assert_eq!(decode(&encode(&asked)).scenario, asked);
        let finds = row.config.family.modules().peft_finds_experts;
        let refused = estimate(&asked.resolve().expect("a job")).blockers;
        assert_eq!(
            refused.iter().any(|blocker| blocker.to_string().contains("gate and up in one matrix")),
            finds,
            "{}",
            row.id
        );
        asked.set(FieldId::AdaptGate, Value::Flag(true));
        let shared = estimate(&asked.resolve().expect("a job")).blockers;
        assert_eq!(
            shared
                .iter()
                .any(|blocker| blocker.to_string().contains("copies of the model on every GPU")),
            finds
        );
    }
}

#[test]
fn what_was_set_beside_experts_goes_with_them() {
    let mut scenario = decode("v1&do=tune&m=mixtral-8x7b&ag=1").scenario;
    assert!(scenario.is_set(FieldId::AdaptGate));
    let (written, experts) = (encode(&scenario), scenario.get(FieldId::NumExperts));
    assert_eq!(decode(&written).scenario, scenario);
    // In a model without experts the gate has an adapter by default.
    scenario.set(FieldId::NumExperts, Value::Empty);
    assert!(
        !scenario.is_set(FieldId::AdaptGate)
            && scenario.get(FieldId::AdaptGate) == Value::Flag(true)
    );
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
    scenario.set(FieldId::NumExperts, experts);
    assert_eq!(scenario.get(FieldId::AdaptGate), Value::Flag(false));
    scenario.set_model("llama3-8b");
    scenario.set(FieldId::AdaptUp, Value::Flag(false));
    scenario.set_model("mixtral-8x7b");
    assert!(!scenario.is_set(FieldId::AdaptUp));
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
}
