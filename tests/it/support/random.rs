//! Random jobs for property tests.
#![allow(
    dead_code,
    missing_docs,
    clippy::expect_used,
    reason = "each benchmark uses some of these generators"
)]

use headroom::config::{
    AttentionKernel, CacheFormat, DataSharding, Engine, GradientDType, Job, MlpKind, ModelConfig,
    Normalization, Optimizer, Overheads, ParallelLayout, PositionEmbedding, Recompute, Run,
    ServingRun, TrainingPrecision, TrainingRun, WeightFormat,
};
use headroom::units::Bytes;
use proptest::prelude::*;

use super::{cluster, layout};

fn size(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1..=most.min(5000), 1 => 1..=most, 1 => Just(most)]
}

prop_compose! {
    fn model()(
        sizes in (size(10_000_000), size(10_000), size(1000), size(1_000_000), size(10_000_000), size(100_000_000)),
        groups in 1_u64..65,
        flags in any::<[bool; 8]>(),
        norms_per_block in 0_u64..3,
        kinds in (any::<bool>(), any::<bool>(), 0_usize..3),
    ) -> ModelConfig {
        let (hidden_size, num_hidden_layers, num_key_value_heads, head_dim, intermediate_size, vocab_size) = sizes;
        let [attention_bias, attention_output_bias, mlp_bias, tie_word_embeddings, qk_norm, embedding_norm, final_norm, _] = flags;
        ModelConfig {
            hidden_size, num_hidden_layers, num_key_value_heads, head_dim, intermediate_size, vocab_size,
            num_attention_heads: num_key_value_heads * groups,
            max_position_embeddings: 4096,
            position_rows: 4096,
            normalization: if kinds.0 { Normalization::LayerNorm } else { Normalization::RmsNorm },
            mlp: if kinds.1 { MlpKind::Plain } else { MlpKind::Gated },
            position_embedding: [PositionEmbedding::Learned, PositionEmbedding::Rotary, PositionEmbedding::Alibi][kinds.2],
            attention_bias, attention_output_bias, mlp_bias, tie_word_embeddings, qk_norm, embedding_norm, norms_per_block, final_norm,
            ..ModelConfig::plain()
        }
    }
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    proptest::sample::select(all)
}

pub const SHARDINGS: &[DataSharding] = &DataSharding::ALL;
const OPTIMIZERS: &[Optimizer] = &Optimizer::ALL;
const PRECISIONS: &[TrainingPrecision] = &[
    TrainingPrecision::Fp32,
    TrainingPrecision::Bf16Mixed,
    TrainingPrecision::Fp16Mixed,
    TrainingPrecision::Bf16Pure,
];

prop_compose! {
    fn training()(
        seq_length in size(100_000_000), global_batch_size in size(10_000_000), micro_batch in proptest::option::of(size(100_000)),
        precision in one_of(PRECISIONS), optimizer in one_of(OPTIMIZERS),
        gradients in one_of(&[GradientDType::AsWeights, GradientDType::Fp32, GradientDType::Fp32Copy]),
        kernels in proptest::sample::select(vec![super::korthikanti(), super::fused()]),
        attention in one_of(&[AttentionKernel::Standard, AttentionKernel::Flash]),
        recompute in one_of(&[Recompute::None, Recompute::Selective, Recompute::Full]),
        training_tokens in 1.0..1e16, mfu in 0.01..1.0,
    ) -> Run {
        Run::Training(TrainingRun {
            seq_length, global_batch_size, micro_batch_size: micro_batch, precision, gradients, optimizer, stack: kernels, attention,
            recompute, training_tokens, mfu,
            ..TrainingRun::plain()
        })
    }
}

/// Weight formats, one of each kind of storage.
const FORMATS: [WeightFormat; 12] = [
    WeightFormat::Bf16,
    WeightFormat::Fp32,
    WeightFormat::Int4,
    WeightFormat::Fp8Tensor,
    WeightFormat::Fp8Block,
    WeightFormat::Int8Channel,
    WeightFormat::Awq,
    WeightFormat::Nf4Double,
    WeightFormat::Mxfp4,
    WeightFormat::Q4KM,
    WeightFormat::Iq2Xs,
    WeightFormat::Q8_0,
];

/// Every engine, with its own share of memory.
pub fn engines() -> Vec<Engine> {
    Engine::SPECS
        .into_iter()
        .map(|spec| super::engine(spec.key, spec.share.as_ref().map_or(1.0, |share| share.default)))
        .collect()
}

prop_compose! {
    fn serving()(
        context_length in size(100_000_000), concurrent_sequences in size(1_000_000), prefill_chunk_size in size(1_000_000),
        quantization in one_of(&FORMATS), group_size in size(4096),
        kv_cache_dtype in one_of(&[CacheFormat::Bf16, CacheFormat::Fp8, CacheFormat::Int4, CacheFormat::Q4_0]),
        shared_prefix in 0_u64..10_000, block_size in proptest::option::of(size(300)), expert_parallel in any::<bool>(),
        engine in proptest::sample::select(engines()),
        attention in one_of(&[AttentionKernel::Standard, AttentionKernel::Flash]), overhead_percent in 0.0..50.0,
    ) -> Run {
        Run::Serving(ServingRun {
            context_length, concurrent_sequences, prefill_chunk_size, quantization, group_size, kv_cache_dtype, shared_prefix,
            block_size, expert_parallel, engine, attention, overhead_percent, ..ServingRun::plain()
        })
    }
}

prop_compose! {
    /// Any job: absurd sizes among reasonable ones.
    pub fn job()(
        model in model(), run in prop_oneof![3 => training(), 1 => serving()], sharding in one_of(SHARDINGS),
        t in size(1024), p in size(1024), d in size(1_000_000), sequence_parallel in any::<bool>(),
        memory in 0_u64..400, context in 0_u64..4, percent in 0.0..60.0,
    ) -> Job {
        let layout = ParallelLayout { sequence_parallel, ..layout(t, p, d, sharding) };
        let mut cluster = cluster(Bytes(memory * Bytes::GIB));
        cluster.overheads = Overheads { framework_context: Bytes(context * Bytes::GIB), fragmentation_percent: percent, ..Overheads::NONE };
        Job::new(model, run, layout, cluster).expect("sizes are at least 1 and heads are grouped")
    }
}
