//! The run of a model: one training step, or serving.

use serde::{Deserialize, Serialize};

use super::precision::{GradientDType, PrecisionRecipe, TrainingPrecision};
use super::{
    CacheFormat, Draft, Dropout, Engine, Flash, Float8, Images, InHostMemory, LibraryOptions,
    MegatronOptions, Optimizer, OptimizerImplementation, Overlap, ProductFormat, Stack, Tuning,
    WeightFormat,
};
use crate::stacks::LossKernel;
use crate::units::{Bytes, DType, to_f64};

/// How attention is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKernel {
    /// Scores and probabilities are written to memory.
    Standard,
    /// Scores stay on the chip; one fp32 log-sum-exp per query and head is saved.
    #[default]
    Flash,
}

/// The activations that backward recomputes instead of reading what forward saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recompute {
    /// Nothing is recomputed.
    #[default]
    None,
    /// A selection that depends on the software stack: in most stacks the attention core (scores,
    /// softmax, dropout), Megatron's `selective`; in others a whole block but some products
    /// (`SelectiveRecompute`).
    Selective,
    /// Whole blocks; only each block's input is saved.
    Full,
}

/// How the loss of the next token is computed, where a run chooses another way than its software
/// stack's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// As the software stack does.
    #[default]
    OfStack,
    /// As transformers 4 did before it shifted labels in place of logits (`ForCausalLMLoss` of
    /// 4.46).
    Transformers4,
    /// As TRL's trainers do (1.16): log-probabilities by tiles of logits, none of which are kept.
    Trl,
    /// As the software stack does, but operator by operator even where blocks are compiled.
    /// torchtitan did so until 2025 ("compiling loss function causes CUDA errors" in its
    /// `train.py`).
    NotCompiled,
    /// As Cut Cross-Entropy does: head and loss in one kernel, which writes no logits.
    Cut,
    /// As torchtitan does by default (`ChunkedLossWrapper` of 0.3.0): head, loss and their backward
    /// chunk by chunk.
    TorchtitanChunks,
}

/// Chunks of a sequence in torchtitan 0.3.0 (`ChunkedLossWrapper.Config.num_chunks`).
const TORCHTITAN_CHUNKS: u64 = 8;

/// Tokens and columns of a tile of logits in TRL 1.16 (`TOKEN_CHUNK_SIZE`,
/// `_CHUNKED_LOGPROB_CHUNK_SIZE`).
const TRL_TOKENS: u64 = 4096;
const TRL_COLUMNS: u64 = 32_768;

impl Loss {
    /// Returns true if a sequence of `seq_length` tokens can be cut into the loss's chunks:
    /// torchtitan refuses a length that its chunks do not divide.
    pub const fn divides(self, seq_length: u64) -> bool {
        match self {
            Self::OfStack | Self::Transformers4 | Self::Trl | Self::NotCompiled | Self::Cut => true,
            Self::TorchtitanChunks => seq_length.is_multiple_of(TORCHTITAN_CHUNKS),
        }
    }

    /// Returns true if torchtitan alone computes the loss in this way.
    pub const fn is_of_torchtitan(self) -> bool {
        matches!(self, Self::TorchtitanChunks)
    }

    /// Returns the loss kernel of a run on that stack.
    pub const fn kernel(self, stack: Stack) -> LossKernel {
        match self {
            Self::OfStack | Self::NotCompiled => stack.modules().loss,
            Self::Cut => LossKernel::Cut,
            Self::Transformers4 => LossKernel::ShiftedLogits,
            Self::Trl => LossKernel::InTiles { tokens: TRL_TOKENS, columns: TRL_COLUMNS },
            Self::TorchtitanChunks => LossKernel::ByChunk { parts: TORCHTITAN_CHUNKS },
        }
    }

    /// Returns true if the loss is compiled into one graph where blocks are compiled.
    pub const fn is_compiled(self) -> bool {
        match self {
            Self::OfStack | Self::Transformers4 | Self::Trl | Self::TorchtitanChunks => true,
            Self::NotCompiled | Self::Cut => false,
        }
    }
}

