//! The page's comparison: the five methods applied to whole scenarios.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use std::num::NonZeroU64;

use headroom::config::{
    Accelerator, AttentionKernel, Cluster, DataSharding, GradientDType, Job, MlpKind, ModelConfig,
    Normalization, Optimizer, Overheads, ParallelLayout, PeakRates, PositionEmbedding, Recompute,
    Run, ServingRun, TrainingPrecision, TrainingRun,
};
use headroom::methods::{EngineSide, MethodAnswer, MethodInputs, MethodKind, all, ju_2026};
use headroom::units::{Bytes, FlopsPerSecond, MemoryUnit};

fn plain_7b() -> ModelConfig {
    ModelConfig {
        hidden_size: 4096,
        num_hidden_layers: 32,
        num_attention_heads: 32,
        num_key_value_heads: 32,
        head_dim: 128,
        intermediate_size: 16_384,
        vocab_size: 32_000,
        max_position_embeddings: 4096,
        position_rows: 4096,
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        position_embedding: PositionEmbedding::Rotary,
        attention_bias: false,
        attention_output_bias: false,
        mlp_bias: false,
        tie_word_embeddings: false,
        qk_norm: false,
        embedding_norm: false,
        norms_per_block: 2,
        final_norm: true,
        ..ModelConfig::plain()
    }
}

fn llama_2_70b() -> ModelConfig {
    ModelConfig {
        hidden_size: 8192,
        num_hidden_layers: 80,
        num_attention_heads: 64,
        num_key_value_heads: 8,
        intermediate_size: 28_672,
        normalization: Normalization::RmsNorm,
        mlp: MlpKind::Gated,
        ..plain_7b()
    }
}

fn training() -> TrainingRun {
    TrainingRun {
        seq_length: 4096,
        global_batch_size: 128,
        micro_batch_size: None,
        precision: TrainingPrecision::Bf16Mixed,
        gradients: GradientDType::AsWeights,
        optimizer: Optimizer::DEFAULT,
        stack: support::korthikanti(),
        attention: AttentionKernel::Standard,
        recompute: Recompute::None,
        training_tokens: 1e12,
        mfu: 0.4,
        ..TrainingRun::plain()
    }
}

fn serving(concurrent_sequences: u64) -> ServingRun {
    ServingRun {
        context_length: 4096,
        concurrent_sequences,
        prefill_chunk_size: 2048,
        ..ServingRun::plain()
    }
}

fn sharding(key: &str) -> DataSharding {
    DataSharding::named(key).unwrap()
}

fn layout(t: u64, p: u64, d: u64, sharding: DataSharding) -> ParallelLayout {
    let size = |count| NonZeroU64::new(count).unwrap();
    ParallelLayout {
        tensor_model_parallel_size: size(t),
        pipeline_model_parallel_size: size(p),
        data_parallel_size: size(d),
        sequence_parallel: false,
        sharding,
        ..ParallelLayout::SINGLE
    }
}

fn job(model: ModelConfig, run: Run, layout: ParallelLayout, capacity_gb: u64) -> Job {
    let accelerator = Accelerator {
        memory: Bytes(capacity_gb * Bytes::GB),
        memory_bandwidth: None,
        peak: PeakRates::default(),
        accelerators_per_node: 8,
        price_per_hour: 0.0,
    };
    let overheads = Overheads {
        framework_context: Bytes(Bytes::GB),
        fragmentation_percent: 0.0,
        ..Overheads::NONE
    };
    Job::new(
        model,
        run,
        layout,
        Cluster {
            accelerator,
            overheads,
            speed: headroom::config::Speed::GENERIC,
            host: headroom::config::Host::ASSUMED,
            grid_grams_per_kwh: 0.0,
        },
    )
    .unwrap()
}

/// An engine side with made-up amounts for every kind, so that it differs from every method.
fn odd_engine(parameters: u64) -> EngineSide {
    EngineSide {
        parameters,
        weights: Bytes(1_234_567_890),
        gradients: Bytes(2_345_678_901),
        optimizer: Bytes(3_456_789_012),
        activations: Bytes(4_567_890_123),
        temporary: Bytes(567_890_123),
        kv_cache: Bytes(678_901_234),
        framework: Bytes(789_012_345),
        total: Bytes(13_640_730_628),
    }
}

fn ask(job: &Job, parameters: u64) -> [MethodAnswer; 5] {
    let inputs = MethodInputs::from_job(job, parameters, FlopsPerSecond(120e12));
    all(&inputs, &odd_engine(parameters), MemoryUnit::Gb)
}

fn train(change: impl FnOnce(&mut TrainingRun)) -> Run {
    let mut run = training();
    change(&mut run);
    Run::Training(run)
}

