//! Memory of layouts: hybrid sharding, host memory, uneven stages, buffers, and combinations that
//! frameworks forbid.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use std::num::NonZeroU64;

use headroom::config::{
    DataSharding, GradientDType, Job, ModelConfig, Offload, ParallelLayout, PipelineSchedule,
    PipelineSplit, Recompute, TrainingRun,
};
use headroom::estimator::{
    Ledger, MemoryKind, StageMemory, blockers, estimate, memory_by_kind, stages,
};
use headroom::sources::SourceKind;
use headroom::units::Bytes;
use support::{gpt, layout, training_job};

fn degree(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).expect("at least one")
}

fn model() -> ModelConfig {
    ModelConfig { tie_word_embeddings: false, ..gpt(1024, 16, 16) }
}

/// A change of a run.
type Run = fn(&mut TrainingRun);
/// A change of a layout.
type Edit = fn(&mut ParallelLayout);

fn short(run: &mut TrainingRun) {
    run.seq_length = 512;
    run.global_batch_size = 64;
}

fn megatron(run: &mut TrainingRun) {
    short(run);
    run.stack = support::megatron();
    run.gradients = GradientDType::Fp32;
}

fn of(job: &Job, kind: MemoryKind) -> u64 {
    estimate(job).ledger.of(kind).0
}

fn of_label(ledger: &Ledger, label: &str) -> u64 {
    ledger.lines.iter().filter(|line| line.label == label).map(|line| line.bytes.0).sum()
}

#[test]
fn hybrid_sharding_shares_within_its_groups() {
    for (sharding, edit) in [(support::fsdp(), short as Run), (support::zero1(), megatron)] {
        let job = |ranks, replicas| {
            let layout = ParallelLayout {
                data_parallel_replicas: degree(replicas),
                ..layout(1, 1, ranks, sharding)
            };
            training_job(&model(), layout, edit)
        };
        let states = |job: &Job| {
            let ledger = estimate(job).ledger;
            [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState]
                .map(|kind| ledger.of(kind))
        };
        assert_eq!(states(&job(16, 4)), states(&job(4, 1)), "{sharding:?}");
        assert!(states(&job(16, 4)) > states(&job(16, 1)), "{sharding:?}");
    }
}

/// Offloaded states are counted in host memory and no longer on the device.
#[test]
fn host_memory_takes_over_what_leaves_the_device() {
    let offload =
        |optimizer, parameters, activations| Offload { optimizer, parameters, activations };
    let job = |sharding, offload, edit: Run| {
        training_job(&model(), ParallelLayout { offload, ..layout(1, 1, 4, sharding) }, edit)
    };
    let cases: [(DataSharding, Offload, Run); 6] = [
        (support::zero2(), offload(true, false, false), short),
        (support::zero3(), offload(true, true, false), short),
        (support::fsdp(), offload(true, true, false), short),
        (support::zero1(), offload(true, false, false), megatron),
        (support::zero1(), offload(false, false, true), megatron),
        (support::fsdp(), offload(true, true, true), short),
    ];
    for (sharding, away, edit) in cases {
        let (plain, with) = (job(sharding, Offload::NONE, edit), job(sharding, away, edit));
        assert!(blockers(&with).is_empty(), "{sharding:?} {away:?}: {:?}", blockers(&with));
        let [before, after] = [&plain, &with].map(estimate);
        assert_eq!(before.host, Ledger::default());
        assert_eq!(after.ledger.by_kind(), memory_by_kind(&with), "{sharding:?} {away:?}");
        assert!(after.total() < before.total(), "{sharding:?} {away:?}");
        for (kind, gone) in
            [(MemoryKind::Parameter, away.parameters), (MemoryKind::OptimizerState, away.optimizer)]
        {
            let expected = before.ledger.of(kind);
            assert_eq!(
                after.host.of(kind),
                if gone { expected } else { Bytes::ZERO },
                "{kind:?} {sharding:?} {away:?}"
            );
            assert_eq!(
                after.ledger.of(kind),
                if gone { Bytes::ZERO } else { expected },
                "{kind:?} {sharding:?} {away:?}"
            );
        }
        assert_eq!(
            after.host.of(MemoryKind::Activation) > Bytes::ZERO,
            away.activations,
            "{sharding:?} {away:?}"
        );
        // ZeRO-Offload and FSDP2 move gradients along; Megatron-LM's main gradients stay.
        let gradients = away.optimizer && sharding.shards_gradients();
        assert_eq!(
            after.host.of(MemoryKind::Gradient) > Bytes::ZERO,
            gradients,
            "{sharding:?} {away:?}"
        );
    }
}