/// One training step.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingRun {
    /// Tokens per sequence (s).
    pub seq_length: u64,
    /// Tokens that an encoder beside a decoder reads; `None`: as many as the decoder.
    pub source_length: Option<u64>,
    /// Sequences per optimizer step over all ranks.
    pub global_batch_size: u64,
    /// Sequences a rank holds at once (b); `None`: the whole share of the global batch, no
    /// accumulation.
    pub micro_batch_size: Option<u64>,
    /// Number formats.
    pub precision: TrainingPrecision,
    /// Gradient format.
    pub gradients: GradientDType,
    /// Optimizer.
    pub optimizer: Optimizer,
    /// How the optimizer walks over the parameters.
    pub optimizer_implementation: OptimizerImplementation,
    /// True if each parameter is updated as soon as its gradient is there, after which the gradient
    /// is freed (torchtune's `optimizer_in_bwd`).
    pub optimizer_in_backward: bool,
    /// True if `zero_grad` frees gradients (`set_to_none`, PyTorch's default); otherwise it fills
    /// them with zeros, and they stay allocated.
    pub zero_grad_to_none: bool,
    /// Software stack.
    pub stack: Stack,
    /// How the loss is computed.
    pub loss: Loss,
    /// Attention kernel.
    pub attention: AttentionKernel,
    /// True if layers with a window are given a mask, as transformers' `sdpa` gives them: PyTorch
    /// then takes its memory-efficient kernel, which keeps the mask of every such layer.
    pub masks_windows: bool,
    /// The model's own dropout, as its `config.json` states it.
    pub dropout: Dropout,
    /// Activation recomputation.
    pub recompute: Recompute,
    /// True if blocks and loss are compiled (`torch.compile`), in stacks that do so.
    pub compile: bool,
    /// Products in float8, in stacks that cast their operands.
    pub float8: Float8,
    /// The device whose kernels are counted.
    pub dispatch: Dispatch,
    /// Elements of the buffer in which `DeepSpeed` reduces gradients (`reduce_bucket_size`).
    pub reduce_bucket_size: u64,
    /// Settings of the libraries that share a training out.
    pub library: LibraryOptions,
    /// Settings that only Megatron-LM has.
    pub megatron: MegatronOptions,
    /// Generation of the fused attention kernel; time alone depends on it.
    pub flash: Flash,
    /// The format that the blocks' matrix products run in; time alone depends on it.
    pub products: ProductFormat,
    /// The messages that are sent while the step computes; time alone depends on them.
    pub overlap: Overlap,
    /// Which parameters learn.
    pub tuning: Tuning,
    /// The evaluation between steps; `None`: there is none.
    pub evaluation: Option<Evaluation>,
    /// Texts shorter than a sequence; `None`: each sequence is full of one text.
    pub texts: Option<Texts>,
    /// Images in every sequence, whose tokens are part of its length.
    pub images: Images,
    /// Tokens of the whole training, padding not counted, for time and cost.
    pub training_tokens: f64,
    /// Model FLOPs utilisation stated, in (0, 1]; [`TrainingRun::UNSTATED_MFU`] states nothing.
    pub mfu: f64,
}

/// The device whose kernels carry out the operators of a step that PyTorch runs one by one.
///
/// The two devices differ in some saved tensors and some temporaries. Nobody trains on the CPU: it
/// is there to compare the engine with rows of PyTorch's memory tracker, which runs operators on
/// fake tensors of the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dispatch {
    /// A CUDA GPU, with the workspaces of its matrix products (PyTorch 2.15).
    #[default]
    Cuda,
    /// A CPU, as `torch.distributed._tools.MemTracker` sees it under `FakeTensorMode`.
    CpuTracker,
}

