//! The run that a model's operations are made for, and their dimensions.

use super::tensor::Dim;
use crate::config::{
    AttentionKernel, CacheFormat, Dispatch, Dropout, Float8, Images, Loss, ModelConfig, Recompute,
    Stack, Tuning,
};
use crate::units::{DType, Flops, to_f64};

/// Everything that shapes the operation list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lowering<'a> {
    /// The architecture.
    pub model: &'a ModelConfig,
    /// Tokens of one sequence that go through at once.
    pub seq_length: u64,
    /// Tokens of one sequence of the encoder beside a decoder.
    pub source_length: u64,
    /// Sequences that go through at once.
    pub micro_batch_size: u64,
    /// Tokens the attention looks back on, and the cache keeps per sequence.
    pub context_length: u64,
    /// Images of one sequence.
    pub images: Images,
    /// Tokens of one text where several share a sequence; `None`: attention looks back on the whole
    /// context.
    pub packed_text: Option<u64>,
    /// Sequences whose keys and values are kept (0 when training).
    pub concurrent_sequences: u64,
    /// Format of weights.
    pub parameter: DType,
    /// Format in which the model was made, and which its buffers keep: that of weights unless they
    /// are gathered in another.
    pub made_in: DType,
    /// True if parameters that transformers' modules make in a format of their own keep it.
    pub keeps_formats: bool,
    /// Format of activations.
    pub activation: DType,
    /// Format of cached keys and values.
    pub kv_cache: CacheFormat,
    /// Tokens of one block of the cache.
    pub block_size: u64,
    /// Tokens at the start of every sequence that are cached once.
    pub shared_prefix: u64,
    /// True if tensor-parallel ranks hold whole experts.
    pub expert_parallel: bool,
    /// True if each tensor-parallel rank keeps a part of the tokens, and therefore shared experts
    /// whole.
    pub dispatches: bool,
    /// Software stack.
    pub stack: Stack,
    /// How the loss is computed.
    pub loss: Loss,
    /// Attention kernel.
    pub attention: AttentionKernel,
    /// True if fused kernels are given a mask in layers with a window.
    pub masks_windows: bool,
    /// The model's own dropout.
    pub dropout: Dropout,
    /// True if backward follows forward.
    pub training: bool,
    /// Tensor-parallel ranks that share the heads and the feed-forward width.
    pub tensor_model_parallel_size: u64,
    /// True if hidden states between attention and feed-forward are split by tokens over
    /// tensor-parallel ranks.
    pub sequence_parallel: bool,
    /// The recomputation in backward.
    pub recompute: Recompute,
    /// True if every block, and the loss behind the model, is one compiled graph.
    pub compiled: bool,
    /// Products of blocks in float8.
    pub float8: Float8,
    /// True if matrix products are cast to bf16 under autocast.
    pub autocast: bool,
    /// Whose kernels are counted.
    pub dispatch: Dispatch,
    /// Which parameters learn.
    pub tuning: Tuning,
}

impl<'a> Lowering<'a> {
    /// Returns a lowering that only serves to count parameters: one token, bf16.
    pub const fn parameters_only(model: &'a ModelConfig) -> Self {
        Self {
            model,
            seq_length: 1,
            source_length: 1,
            micro_batch_size: 1,
            context_length: 1,
            images: Images::NONE,
            packed_text: None,
            concurrent_sequences: 0,
            parameter: DType::Bf16,
            made_in: DType::Bf16,
            keeps_formats: false,
            activation: DType::Bf16,
            kv_cache: CacheFormat::Bf16,
            block_size: 1,
            shared_prefix: 0,
            expert_parallel: false,
            dispatches: false,
            stack: Stack::DEFAULT,
            loss: Loss::OfStack,
            attention: AttentionKernel::Flash,
            masks_windows: false,
            dropout: Dropout::NONE,
            training: true,
            tensor_model_parallel_size: 1,
            sequence_parallel: false,
            recompute: Recompute::None,
            compiled: false,
            float8: Float8::OFF,
            autocast: false,
            dispatch: Dispatch::Cuda,
            tuning: Tuning::FULL,
        }
    }

    /// The lowering of the layers of a model's encoder, or of any other source whose tokens the
    /// decoder attends to.
    pub(super) const fn of_source(&self, model: &'a ModelConfig) -> Self {
        Self { model, seq_length: self.source_length, context_length: self.source_length, ..*self }
    }

    /// One rank's part of a dimension that tensor parallelism splits.
    pub(super) fn local(&self, dim: Dim) -> Dim {
        Dim(dim.0, dim.1.div_ceil(self.tensor_model_parallel_size.max(1)))
    }

    /// One rank's part of the vocabulary: the whole, or a share where the stack splits it.
    pub(super) fn vocab_part(&self) -> Dim {
        if self.stack.splits_vocabulary { self.local(self.vocab()) } else { self.vocab() }
    }

    /// `seq_length`.
    pub(super) const fn s(&self) -> Dim {
        Dim("seq_length", self.seq_length)
    }

    /// The lengths and numbers of sequences of which a serving step's tensors are products, by the
    /// names that shapes have for them.
    pub(crate) const fn lengths(&self) -> [Dim; 3] {
        let (context, sequences) = (self.context_length, self.concurrent_sequences);
        [self.s(), Dim("context_length", context), Dim("concurrent_sequences", sequences)]
    }

    /// `micro_batch_size`.
    pub(super) const fn b(&self) -> Dim {
        Dim("micro_batch_size", self.micro_batch_size)
    }

    /// `hidden_size`.
    pub(super) const fn h(&self) -> Dim {
        Dim("hidden_size", self.model.hidden_size)
    }

    /// Query heads.
    pub(super) const fn heads(&self) -> Dim {
        Dim("num_attention_heads", self.model.num_attention_heads)
    }

    /// Key/value heads.
    pub(super) const fn kv_heads(&self) -> Dim {
        Dim("num_key_value_heads", self.model.num_key_value_heads)
    }

    /// Width of a head.
    pub(super) const fn head_dim(&self) -> Dim {
        Dim("head_dim", self.model.head_dim)
    }

    /// Width of a value head: that of a query head but in latent attention and in models that state
    /// another.
    pub(super) fn value_dim(&self) -> Dim {
        match self.model.value_head_dim() {
            same if same == self.model.head_dim && self.model.mla.is_none() => self.head_dim(),
            width => Dim("v_head_dim", width),
        }
    }

    /// Feed-forward width.
    pub(super) const fn ffn(&self) -> Dim {
        Dim("intermediate_size", self.model.intermediate_size)
    }

    /// Vocabulary.
    pub(super) const fn vocab(&self) -> Dim {
        Dim("vocab_size", self.model.vocab_size)
    }

    /// FLOPs of multiplying all tokens of the micro-batch with a matrix: 2 per weight and token.
    pub(super) fn matrix_product(&self, rows: u64, columns: u64) -> Flops {
        Flops(
            2.0 * to_f64(self.seq_length)
                * to_f64(self.micro_batch_size)
                * to_f64(rows)
                * to_f64(columns),
        )
    }

    /// Pairs of query and key that are not masked, of one head in a sequence, and tokens of a text.
    pub(super) fn sight(&self) -> (u64, u64) {
        super::work::sight(self.model, self.context_length, self.packed_text)
    }

    /// Tokens that a query meets, the mask left out: those of its own text.
    pub(super) fn met(&self) -> u64 {
        self.packed_text.unwrap_or(self.context_length)
    }
}
