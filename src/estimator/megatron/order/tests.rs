#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use std::collections::HashMap;
use std::num::NonZeroU64;

use super::events;
use crate::config::{
    Accelerator, BaseFormat, Cluster, DataSharding, GradientDType, Job, LayerSet, LossFusion,
    MegatronOptions, ModelConfig, Moe, OptimizerImplementation, Overheads, ParallelLayout,
    PeakRates, Recompute, RecomputeModules, Run, Stack, Targets, TokenDispatcher, TrainingRun,
    Tuning,
};
use crate::estimator::rank_device_memory;
use crate::estimator::timeline::TensorEvent;
use crate::units::Bytes;

/// Changes a run and its layout.
type Change = dyn Fn(&mut TrainingRun, &mut ParallelLayout);

fn small(is_tied: bool) -> ModelConfig {
    ModelConfig {
        hidden_size: 256,
        intermediate_size: 512,
        num_hidden_layers: 4,
        num_attention_heads: 8,
        num_key_value_heads: 4,
        head_dim: 32,
        vocab_size: 1024,
        qk_norm: true,
        tie_word_embeddings: is_tied,
        ..ModelConfig::plain()
    }
}

fn job(
    model: ModelConfig,
    pipeline: u64,
    change: &impl Fn(&mut TrainingRun, &mut ParallelLayout),
) -> (Job, TrainingRun) {
    let mut layout = ParallelLayout {
        pipeline_model_parallel_size: NonZeroU64::new(pipeline).unwrap(),
        data_parallel_size: NonZeroU64::new(2).unwrap(),
        sharding: DataSharding::named("1").unwrap(),
        ..ParallelLayout::SINGLE
    };
    let mut run = TrainingRun {
        global_batch_size: 8,
        micro_batch_size: Some(1),
        gradients: GradientDType::Fp32,
        stack: Stack::ALL.into_iter().find(|stack| stack.has_own_schedule()).unwrap(),
        megatron: MegatronOptions {
            cross_entropy_loss_fusion: LossFusion::Native,
            ..MegatronOptions::DEFAULT
        },
        ..TrainingRun::plain()
    };
    change(&mut run, &mut layout);
    let accelerator = Accelerator {
        memory: Bytes(80 * Bytes::GIB),
        memory_bandwidth: None,
        peak: PeakRates::default(),
        accelerators_per_node: 8,
        price_per_hour: 0.0,
    };
    let cluster = Cluster {
        accelerator,
        overheads: Overheads::NONE,
        speed: crate::config::Speed::GENERIC,
        host: crate::config::Host::ASSUMED,
        grid_grams_per_kwh: 0.0,
    };
    (Job::new(model, Run::Training(run.clone()), layout, cluster).unwrap(), run)
}

/// Bytes that are taken after so many steps. Nothing may be freed that is not taken.
fn left(job: &Job, run: &TrainingRun, stage: u64, steps: u32) -> u64 {
    let mut taken: HashMap<u32, (u64, &str)> = HashMap::new();
    let mut known: HashMap<u32, &str> = HashMap::new();
    for event in events(job, run, [stage, 0], steps).unwrap() {
        match event {
            TensorEvent::Taken { tensor, bytes, name, .. } => {
                known.insert(tensor, name);
                assert_eq!(taken.insert(tensor, (bytes, name)), None, "{name} is taken twice");
            }
            TensorEvent::Freed { tensor } => {
                assert!(
                    taken.remove(&tensor).is_some(),
                    "{} is freed twice",
                    known.get(&tensor).unwrap()
                );
            }
            TensorEvent::CacheEmptied => {}
        }
    }
    taken.values().map(|(bytes, _)| bytes).sum()
}

/// After the first step nothing is left over from one to the next, but the message that a stage
/// received last.
#[test]
fn every_tensor_is_freed_once() {
    let kinds: [&Change; 7] = [
        &|_, _| {},
        &|run, _| run.recompute = Recompute::Full,
        &|run, _| run.recompute = Recompute::Selective,
        &|run, _| {
            run.recompute = Recompute::Selective;
            run.megatron.recompute_modules = RecomputeModules {
                core_attn: false,
                mlp: true,
                ..RecomputeModules::CORE_ATTENTION
            };
        },
        &|_, layout| {
            layout.tensor_model_parallel_size = NonZeroU64::new(2).unwrap();
            layout.sequence_parallel = true;
        },
        &|run, _| run.megatron.fused_attention = false,
        &|_, layout| layout.offload.optimizer = true,
    ];
    for engine in [true, false] {
        for (pipeline, is_tied) in [(1, true), (1, false), (2, true), (2, false)] {
            for kind in kinds {
                let (job, run) = job(small(is_tied), pipeline, &|run, layout| {
                    run.megatron.transformer_engine = engine;
                    kind(run, layout);
                });
                for stage in 0..pipeline {
                    let [two, three] = [2, 3].map(|steps| left(&job, &run, stage, steps));
                    assert_eq!(
                        two, three,
                        "stage {stage} of {pipeline}, engine {engine}, tied {is_tied}, {:?}",
                        run.recompute
                    );
                }
            }
        }
    }
}