impl TrainingRun {
    /// Returns a run of one sequence of one token in mixed precision with fused kernels; it gives
    /// every field a value.
    pub const fn plain() -> Self {
        Self {
            seq_length: 1,
            source_length: None,
            global_batch_size: 1,
            micro_batch_size: None,
            precision: TrainingPrecision::Bf16Mixed,
            gradients: GradientDType::AsWeights,
            optimizer: Optimizer::DEFAULT,
            optimizer_implementation: OptimizerImplementation::Fused,
            optimizer_in_backward: false,
            zero_grad_to_none: true,
            stack: Stack::DEFAULT,
            loss: Loss::OfStack,
            attention: AttentionKernel::Flash,
            masks_windows: false,
            dropout: Dropout::NONE,
            recompute: Recompute::None,
            compile: false,
            float8: Float8::OFF,
            dispatch: Dispatch::Cuda,
            reduce_bucket_size: 500_000_000,
            library: LibraryOptions::DEFAULT,
            megatron: MegatronOptions::DEFAULT,
            flash: Flash::Second,
            products: ProductFormat::Activations,
            overlap: Overlap::DEFAULT,
            tuning: Tuning::FULL,
            evaluation: None,
            texts: None,
            images: Images::NONE,
            training_tokens: 1.0,
            mfu: Self::UNSTATED_MFU,
        }
    }

    /// The model FLOPs utilisation of a run whose user states none.
    pub const UNSTATED_MFU: f64 = 0.4;

    /// Returns the model FLOPs utilisation that the user states, in (0, 1]; `None` for the default.
    pub fn stated_mfu(&self) -> Option<f64> {
        (self.mfu.to_bits() != Self::UNSTATED_MFU.to_bits()).then_some(self.mfu)
    }

    /// Returns the tokens of a sequence from which the model learns: all but padding.
    pub fn useful_tokens(&self) -> u64 {
        self.texts
            .filter(|texts| !texts.packed)
            .map_or(self.seq_length, |texts| texts.mean.min(self.seq_length).max(1))
    }

    /// Returns the tokens of one text where several texts share a sequence and each token sees its
    /// own text alone; `None` elsewhere.
    pub fn packed_text(&self) -> Option<u64> {
        self.texts.filter(|texts| texts.packed).map(|texts| texts.mean.min(self.seq_length).max(1))
    }

    /// Returns the tokens of an optimizer step from which the model learns, over all ranks.
    pub fn useful_tokens_per_step(&self) -> f64 {
        to_f64(self.useful_tokens()) * to_f64(self.global_batch_size)
    }

    /// Returns the formats of all training memory.
    pub const fn recipe(&self) -> PrecisionRecipe {
        self.precision.recipe(self.gradients)
    }
}

/// An evaluation between steps: forward without gradients, and the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Sequences that a rank holds at once (`per_device_eval_batch_size`).
    pub batch_size: u64,
    /// True if the evaluation writes logits although the loss of a training step writes none.
    /// Liger's `forward` leaves them out of evaluations only where it is asked to (`skip_logits`):
    /// transformers' Trainer does so from 5.11 on, unless metrics are computed.
    pub writes_logits: bool,
}

/// Texts that are shorter than the sequence they are put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts {
    /// Tokens of the mean text.
    pub mean: u64,
    /// True if sequences are filled with several texts, each of which sees itself alone; otherwise
    /// each text is padded.
    pub packed: bool,
}