#[test]
fn the_first_document_answers_its_own_scenario_with_its_own_story() {
    let cases = [
        (
            sharding("1"),
            Recompute::None,
            AttentionKernel::Standard,
            Some(935),
            None,
            "At most 128 ranks",
        ),
        (
            sharding("2"),
            Recompute::None,
            AttentionKernel::Standard,
            Some(432),
            None,
            "At most 128 ranks",
        ),
        (
            sharding("3"),
            Recompute::None,
            AttentionKernel::Standard,
            Some(282),
            None,
            "activations of a single sequence take 87.0 GB",
        ),
        (
            sharding("3"),
            Recompute::Full,
            AttentionKernel::Standard,
            Some(15),
            Some(16),
            "15 does not divide 128",
        ),
        (
            sharding("3"),
            Recompute::Full,
            AttentionKernel::Flash,
            Some(8),
            Some(8),
            "39.8 GB of 40.0 GB",
        ),
    ];
    for (sharding, recompute, attention, arithmetic, runnable, words) in cases {
        let run = train(|run| (run.recompute, run.attention) = (recompute, attention));
        let [ju, ..] = ask(&job(plain_7b(), run, layout(1, 1, 8, sharding), 40), 6_705_127_424);
        assert_eq!(
            (ju.gpus.arithmetic, ju.gpus.runnable),
            (arithmetic, runnable),
            "{}",
            ju.gpus.reason
        );
        assert!(ju.gpus.reason.contains(words), "{}", ju.gpus.reason);
    }
}

#[test]
fn memory_at_the_last_step_is_the_documents() {
    let run =
        train(|run| (run.recompute, run.attention) = (Recompute::Full, AttentionKernel::Flash));
    let [ju, ..] = ask(&job(plain_7b(), run, layout(1, 1, 8, sharding("3")), 40), 6_705_127_424);
    assert_eq!(ju.whole_job_total, Some(Bytes(318_158_430_208)));
    assert_eq!(ju.per_gpu_total, Bytes(318_158_430_208).per_rank(8));
    assert_eq!(ju.bytes_of(MethodKind::Temporary), Bytes(68_719_476_736).per_rank(8));
}

#[test]
fn capacity_planning_keeps_its_rounding_and_names_the_right_count() {
    let run = train(|run| {
        (run.global_batch_size, run.micro_batch_size, run.recompute) =
            (8, Some(1), Recompute::Full);
    });
    let answers =
        ask(&job(llama_2_70b(), run, layout(1, 1, 16, sharding("3")), 80), 70_000_000_000);
    let capacity = &answers[2];
    assert_eq!(capacity.gpus.arithmetic, Some(16));
    assert!(
        capacity
            .remarks
            .iter()
            .any(|remark| remark.contains("16 for 16.6 GPUs") && remark.contains("is 32")),
        "{:?}",
        capacity.remarks
    );
    assert_eq!(capacity.per_gpu_total, Bytes(88_811_160_064), "the template's 88.8 GB");
    assert_eq!(capacity.gpus.runnable, None, "a batch of 8 cannot be shared by 16 ranks");
}

#[test]
fn serving_counts_whole_instances() {
    let single = layout(1, 1, 1, DataSharding::NOTHING);
    let [ju, eleuther, capacity, overview, solenya] =
        ask(&job(llama_2_70b(), Run::Serving(serving(10)), single, 80), 70_000_000_000);
    assert_eq!((capacity.gpus.arithmetic, capacity.gpus.runnable), (Some(3), Some(4)));
    assert!(
        capacity.gpus.reason.contains("3 GPUs do not divide 64 heads"),
        "{}",
        capacity.gpus.reason
    );
    assert_eq!(eleuther.per_gpu_total, Bytes(168_000_000_000));
    assert_eq!((eleuther.gpus.arithmetic, eleuther.gpus.runnable), (None, Some(4)));
    for answer in [ju, overview, solenya] {
        assert!(!answer.covered && answer.per_gpu.is_empty(), "{}", answer.id);
    }
}

#[test]
fn differences_are_worked_out_from_the_scenario() {
    let run = train(|run| {
        run.attention = AttentionKernel::Flash;
        run.gradients = GradientDType::Fp32;
        run.micro_batch_size = Some(1);
        run.stack = support::fused();
    });
    let answers = ask(&job(llama_2_70b(), run, layout(8, 1, 4, sharding("1")), 80), 68_976_648_192);
    let why = |index: usize, term: &str| {
        let answer: &MethodAnswer = &answers[index];
        answer
            .differences
            .iter()
            .find(|difference| difference.term == term)
            .map(|difference| difference.why.clone())
            .unwrap()
    };
    assert!(
        why(0, "parameters")
            .contains("a gated MLP with three matrices, 8 key/value heads for 64 query heads")
    );
    assert!(
        why(0, "activations").contains("equences held at once: 4 there, 1 in this run"),
        "{}",
        why(0, "activations")
    );
    assert!(why(1, "activations").contains("although FlashAttention keeps them on the chip"));
    assert!(
        why(2, "activations").contains("68 bytes per s·b·h·L, twice its own rule"),
        "{}",
        why(2, "activations")
    );
    assert!(
        why(3, "weights").contains("it ignores that 8 GPUs share this"),
        "{}",
        why(3, "weights")
    );
    assert!(why(3, "gradients").contains("2 bytes per parameter where this run keeps 4"));
    assert!(why(4, "weights").contains("6 bytes per parameter where this run keeps 2"));
    assert!(why(4, "optimizer").contains("8 bytes per parameter where this run keeps 12"));
}