/// Adapters, with dropout or without, leave nothing behind either, in a mixture of experts as in a
/// dense model.
#[test]
fn every_tensor_of_an_adapter_is_freed_once() {
    let moe = Moe {
        num_experts: 8,
        num_experts_per_tok: 2,
        moe_intermediate_size: 64,
        shared_expert_intermediate_size: 0,
        shared_expert_gate: false,
        layers: LayerSet::All,
        n_group: 1,
        topk_group: 1,
        norm_topk_prob: true,
        bias: false,
        latent: 0,
    };
    let mixture = ModelConfig { moe: Some(moe), ..small(false) };
    for (model, dropout, fused, experts) in [
        (small(true), true, true, 1),
        (small(false), false, true, 1),
        (mixture.clone(), true, true, 1),
        (mixture.clone(), false, true, 1),
        (mixture.clone(), true, false, 1),
        // One expert on each rank.
        (mixture, false, true, 8),
    ] {
        for recompute in [Recompute::None, Recompute::Selective, Recompute::Full] {
            for (pipeline, tensor, targets) in
                [(1, 1, Targets::ALL), (2, 2, Targets::ALL), (2, 1, Targets::OUTPUT)]
            {
                let (job, run) = job(model.clone(), pipeline, &|run, layout| {
                    layout.tensor_model_parallel_size = NonZeroU64::new(tensor).unwrap();
                    layout.expert_tensor_parallel_size = Some(NonZeroU64::MIN);
                    layout.expert_model_parallel_size = NonZeroU64::new(experts).unwrap();
                    if experts > 1 {
                        layout.data_parallel_size = NonZeroU64::new(experts).unwrap();
                    }
                    layout.sequence_parallel = tensor > 1;
                    run.recompute = recompute;
                    run.megatron.moe_grouped_gemm = true;
                    run.megatron.moe_permute_fusion = fused;
                    run.megatron.moe_token_dispatcher = TokenDispatcher::AllToAll;
                    run.tuning = Tuning {
                        target_modules: targets,
                        dropout,
                        ..Tuning::FULL.with_adapters(BaseFormat::Weights)
                    };
                });
                for stage in 0..pipeline {
                    let [two, three] = [2, 3].map(|steps| left(&job, &run, stage, steps));
                    assert_eq!(two, three, "stage {stage} of {pipeline}, {dropout}, {recompute:?}");
                }
            }
        }
    }
}

/// A row of `tests/data/cuda/frameworks.jsonl` (`59b1f83914`): Qwen3 4B on 2 tensor and 4 data
/// ranks, Megatron-Core's own modules, feed-forward layers recomputed, PyTorch's optimizer and
/// attention.
#[test]
fn a_rank_takes_and_reserves_what_megatron_does() {
    let model = ModelConfig {
        hidden_size: 2560,
        intermediate_size: 9728,
        num_hidden_layers: 36,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        head_dim: 128,
        vocab_size: 151_936,
        ..small(true)
    };
    let (job, _) = job(model, 1, &|run, layout| {
        layout.tensor_model_parallel_size = NonZeroU64::new(2).unwrap();
        layout.data_parallel_size = NonZeroU64::new(4).unwrap();
        layout.sequence_parallel = true;
        run.seq_length = 4096;
        run.recompute = Recompute::Selective;
        run.optimizer_implementation = OptimizerImplementation::Foreach;
        run.megatron.transformer_engine = false;
        run.megatron.gradient_accumulation_fusion = false;
        run.megatron.recompute_modules =
            RecomputeModules { core_attn: false, mlp: true, ..RecomputeModules::CORE_ATTENTION };
        run.overlap.gradients = false;
        run.megatron.fused_attention = false;
        run.megatron.make_vocab_size_divisible_by = NonZeroU64::MIN;
    });
    let memory = rank_device_memory(&job, 0).unwrap();
    // Tensors of less than 100 kB that live for a moment are left out.
    assert!(memory.allocated.0.abs_diff(25_833_751_552) < 1 << 20, "{}", memory.allocated.0);
    assert_eq!(memory.reserved.0, 26_403_143_680);
}
