//! The search over layouts: its quickly computed memory and times equal those of the estimate.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, Choice, DataSharding, Job, MegatronOptions, ModelConfig, Offload, Optimizer,
    Overheads, ParallelLayout, PipelineSchedule, PipelineSplit, Recompute, RecomputeMethod, Run,
    TokenDispatcher, TrainingRun,
};
use headroom::estimator::time::{StepTime, block_times, spread};
use headroom::estimator::{Layouts, memory_by_kind};
use headroom::units::Bytes;
use proptest::prelude::*;
use support::{cluster, layout};

fn degree(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).expect("a degree is at least 1")
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

const SHARDINGS: &[DataSharding] = &DataSharding::ALL;
const OPTIMIZERS: &[Optimizer] = &Optimizer::ALL;

const SCHEDULES: &[PipelineSchedule] = &[
    PipelineSchedule::OneForwardOneBackward,
    PipelineSchedule::OneForwardOneBackward,
    PipelineSchedule::GPipe,
    PipelineSchedule::ZeroBubbleH1,
    PipelineSchedule::ZeroBubbleH2,
    PipelineSchedule::DualPipe,
];

/// Real models of each kind: dense, tied embeddings, grouped heads, experts in all or most layers,
/// latent attention.
const MODELS: &[&str] = &[
    "gpt3-175b",
    "llama3-70b",
    "mixtral-8x7b",
    "deepseek-v3",
    "gpt2",
    "qwen3-30b-a3b",
    "mt-nlg-530b",
];

fn model(id: &str) -> ModelConfig {
    headroom::catalog::model(id).map_or_else(|| panic!("no model {id}"), |row| row.config.clone())
}

prop_compose! {
    fn megatron()(flags in any::<[bool; 10]>(), uniform in 1_u64..4, deferral in 0_u64..3, load in one_of(&[100, 100, 130])) -> MegatronOptions {
        let [hidden, attention, fusion, engine, fused, grouped, padded, mask, to_all, block] = flags;
        MegatronOptions {
            hidden_dropout: hidden,
            attention_dropout: attention,
            gradient_accumulation_fusion: fusion,
            transformer_engine: engine,
            fused_attention: fused,
            moe_grouped_gemm: grouped,
            moe_pad_expert_input_to_capacity: padded,
            create_attention_mask: mask,
            moe_token_dispatcher: if to_all { TokenDispatcher::AllToAll } else { TokenDispatcher::AllGather },
            recompute_method: if block { RecomputeMethod::Block(uniform) } else { RecomputeMethod::Uniform(degree(uniform)) },
            wgrad_deferral_limit: deferral,
            moe_load_percent: load,
            ..MegatronOptions::DEFAULT
        }
    }
}

prop_compose! {
    fn run()(
        kernels in proptest::sample::select(vec![support::megatron(), support::megatron(), support::korthikanti(), support::fused(), support::eager()]),
        seq_length in one_of(&[64, 1000, 2048, 8192]),
        global_batch_size in one_of(&[1, 24, 512, 1536]),
        attention in one_of(&[AttentionKernel::Standard, AttentionKernel::Flash]),
        optimizer in one_of(OPTIMIZERS),
        megatron in megatron(),
    ) -> TrainingRun {
        TrainingRun { stack: kernels, seq_length, global_batch_size, attention, optimizer, megatron, ..TrainingRun::plain() }
    }
}

prop_compose! {
    /// Any layout, legal or not, since bytes must be equal for both.
    fn choice()(
        t in one_of(&[1, 2, 3, 4, 8, 16]), p in one_of(&[1, 2, 3, 5, 8, 12]), d in one_of(&[1, 2, 3, 8, 64]),
        cp in one_of(&[1, 1, 2, 8]), ep in one_of(&[1, 1, 2, 4, 8]), etp in one_of(&[None, Some(1), Some(2)]),
        chunks in one_of(&[1, 1, 2, 3]), micro_batch in one_of(&[1, 1, 2, 5]), sequence_parallel in any::<bool>(),
        schedule in one_of(SCHEDULES), split in (0_usize..4, 1_u64..5, 1_u64..5), replicas in one_of(&[1, 1, 2, 4]),
        offload in any::<[bool; 3]>(), offloads in any::<bool>(), sharding in one_of(SHARDINGS), recompute in one_of(&[Recompute::None, Recompute::Selective, Recompute::Full]),
    ) -> Choice {
        let layout = ParallelLayout {
            context_parallel_size: degree(cp),
            expert_model_parallel_size: degree(ep),
            expert_tensor_parallel_size: etp.map(degree),
            virtual_pipeline_model_parallel_size: degree(chunks),
            sequence_parallel,
            pipeline_schedule: schedule,
            pipeline_split: match split {
                (2, first, last) => PipelineSplit::Ends { first: Some(degree(first)), last: Some(degree(last)) },
                (3, ..) => PipelineSplit::WithEnds,
                _ => PipelineSplit::Even,
            },
            data_parallel_replicas: degree(replicas),
            offload: if offloads {
                let [optimizer, parameters, activations] = offload;
                Offload { optimizer, parameters, activations }
            } else {
                Offload::NONE
            },
            ..layout(t, p, d, sharding)
        };
        Choice { layout, micro_batch_size: degree(micro_batch), recompute }
    }
}

fn job(id: &str, run: TrainingRun, percent: f64) -> Job {
    let mut cluster = cluster(Bytes(80 * Bytes::GIB));
    cluster.overheads = Overheads {
        framework_context: Bytes(Bytes::GIB),
        fragmentation_percent: percent,
        communicator_buffers: Bytes(1 << 22),
        ..Overheads::NONE
    };
    Job::new(model(id), Run::Training(run), ParallelLayout::SINGLE, cluster).expect("a valid job")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Bytes and seconds computed with parts shared among layouts equal those of each layout alone.
    #[test]
    fn quick_bytes_are_the_estimates(
        id in one_of(MODELS), run in run(), percent in 0.0..9.0, choices in proptest::collection::vec(choice(), 1..40),
    ) {
        let job = job(id, run.clone(), percent);
        let mut together = Layouts::of(&job);
        for choice in choices {
            together.choose(&choice);
            let chosen = job.with_choice(&choice);
            prop_assert_eq!(together.memory().0, memory_by_kind(&chosen), "{:?}", choice);
            let own = block_times(&chosen).zip(spread(&chosen)).map(|(times, spread)| StepTime::seconds(&times, &spread));
            // Lower bounds hold before the layout's own times are computed, from other layouts'
            // times, and after.
            let share = run.global_batch_size / choice.layout.d();
            let divides = share > 0 && share.is_multiple_of(choice.micro_batch_size.get());
            for known in [false, true] {
                if divides {
                    let any = together.at_least_with_any();
                    prop_assert!(own.is_none_or(|own| any <= own), "{:?}: {} {:?}", choice, any, own);
                }
                let bound = together.at_least();
                prop_assert!(own.is_none_or(|own| bound <= own), "{:?}: {} {:?} {}", choice, bound, own, known);
                prop_assert_eq!(together.seconds(), own, "{:?}", choice);
            }
        }
    }
}