/// In every scenario, each visible difference has a reason, sums add up, and no reason is given
/// twice.
#[test]
fn every_difference_has_a_reason() {
    let mut scenarios = Vec::new();
    for (model, parameters) in [(plain_7b(), 6_705_127_424), (llama_2_70b(), 68_976_648_192)] {
        for recompute in [Recompute::None, Recompute::Selective, Recompute::Full] {
            for attention in [AttentionKernel::Standard, AttentionKernel::Flash] {
                for (t, p, d) in [(1, 1, 1), (1, 1, 16), (8, 2, 4)] {
                    for precision in [
                        TrainingPrecision::Bf16Mixed,
                        TrainingPrecision::Fp32,
                        TrainingPrecision::Bf16Pure,
                    ] {
                        for optimizer in Optimizer::ALL {
                            let run = train(|run| {
                                (run.recompute, run.attention) = (recompute, attention);
                                (run.precision, run.optimizer) = (precision, optimizer);
                            });
                            scenarios.push((
                                job(model.clone(), run, layout(t, p, d, sharding("2")), 80),
                                parameters,
                            ));
                        }
                    }
                }
            }
        }
        scenarios.push((
            job(model, Run::Serving(serving(100)), layout(4, 1, 2, DataSharding::NOTHING), 80),
            parameters,
        ));
    }
    for (job, parameters) in &scenarios {
        let engine = odd_engine(*parameters);
        for answer in ask(job, *parameters) {
            assert_eq!(answer.per_gpu_total, answer.per_gpu.iter().map(|line| line.bytes).sum());
            assert!(!answer.gpus.reason.is_empty());
            for kind in MethodKind::ALL.into_iter().filter(|_| answer.covered) {
                let (says, engine_says) = (
                    MemoryUnit::Gb.show(answer.bytes_of(kind)),
                    MemoryUnit::Gb.show(engine.of(kind)),
                );
                let found: Vec<_> = answer
                    .differences
                    .iter()
                    .filter(|difference| difference.term == kind.name())
                    .collect();
                assert_eq!(
                    found.len(),
                    usize::from(says != engine_says),
                    "{} {}",
                    answer.id,
                    kind.name()
                );
                for difference in found {
                    assert_eq!((&difference.says, &difference.engine_says), (&says, &engine_says));
                    assert!(
                        difference.why.len() > 20 && difference.why.ends_with('.'),
                        "{}: {}",
                        answer.id,
                        difference.why
                    );
                }
            }
        }
    }
}

#[test]
fn absurd_sizes_neither_panic_nor_hang() {
    let huge = ModelConfig {
        hidden_size: u64::MAX,
        num_hidden_layers: u64::MAX,
        vocab_size: u64::MAX,
        ..plain_7b()
    };
    let run = train(|run| (run.global_batch_size, run.seq_length) = (u64::MAX, u64::MAX));
    for answer in
        ask(&job(huge.clone(), run, layout(u64::MAX, 1, u64::MAX, sharding("fsdp")), 1), u64::MAX)
    {
        assert!(!answer.gpus.reason.is_empty());
    }
    for answer in ask(
        &job(huge, Run::Serving(serving(u64::MAX)), layout(1, 1, 1, DataSharding::NOTHING), 1),
        u64::MAX,
    ) {
        assert!(!answer.gpus.reason.is_empty());
    }
    let empty =
        job(plain_7b(), Run::Training(training()), layout(1, 1, 1, DataSharding::NOTHING), 0);
    assert!(ask(&empty, 0).iter().all(|answer| answer.gpus.runnable.is_none()));
}

#[test]
fn the_story_is_the_documents() {
    let stated: Vec<_> =
        ju_2026::story().iter().map(|step| (step.stated, step.arithmetic, step.runnable)).collect();
    let expected = [
        (None, None, None),
        (Some(924), Some(935), None),
        (Some(423), Some(432), None),
        (Some(275), Some(282), None),
        (Some(15), Some(15), Some(16)),
        (Some(8), Some(8), Some(8)),
    ];
    assert_eq!(stated, expected);
}
