//! The question to the methods, as plain numbers, and the engine's answer to it.

use crate::config::{
    AttentionKernel, GradientDType, Job, MlpKind, ModelConfig, Normalization, Optimizer,
    PositionEmbedding, Recompute, Run, ServingRun, TrainingPrecision, TrainingRun,
};
use crate::stacks::Stack;
use crate::units::{Bytes, DType, FlopsPerSecond};

use super::{ActivationShape, MethodKind, product};

/// The work that the model does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workload {
    /// Training steps.
    #[default]
    Training,
    /// Answering requests.
    Serving,
}

/// A scenario in the numbers that the documents' formulas need.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no features of a model and a run, as plain numbers are"
)]
pub struct MethodInputs {
    /// Width of the residual stream (h).
    pub hidden_size: u64,
    /// Blocks (L).
    pub num_hidden_layers: u64,
    /// Query heads (a).
    pub num_attention_heads: u64,
    /// Key/value heads.
    pub num_key_value_heads: u64,
    /// Width of one head.
    pub head_dim: u64,
    /// Inner width of the feed-forward layer.
    pub intermediate_size: u64,
    /// Rows of the token embedding (v).
    pub vocab_size: u64,
    /// True if the feed-forward layer has a third, gating matrix.
    pub gated_mlp: bool,
    /// Normalisation kind.
    pub normalization: Normalization,
    /// True if any projection has a bias.
    pub biases: bool,
    /// True if positions are a learned table.
    pub learned_positions: bool,
    /// True if the output head reuses the embedding.
    pub tie_word_embeddings: bool,
    /// Exact parameter count, from the engine.
    pub num_parameters: u64,
    /// Training or serving.
    pub workload: Workload,
    /// Tokens per sequence, or cached tokens per request (s).
    pub seq_length: u64,
    /// Sequences per optimizer step over all ranks; when serving, sequences of one instance.
    pub global_batch_size: u64,
    /// Sequences a rank holds at once (b); when serving, sequences of one instance.
    pub micro_batch_size: u64,
    /// True if the micro-batch is given; if not, a rank holds its whole share of the batch.
    pub fixed_micro_batch: bool,
    /// Tensor degree t.
    pub tensor_model_parallel_size: u64,
    /// Pipeline degree p.
    pub pipeline_model_parallel_size: u64,
    /// Data degree d; replicas when serving.
    pub data_parallel_size: u64,
    /// True if the parts outside attention and feed-forward are split over tensor ranks too.
    pub sequence_parallel: bool,
    /// `ZeRO` stage 0 to 3; FSDP counts as 3.
    pub zero_stage: u8,
    /// Recomputation.
    pub recompute: Recompute,
    /// Attention kernel.
    pub attention: AttentionKernel,
    /// Software stack of the engine's estimate.
    pub stack: Stack,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// Number formats of training.
    pub precision: TrainingPrecision,
    /// Gradient format.
    pub gradients: GradientDType,
    /// Format of the weights in forward.
    pub weight_dtype: DType,
    /// Format of the key/value cache.
    pub kv_cache_dtype: DType,
    /// Tokens of the whole training.
    pub training_tokens: f64,
    /// Achieved rate of one accelerator.
    pub achieved_flops_per_gpu: FlopsPerSecond,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// Accelerators in one node.
    pub accelerators_per_node: u64,
}

impl MethodInputs {
    /// Returns the numbers of a job for the methods; `num_parameters` and the achieved rate of one
    /// accelerator, FLOPs per second, come from the engine.
    pub fn from_job(
        job: &Job,
        num_parameters: u64,
        achieved_flops_per_gpu: FlopsPerSecond,
    ) -> Self {
        let layout = job.layout();
        let cluster = &job.cluster().accelerator;
        let base = Self {
            num_parameters,
            tensor_model_parallel_size: layout.t(),
            pipeline_model_parallel_size: layout.p(),
            data_parallel_size: layout.d(),
            sequence_parallel: layout.sequence_parallel,
            zero_stage: layout.sharding.zero_stage,
            achieved_flops_per_gpu,
            capacity: cluster.memory,
            accelerators_per_node: cluster.accelerators_per_node.max(1),
            micro_batch_size: job.micro_batch_size(),
            ..Self::of_model(job.model())
        };
        match job.run() {
            Run::Training(run) => base.with_training(run),
            Run::Serving(run) => base.with_serving(run),
        }
    }

    fn of_model(model: &ModelConfig) -> Self {
        Self {
            hidden_size: model.hidden_size,
            num_hidden_layers: model.num_hidden_layers,
            num_attention_heads: model.num_attention_heads,
            num_key_value_heads: model.num_key_value_heads,
            head_dim: model.head_dim,
            intermediate_size: model.intermediate_size,
            vocab_size: model.vocab_size,
            gated_mlp: model.mlp == MlpKind::Gated,
            normalization: model.normalization,
            biases: model.attention_bias || model.attention_output_bias || model.mlp_bias,
            learned_positions: model.position_embedding == PositionEmbedding::Learned,
            tie_word_embeddings: model.tie_word_embeddings,
            ..Self::EMPTY
        }
    }

