//! Builders shared by the tests.
#![allow(dead_code, missing_docs, clippy::expect_used, reason = "each test binary uses some of these builders")]

use std::num::NonZeroU64;

use headroom::config::{
    Accelerator, AttentionKernel, Cluster, DataSharding, GradientDType, Job, Kernels, MlpKind, ModelConfig, Normalization,
    Optimizer, Overheads, ParallelLayout, PeakRates, PositionEmbedding, Recompute, Run, ServingRun, TrainingPrecision,
    TrainingRun,
};
use headroom::units::{Bytes, DType};

/// A GPT of the documents: multi-head, plain MLP of `4h`, biases everywhere, `LayerNorm`, learned positions, tied head.
pub fn gpt(hidden_size: u64, num_hidden_layers: u64, num_attention_heads: u64) -> ModelConfig {
    ModelConfig {
        hidden_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads: num_attention_heads,
        head_dim: hidden_size / num_attention_heads,
        intermediate_size: 4 * hidden_size,
        vocab_size: 32_000,
        max_position_embeddings: 4096,
        position_rows: 4096,
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        position_embedding: PositionEmbedding::Learned,
        attention_bias: true,
        attention_output_bias: true,
        mlp_bias: true,
        tie_word_embeddings: true,
        qk_norm: false,
        embedding_norm: false,
        norms_per_block: 2,
        final_norm: true,
        ..ModelConfig::plain()
    }
}

#[track_caller]
pub fn layout(t: u64, p: u64, d: u64, sharding: DataSharding) -> ParallelLayout {
    let degree = |n| NonZeroU64::new(n).expect("a degree is at least 1");
    ParallelLayout {
        tensor_model_parallel_size: degree(t),
        pipeline_model_parallel_size: degree(p),
        data_parallel_size: degree(d),
        sequence_parallel: false,
        sharding,
        ..ParallelLayout::SINGLE
    }
}

pub fn cluster(memory: Bytes) -> Cluster {
    let peak = PeakRates { bf16: Some(989.0), fp16: Some(989.0), ..PeakRates::default() };
    Cluster {
        accelerator: Accelerator { memory, memory_bandwidth: None, peak, accelerators_per_node: 8, price_per_hour: 2.0 },
        overheads: Overheads { framework_context: Bytes::ZERO, fragmentation_percent: 0.0 },
    }
}

pub fn training_run() -> TrainingRun {
    TrainingRun {
        seq_length: 4096,
        global_batch_size: 128,
        micro_batch_size: Some(1),
        precision: TrainingPrecision::Bf16Mixed,
        gradients: GradientDType::AsWeights,
        optimizer: Optimizer::AdamW,
        kernels: Kernels::Fused,
        attention: AttentionKernel::Flash,
        recompute: Recompute::None,
        training_tokens: 1e12,
        mfu: 0.4,
        ..TrainingRun::plain()
    }
}

#[track_caller]
pub fn training_job(model: &ModelConfig, layout: ParallelLayout, edit: impl FnOnce(&mut TrainingRun)) -> Job {
    let mut run = training_run();
    edit(&mut run);
    Job::new(model.clone(), Run::Training(run), layout, cluster(Bytes(80 * Bytes::GIB))).expect("a valid job")
}

#[track_caller]
pub fn serving_job(model: &ModelConfig, layout: ParallelLayout, edit: impl FnOnce(&mut ServingRun)) -> Job {
    let mut run = ServingRun {
        context_length: 8192,
        concurrent_sequences: 1,
        prefill_chunk_size: 2048,
        weight_dtype: DType::Bf16,
        kv_cache_dtype: DType::Bf16,
        activation_dtype: DType::Bf16,
        attention: AttentionKernel::Flash,
        overhead_percent: 0.0,
    };
    edit(&mut run);
    Job::new(model.clone(), Run::Serving(run), layout, cluster(Bytes(80 * Bytes::GIB))).expect("a valid job")
}

/// Parameters of a dense decoder, from its sizes alone.
pub fn parameters(config: &ModelConfig) -> u64 {
    let h = config.hidden_size;
    let norm = match config.normalization {
        Normalization::LayerNorm => 2 * h,
        Normalization::RmsNorm => h,
    };
    let queries = config.num_attention_heads * config.head_dim;
    let keys = config.num_key_value_heads * config.head_dim;
    let mut attention = h * queries + 2 * h * keys + queries * h;
    if config.attention_bias {
        attention += queries + 2 * keys;
    }
    if config.attention_output_bias {
        attention += h;
    }
    if config.qk_norm {
        attention += 2 * config.head_dim;
    }
    let inner = config.intermediate_size;
    let into = match config.mlp {
        MlpKind::Gated => 2,
        MlpKind::Plain => 1,
    };
    let mut mlp = (into + 1) * h * inner;
    if config.mlp_bias {
        mlp += into * inner + h;
    }
    let embedding = config.vocab_size * h;
    let mut total = embedding + config.num_hidden_layers * (attention + mlp + config.norms_per_block * norm);
    if config.position_embedding == PositionEmbedding::Learned {
        total += config.position_rows * h;
    }
    if config.embedding_norm {
        total += norm;
    }
    if config.final_norm {
        total += norm;
    }
    if !config.tie_word_embeddings {
        total += embedding;
    }
    total
}