/// ZeRO-Offload keeps the fp16 weights alone: 2 bytes per parameter (Ren et al. 2021, section 4).
#[test]
fn zero_offload_keeps_two_bytes_per_parameter() {
    let offload = Offload { optimizer: true, ..Offload::NONE };
    let job = training_job(
        &model(),
        ParallelLayout { offload, ..layout(1, 1, 4, support::zero2()) },
        short,
    );
    let estimate = estimate(&job);
    let parameters = estimate.parameters.total;
    assert_eq!(estimate.ledger.of(MemoryKind::Parameter).0, 2 * parameters);
    assert_eq!(estimate.ledger.of(MemoryKind::OptimizerState), Bytes::ZERO);
    assert_eq!(estimate.host.of(MemoryKind::OptimizerState).0, 12 * parameters.div_ceil(4));
}

#[test]
fn buffers_of_deepspeed_and_of_communicators_are_lines() {
    let job = |sharding, edit: Run| training_job(&model(), layout(2, 1, 4, sharding), edit);
    let bucket = |job: &Job| of_label(&estimate(job).ledger, "Reduction bucket");
    assert_eq!(
        [DataSharding::NOTHING, support::fsdp()].map(|sharding| bucket(&job(sharding, short))),
        [0, 0]
    );
    for sharding in [support::zero1(), support::zero2(), support::zero3()] {
        assert_eq!(bucket(&job(sharding, short)), 2 * 500_000_000, "{sharding:?}");
    }
    assert_eq!(bucket(&job(support::zero1(), megatron)), 0);
    let one = training_job(&model(), layout(1, 1, 1, support::zero2()), short);
    assert_eq!(bucket(&one), 0);

    let mut scenario = headroom::scenario::Scenario::default();
    scenario.set(
        headroom::scenario::FieldId::CommunicatorBuffers,
        headroom::scenario::Value::Decimal(100.0),
    );
    scenario
        .set(headroom::scenario::FieldId::TensorParallel, headroom::scenario::Value::Integer(2));
    let job = scenario.resolve().expect("a job");
    assert_eq!(
        of_label(&estimate(&job).ledger, "Communicator buffers"),
        200 << 20,
        "tensor and data-parallel groups"
    );
}

/// Llama 3's pipeline split: 126 layers on 16 stages, where the first and the last stage hold one
/// layer fewer (Grattafiori et al. 2024, section 3.3.2).
#[test]
fn ends_of_a_pipeline_may_hold_fewer_layers() {
    let blocks = |split, chunks, layers, stage: u64| {
        let layout = ParallelLayout {
            pipeline_model_parallel_size: degree(16),
            virtual_pipeline_model_parallel_size: degree(chunks),
            pipeline_split: split,
            ..ParallelLayout::SINGLE
        };
        (0..chunks)
            .map(|chunk| layout.blocks_at(layers, chunk * 16 + stage))
            .map(|range| range.end - range.start)
            .sum::<u64>()
    };
    let all = |split, chunks, layers| {
        (0..16).map(|stage| blocks(split, chunks, layers, stage)).collect::<Vec<_>>()
    };
    let seven = || std::iter::once(7).chain([8; 14]).chain([7]).collect::<Vec<u64>>();
    assert_eq!(all(PipelineSplit::WithEnds, 1, 126), seven());
    assert_eq!(all(PipelineSplit::WithEnds, 8, 126), seven());
    let ends = PipelineSplit::Ends { first: NonZeroU64::new(7), last: NonZeroU64::new(7) };
    assert_eq!(all(ends, 1, 126), seven());
    // DeepSeek-V3: 61 layers.
    let first = PipelineSplit::Ends { first: NonZeroU64::new(1), last: None };
    assert_eq!(all(first, 1, 61), std::iter::once(1).chain([4; 15]).collect::<Vec<u64>>());
    assert_eq!(all(PipelineSplit::Even, 1, 61), [4; 16], "the most loaded stage's");
}