/// Serving: the model answers requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ServingRun {
    /// Tokens kept per sequence: prompt and answer.
    pub context_length: u64,
    /// Sequences served at the same time by one instance.
    pub concurrent_sequences: u64,
    /// True if requests that find no room wait, so that memory has to hold one alone;
    /// `concurrent_sequences` are then those that run.
    pub others_wait: bool,
    /// Tokens processed at once in prefill.
    pub prefill_chunk_size: u64,
    /// Tokens of a prompt, for the time to the first token; `None`: the whole context.
    pub prompt_length: Option<u64>,
    /// Tokens that an encoder beside the decoder reads of every sequence; `None`: as many as the
    /// context.
    pub source_length: Option<u64>,
    /// Images in every prompt, whose tokens are part of its length.
    pub images: Images,
    /// Tokens at the start of every sequence that are the same and cached once.
    pub shared_prefix: u64,
    /// Mean and 95th percentile of the tokens that sequences really hold, where they are known.
    pub lengths: Option<LengthMix>,
    /// Users to be served at once by all instances together, for the number of accelerators;
    /// `None`: not asked.
    pub users: Option<u64>,
    /// Format of the weights.
    pub quantization: WeightFormat,
    /// Weights that share a scale in formats that leave it open (GPTQ, AWQ).
    pub group_size: u64,
    /// Format of the key/value cache.
    pub kv_cache_dtype: CacheFormat,
    /// The program that serves; its rule says how much memory is taken for the cache.
    pub engine: Engine,
    /// Tokens of one block of the cache; `None`: the program's own.
    pub block_size: Option<u64>,
    /// Memory of captured CUDA graphs.
    pub cuda_graphs: Bytes,
    /// Low-rank adapters that are on the accelerators at once (vLLM's `max_loras`); 0: none.
    pub adapter_slots: u64,
    /// The largest rank of these (`max_lora_rank`).
    pub adapter_rank: u64,
    /// The part that proposes tokens ahead of the model; `None`: none.
    pub draft: Option<Draft>,
    /// True if tensor-parallel ranks hold whole experts instead of a part of each (vLLM's
    /// `enable_expert_parallel`).
    pub expert_parallel: bool,
    /// True if, with whole experts, every tensor rank keeps a part of the tokens between attention
    /// layers and sends each token to the ranks of its experts (`SGLang`'s `moe_a2a_backend`).
    /// Otherwise all ranks have all tokens, and sum the outputs of their experts.
    pub sends_tokens: bool,
    /// Parts that lie in the host's memory.
    pub in_host_memory: InHostMemory,
    /// Format of activations and logits' inputs.
    pub activation_dtype: DType,
    /// Attention kernel.
    pub attention: AttentionKernel,
    /// Share of the weights added as inference overhead, per cent (0 = none); visible as a line.
    pub overhead_percent: f64,
}

/// How long sequences are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMix {
    /// Tokens of the mean sequence.
    pub mean: u64,
    /// Tokens that 95 of 100 sequences do not exceed.
    pub p95: u64,
}

impl ServingRun {
    /// Returns a run of one sequence of one token in bf16, nothing reserved; it gives every field a
    /// value.
    pub const fn plain() -> Self {
        Self {
            context_length: 1,
            concurrent_sequences: 1,
            others_wait: false,
            prefill_chunk_size: 1,
            prompt_length: None,
            source_length: None,
            images: Images::NONE,
            shared_prefix: 0,
            lengths: None,
            users: None,
            quantization: WeightFormat::Bf16,
            group_size: 128,
            kv_cache_dtype: CacheFormat::Bf16,
            engine: Engine::DEFAULT,
            block_size: None,
            cuda_graphs: Bytes::ZERO,
            adapter_slots: 0,
            adapter_rank: 16,
            draft: None,
            expert_parallel: false,
            sends_tokens: false,
            in_host_memory: InHostMemory::NOTHING,
            activation_dtype: DType::Bf16,
            attention: AttentionKernel::Flash,
            overhead_percent: 0.0,
        }
    }

    /// Returns true if tokens are sent to whole experts.
    pub const fn dispatches(&self) -> bool {
        self.expert_parallel && self.sends_tokens
    }

    /// Returns the tokens of one block of the cache.
    pub fn block(&self) -> u64 {
        self.block_size.unwrap_or_else(|| self.engine.block_size).max(1)
    }
}

/// The work that the model does: training or serving.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// Training.
    Training(TrainingRun),
    /// Serving.
    Serving(ServingRun),
}