    fn with_training(self, run: &TrainingRun) -> Self {
        Self {
            workload: Workload::Training,
            seq_length: run.seq_length,
            global_batch_size: run.global_batch_size,
            fixed_micro_batch: run.micro_batch_size.is_some(),
            recompute: run.recompute,
            attention: run.attention,
            stack: run.stack,
            optimizer: run.optimizer,
            precision: run.precision,
            gradients: run.gradients,
            weight_dtype: run.recipe().parameter,
            training_tokens: run.training_tokens,
            ..self
        }
    }

    fn with_serving(self, run: &ServingRun) -> Self {
        Self {
            workload: Workload::Serving,
            seq_length: run.context_length,
            global_batch_size: run.concurrent_sequences,
            attention: run.attention,
            weight_dtype: run.quantization.dtype(),
            kv_cache_dtype: run.kv_cache_dtype.dtype(),
            ..self
        }
    }

    /// Returns the sizes of the activation formulas with that many sequences.
    pub const fn shape(&self, batch_size: u64) -> ActivationShape {
        ActivationShape {
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            intermediate_size: self.intermediate_size,
            seq_length: self.seq_length,
            batch_size,
        }
    }

    /// Returns all accelerators, `t · p · d`.
    pub fn world_size(&self) -> u64 {
        product([self.model_parallel_size(), self.data_parallel_size]).max(1)
    }

    /// Returns the accelerators that hold one copy of the model, `t · p`.
    pub fn model_parallel_size(&self) -> u64 {
        product([self.tensor_model_parallel_size, self.pipeline_model_parallel_size]).max(1)
    }

    /// Returns true if the workload is training.
    pub fn is_training(&self) -> bool {
        self.workload == Workload::Training
    }

    /// Returns true if `FlashAttention` is on.
    pub fn flash_attention(&self) -> bool {
        self.attention == AttentionKernel::Flash
    }

    /// Returns the micro-batches per rank and step, at least 1.
    pub fn micro_batches(&self) -> u64 {
        self.global_batch_size
            .div_ceil(product([self.micro_batch_size, self.data_parallel_size]).max(1))
            .max(1)
    }

    const EMPTY: Self = Self {
        hidden_size: 1,
        num_hidden_layers: 1,
        num_attention_heads: 1,
        num_key_value_heads: 1,
        head_dim: 1,
        intermediate_size: 1,
        vocab_size: 1,
        gated_mlp: false,
        normalization: Normalization::LayerNorm,
        biases: false,
        learned_positions: false,
        tie_word_embeddings: false,
        num_parameters: 0,
        workload: Workload::Training,
        seq_length: 1,
        global_batch_size: 1,
        micro_batch_size: 1,
        fixed_micro_batch: false,
        tensor_model_parallel_size: 1,
        pipeline_model_parallel_size: 1,
        data_parallel_size: 1,
        sequence_parallel: false,
        zero_stage: 0,
        recompute: Recompute::None,
        attention: AttentionKernel::Standard,
        stack: Stack::DEFAULT,
        optimizer: Optimizer::DEFAULT,
        precision: TrainingPrecision::Bf16Mixed,
        gradients: GradientDType::AsWeights,
        weight_dtype: DType::Bf16,
        kv_cache_dtype: DType::Bf16,
        training_tokens: 0.0,
        achieved_flops_per_gpu: FlopsPerSecond(0.0),
        capacity: Bytes::ZERO,
        accelerators_per_node: 1,
    };
}

/// The engine's answer to the same scenario: bytes on the most loaded accelerator by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineSide {
    /// Exact parameter count.
    pub parameters: u64,
    /// Weights used by forward.
    pub weights: Bytes,
    /// Gradients and their copies.
    pub gradients: Bytes,
    /// Optimizer states, master weights included.
    pub optimizer: Bytes,
    /// Activations saved for backward.
    pub activations: Bytes,
    /// Memory that lives only for a moment of the step.
    pub temporary: Bytes,
    /// Key/value cache.
    pub kv_cache: Bytes,
    /// CUDA context, reserve and other memory outside the model.
    pub framework: Bytes,
    /// The sum of all kinds.
    pub total: Bytes,
}

impl EngineSide {
    /// Returns the bytes of one kind by the engine.
    pub const fn of(&self, kind: MethodKind) -> Bytes {
        match kind {
            MethodKind::Weights => self.weights,
            MethodKind::Gradients => self.gradients,
            MethodKind::Optimizer => self.optimizer,
            MethodKind::Activations => self.activations,
            MethodKind::KvCache => self.kv_cache,
            MethodKind::Overhead => self.framework,
            MethodKind::Temporary => self.temporary,
        }
    }
}