#[test]
fn every_block_lies_on_one_stage() {
    for (p, chunks, layers) in [(4, 1, 16), (4, 2, 16), (3, 1, 7), (2, 3, 22), (1, 1, 5)] {
        for split in [
            PipelineSplit::Even,
            PipelineSplit::WithEnds,
            PipelineSplit::Ends { first: NonZeroU64::new(2 * chunks), last: None },
            PipelineSplit::Ends { first: NonZeroU64::new(chunks), last: NonZeroU64::new(chunks) },
        ] {
            let layout = ParallelLayout {
                pipeline_model_parallel_size: degree(p),
                virtual_pipeline_model_parallel_size: degree(chunks),
                pipeline_split: split,
                ..ParallelLayout::SINGLE
            };
            let ranges: Vec<_> =
                (0..p * chunks).map(|position| layout.blocks_at(layers, position)).collect();
            let held: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let in_a_row =
                ranges.windows(2).all(|pair| pair[0].end == pair[1].start) && ranges[0].start == 0;
            assert_eq!(
                layout.deals_out(layers),
                in_a_row && held == layers,
                "{p} {chunks} {layers} {split:?} {ranges:?}"
            );
            assert!(held >= layers || split != PipelineSplit::Even, "{split:?}");
        }
    }
}

/// The first and the last stage of a pipeline each hold a copy of a tied embedding; a rank that is
/// both ends holds one.
#[test]
fn a_tied_embedding_is_held_at_both_ends() {
    let tied = ModelConfig { tie_word_embeddings: true, ..model() };
    let weights = |schedule, stage| {
        let layout = ParallelLayout {
            pipeline_schedule: schedule,
            ..layout(1, 2, 1, DataSharding::NOTHING)
        };
        let job = training_job(&tied, layout, megatron);
        headroom::estimator::stage_ledger(&job, stage).expect("a stage").of(MemoryKind::Parameter).0
            / 2
    };
    let word = 32_000 * 1024;
    let (one, dual) = (PipelineSchedule::OneForwardOneBackward, PipelineSchedule::DualPipe);
    let block = 12 * 1024 * 1024 + 13 * 1024;
    assert_eq!(weights(one, 0), 8 * block + word + 4096 * 1024);
    assert_eq!(weights(one, 1), 8 * block + word + 2 * 1024);
    assert_eq!(weights(dual, 0), 16 * block + word + 4096 * 1024 + 2 * 1024);
    assert_eq!(weights(dual, 0), weights(dual, 1), "every rank holds both stages");
}

#[test]
fn schedules_keep_what_they_say() {
    let activations = |schedule, edit: Run, batch| {
        let layout = ParallelLayout {
            pipeline_schedule: schedule,
            ..layout(1, 4, 1, DataSharding::NOTHING)
        };
        let job = training_job(&model(), layout, |run| {
            edit(run);
            run.global_batch_size = batch;
        });
        of(&job, MemoryKind::Activation)
    };
    for edit in [short as Run, megatron] {
        let [one, h1, h2, all] = [
            PipelineSchedule::OneForwardOneBackward,
            PipelineSchedule::ZeroBubbleH1,
            PipelineSchedule::ZeroBubbleH2,
            PipelineSchedule::GPipe,
        ]
        .map(|schedule| [32, 64, 128].map(|batch| activations(schedule, edit, batch)));
        assert!(one[0] <= h1[0] && h1[0] < h2[0] && h2[0] < all[0]);
        for settled in [one, h1, h2] {
            assert_eq!(settled, [settled[0]; 3], "further micro-batches add nothing");
        }
        assert_eq!(all[2] - all[1], 2 * (all[1] - all[0]), "GPipe keeps every micro-batch");
    }
}

/// Expert activations of the busiest rank grow with its load, up to all tokens of the group.
#[test]
fn the_busiest_expert_rank_is_the_verdict() {
    let row = headroom::catalog::model("mixtral-8x7b").expect("in the catalog");
    let total = |ep, percent| {
        let layout = ParallelLayout {
            expert_model_parallel_size: degree(ep),
            ..layout(1, 1, 8, support::zero1())
        };
        estimate(&training_job(&row.config, layout, |run| {
            megatron(run);
            run.megatron.moe_load_percent = percent;
        }))
        .total()
    };
    assert_eq!(total(1, 100), total(1, 300), "a rank with all experts gets all tokens");
    assert!(total(8, 100) < total(8, 150) && total(8, 150) < total(8, 800));
    assert_eq!(total(8, 800), total(8, 5000));
}

/// Each forbidden combination is refused by a sentence that names the framework.
#[test]
fn forbidden_combinations_are_named_with_their_framework() {
    let cases: [(&str, Run, Edit); 15] = [
        ("DeepSpeed does not combine", short, |layout| {
            (layout.pipeline_model_parallel_size, layout.sharding) = (degree(2), support::zero3());
        }),
        ("Megatron-LM has no sequence parallelism without", megatron, |layout| {
            layout.sequence_parallel = true;
        }),
        ("Megatron-LM does not combine PyTorch's FSDP2 with pipeline", megatron, |layout| {
            (layout.pipeline_model_parallel_size, layout.sharding) = (degree(2), support::fsdp());
        }),
        ("Megatron-LM interleaves only", megatron, |layout| {
            layout.pipeline_model_parallel_size = degree(4);
            layout.virtual_pipeline_model_parallel_size = degree(2);
            layout.data_parallel_size = degree(32);
        }),
        ("Megatron-LM has chunks of layers only", megatron, |layout| {
            layout.virtual_pipeline_model_parallel_size = degree(2);
        }),
        ("Chunks of layers belong", megatron, |layout| {
            layout.virtual_pipeline_model_parallel_size = degree(2);
            layout.pipeline_schedule = PipelineSchedule::DualPipe;
        }),
        ("DualPipe needs an even", megatron, |layout| {
            layout.pipeline_model_parallel_size = degree(4);
            layout.pipeline_schedule = PipelineSchedule::DualPipe;
            layout.data_parallel_size = degree(16);
        }),
        ("Sharding groups need", short, |layout| layout.data_parallel_replicas = degree(2)),
        ("DeepSpeed shards within groups", short, |layout| {
            (layout.data_parallel_replicas, layout.sharding) = (degree(2), support::zero2());
        }),
        ("4 data-parallel ranks do not split into 3", short, |layout| {
            (layout.data_parallel_replicas, layout.sharding) = (degree(3), support::fsdp());
        }),
        ("DeepSpeed and PyTorch keep weights", short, |layout| layout.offload.parameters = true),
        ("Megatron-LM does not keep weights", megatron, |layout| layout.offload.parameters = true),
        ("PyTorch's FSDP2 moves", short, |layout| {
            (layout.offload.optimizer, layout.sharding) = (true, support::fsdp());
        }),
        ("Megatron-LM offloads its optimizer only", megatron, |layout| {
            layout.offload.optimizer = true;
        }),
        ("Megatron-LM does not offload activations with", megatron, |layout| {
            (layout.offload.activations, layout.pipeline_model_parallel_size) = (true, degree(2));
        }),
    ];
    for (says, edit, change) in cases {
        let mut layout = layout(1, 1, 4, DataSharding::NOTHING);
        change(&mut layout);
        let found = blockers(&training_job(&model(), layout, edit));
        let named = found.iter().find(|blocker| blocker.to_string().starts_with(says));
        assert!(named.is_some(), "{says}: {found:?}");
        let source = named.map(headroom::estimator::Blocker::source).expect("just seen");
        let sized = says.starts_with('4');
        assert_eq!(source.kind == SourceKind::Arithmetic, sized, "{says}: {source:?}");
    }
    let recomputed = training_job(
        &model(),
        ParallelLayout {
            offload: Offload { activations: true, ..Offload::NONE },
            ..layout(1, 1, 4, DataSharding::NOTHING)
        },
        |run| {
            megatron(run);
            run.recompute = Recompute::Full;
        },
    );
    assert!(blockers(&recomputed).iter().any(|blocker| blocker.to_string().contains("recomputes")));
}

/// Every stage is listed and the highest peak decides the verdict; the number of micro-batches in
/// flight falls from stage to stage.
#[test]
fn every_stage_has_a_peak_and_the_highest_is_the_verdict() {
    let listed: Run = |run| {
        short(run);
        run.stack = support::korthikanti();
    };
    for edit in [short as Run, megatron, listed] {
        for (schedule, split) in [
            (PipelineSchedule::OneForwardOneBackward, PipelineSplit::Even),
            (
                PipelineSchedule::ZeroBubbleH2,
                PipelineSplit::Ends { first: NonZeroU64::new(1), last: NonZeroU64::new(3) },
            ),
        ] {
            let layout = ParallelLayout {
                pipeline_schedule: schedule,
                pipeline_split: split,
                ..layout(1, 4, 2, support::zero1())
            };
            let job = training_job(&model(), layout, edit);
            let (all, estimate) = (stages(&job), estimate(&job));
            assert_eq!(all.iter().map(|stage| stage.stage).collect::<Vec<_>>(), [0, 1, 2, 3]);
            assert_eq!(all.iter().map(|stage| stage.blocks).sum::<u64>(), 16);
            assert_eq!(
                all.iter().map(StageMemory::total).max(),
                Some(estimate.total()),
                "{split:?}"
            );
            let shown =
                all.iter().find(|stage| stage.stage == estimate.peak_stage).expect("a stage");
            assert_eq!(
                (shown.by_kind, shown.moment),
                (estimate.ledger.by_kind(), estimate.peak_moment)
            );
            assert!(all.windows(2).all(|pair| pair[0].in_flight >= pair[1].in_flight));
        }
    }
}
